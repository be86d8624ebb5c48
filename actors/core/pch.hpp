// What nearly every actor includes, precompiled: name it as `cpp_pch: '../core/pch.hpp'` in the
// meson.build of a folder of actors. Never include it.
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/core/actor.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/result.hpp"
