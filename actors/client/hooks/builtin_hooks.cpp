#include "actors/client/hooks/builtin_hooks.hpp"

#include "actors/client/hooks/api_hook.hpp"
#include "actors/client/hooks/artifact_hook.hpp"
#include "actors/client/hooks/checks_hook.hpp"
#include "actors/client/hooks/csi_hooks.hpp"
#include "actors/client/hooks/function_hooks.hpp"
#include "actors/client/hooks/health_hook.hpp"
#include "actors/client/hooks/identity_hook.hpp"
#include "actors/client/hooks/network_hook.hpp"
#include "actors/client/hooks/previous_alloc_hooks.hpp"
#include "actors/client/hooks/services_hook.hpp"
#include "actors/client/hooks/template_hook.hpp"

namespace nomad::client {

Hooks builtin_hooks(const HookSettings& settings, const HookParts& parts) {
  const auto& steps = parts.steps;
  const auto& unix_now = parts.unix_now;
  const PreviousAllocHookParts before{.steps = steps, .peers = parts.peers, .unix_now = unix_now};
  const ServicesHookParts services{.providers = parts.providers,
                                   .deregistrations = parts.deregistrations};
  const IdentityHookParts identities{.signer = parts.identities,
                                     .node_identities = parts.node_identities,
                                     .steps = steps,
                                     .unix_now = unix_now};
  const CsiHookParts csi{.volumes = parts.volumes, .root = parts.csi_root, .steps = steps};
  return {
      .of_allocs = {alloc_dir_hook(steps), await_previous_hook(before), migrate_disk_hook(before),
                    health_hook(unix_now),
                    network_hook({.options = parts.network, .steps = steps, .unix_now = unix_now}),
                    csi_hook(csi), group_identities_hook(identities), group_services_hook(services),
                    checks_hook({.checks = parts.checks, .providers = parts.providers})},
      .of_tasks
      = {validate_hook(steps, settings.users), task_dir_hook(steps), csi_plugin_hook(csi),
         identity_hook(identities), network_files_hook(steps), volumes_hook(steps),
         csi_volumes_hook(), dispatch_payload_hook(steps),
         artifacts_hook({.pool = settings.artifacts, .steps = steps, .unix_now = unix_now}),
         api_hook(settings.sockets, steps),
         template_hook({.region = parts.region,
                        .data = parts.data,
                        .settings = parts.templates,
                        .news = settings.news,
                        .steps = steps,
                        .unix_now = unix_now}),
         task_services_hook(services)}};
}

}  // namespace nomad::client
