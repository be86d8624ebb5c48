// HealthHook ("alloc_health_watcher"): watches a new allocation of a service until it is clear
// whether it is healthy. Deployments and drains wait for that. What healthy means is decided by
// workload::AllocHealth.
//
// Owns:   one verdict in the making, one timer.
// Takes:  hook::TasksChanged, updates. Tells its agent the allocation's health, once.
// Parent: alloc_runner, report: nobody watches the health any more, and the deployment's deadline
//         decides. Only for allocations whose health is not known.
// Ends:   by itself after the verdict, or by the parent's exit message.
#pragma once

#include "actors/client/hooks/hook.hpp"

namespace nomad::client {

HookEntry health_hook(UnixClock unix_now);

}  // namespace nomad::client
