// All that an actor's header needs: messages, handles, answers. What runs an actor is in
// supervise.hpp; CAF itself (0.17.6) is seen by caf_actor.cpp and system.cpp alone.
#pragma once

#include "actors/core/answer.hpp"
#include "actors/core/behavior.hpp"
#include "actors/core/handle.hpp"
#include "actors/core/mail.hpp"
#include "actors/core/owner.hpp"
#include "actors/core/self.hpp"
