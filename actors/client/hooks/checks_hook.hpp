// ChecksHook ("checks_hook"): has the node's check_runner watch the checks of an allocation's
// services, tells its agent how they stand (and the plugin that provides for the services, if that
// wants to hear), and asks the agent for the restarts that check_restart wants.
//
// Owns:   the allocation's checks and the newest result of each.
// Takes:  what the role Hook lists; from the check_runner what CheckListener lists; Began of
// plugins
//         that bring providers.
// Parent: alloc_runner, report: the next phase finds a new one, which watches again.
// Ends:   by the parent's exit message.
#pragma once

#include <memory>

#include "actors/client/hooks/hook.hpp"
#include "actors/client/tools/check_runner.hpp"
#include "actors/roles/service_providers.hpp"

namespace nomad::client {

struct ChecksHookParts {
  CheckRunner checks;
  std::shared_ptr<ServiceProviders> providers;  ///< Of plugins; null: there are none.
};

HookEntry checks_hook(ChecksHookParts parts);

}  // namespace nomad::client
