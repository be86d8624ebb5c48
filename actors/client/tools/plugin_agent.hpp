// PluginAgent: what the agent is to its hooks and drivers, wherever they run: they tell it what
// users should read, or what became of a task, and ask it for what they may not do themselves. The
// runner of the allocation plays it for hooks, the driver_manager for drivers; either finds the
// task by its name.
//
// Errors of questions: `not_found` for an allocation or task that is not here, `conflict` for a
// resource that has changed meanwhile, `rejected` for what cannot be done now. The contract itself
// is schema/plugin.capnp.
#pragma once

#include "actors/core/actor.hpp"
#include "runtime/object/object.hpp"
#include "schema/plugin.capnp.h"

namespace nomad::client {

namespace plugin_agent {

/// Told, and not answered. A task's end is told urgently.
struct Notice {
  using is_message = void;
  Object<schema::plugin::Notice> notice;
};

struct Ask {
  using is_message = void;
  Object<schema::plugin::AgentRequest> request;
};

struct Answered {
  using is_message = void;
  Object<schema::plugin::AgentAnswer> answer;  ///< Empty: it is done.
};

}  // namespace plugin_agent

using PluginAgent
    = actor::Interface<void(plugin_agent::Notice), plugin_agent::Answered(plugin_agent::Ask)>;

}  // namespace nomad::client
