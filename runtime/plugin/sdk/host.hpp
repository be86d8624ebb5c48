// The names that agent.hpp and kinds.hpp had before, for one release: `Host` is Agent, `HookHost`
// is HookRunner, `schema::plugin::HookPlace` is HookTarget. Nothing of the project uses them.
#pragma once

#include "runtime/plugin/sdk/agent.hpp"

namespace nomad::plugin {

using Host = Agent;
using HookHost = HookRunner;

}  // namespace nomad::plugin

namespace nomad::schema::plugin {

using HookPlace = HookTarget;
using HostRequest = AgentRequest;
using HostAnswer = AgentAnswer;

}  // namespace nomad::schema::plugin
