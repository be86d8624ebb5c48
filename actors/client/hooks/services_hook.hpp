// ServicesHook ("group_services", "task_services"): keeps the registrations of a group's or a
// task's services as the job wants them: in Nomad's own discovery, where the agent passes them to
// the servers, or with the provider that a plugin brings, which is told anew whenever it begins
// anew. What they are is worked out by workload::service_registrations, what is asked when by
// workload::ServiceConvergence.
//
// A group's services are registered before its tasks start, a task's when it runs; both go when
// they are about to be ended, before anything else. A server or plugin that can't be reached holds
// nothing up for long: the hook goes on trying by itself. What a plugin has not deregistered by
// then it leaves to the PendingDeregistrations, before its phase is answered: the hook may
// not live on, nor the agent.
//
// Owns:   the machine, which knows what is wanted and what is (perhaps) registered; its timers.
// Takes:  what the role Hook lists; Began of plugins that bring providers.
// Parent: alloc_runner, task_runner, report: the next phase finds a new one, which registers again.
// Ends:   by the parent's exit message.
#pragma once

#include <memory>

#include "actors/client/hooks/hook.hpp"
#include "actors/client/tools/pending_deregistrations.hpp"
#include "actors/roles/service_providers.hpp"

namespace nomad::client {

/// Of plugins; both empty: there are none.
struct ServicesHookParts {
  std::shared_ptr<ServiceProviders> providers{};
  PendingDeregistrations deregistrations{};
};

HookEntry group_services_hook(ServicesHookParts parts);
HookEntry task_services_hook(ServicesHookParts parts);

}  // namespace nomad::client
