// ServicesHook ("group_services", "task_services"): keeps the registrations of a group's or a
// task's services in Nomad's own discovery as the job wants them. What they are is worked out by
// workload::service_registrations; the host passes them to the servers.
//
// A group's services are registered before its tasks start, a task's when it runs; both go when
// they are about to be ended, before anything else. A server that can't be reached holds nothing
// up for long: the hook goes on trying by itself.
//
// Owns:   what is wanted, what the servers are known to have, a timer for the next try.
// Takes:  what the role Hook lists.
// Parent: alloc_runner, task_runner, report: the next phase finds a new one, which registers again.
// Ends:   by the parent's exit message.
#pragma once

#include "actors/client/plugin_catalog.hpp"

namespace nomad::client {

HookEntry group_services_hook();
HookEntry task_services_hook();

}  // namespace nomad::client
