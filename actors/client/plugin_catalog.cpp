#include "actors/client/plugin_catalog.hpp"

#include <utility>

#include "actors/client/drivers/mock_driver.hpp"
#include "actors/client/drivers/raw_exec.hpp"
#include "actors/client/hooks/function_hooks.hpp"
#include "actors/client/hooks/health_hook.hpp"
#include "runtime/workload/task_machine.hpp"

namespace nomad::client {

workload::TaskHooks task_hook_traits(const PluginCatalog& plugins) {
  using workload::TaskPhase;
  constexpr std::pair<Phase, TaskPhase> later_phases[] = {{Phase::poststart, TaskPhase::poststart},
                                                          {Phase::pre_kill, TaskPhase::pre_kill},
                                                          {Phase::exited, TaskPhase::exited},
                                                          {Phase::stop, TaskPhase::stop}};
  workload::TaskHooks hooks;
  for (const auto& entry : plugins.task_hooks) {
    auto& hook = hooks.emplace_back(workload::TaskHookTraits{
        .name = entry.name, .announcement = entry.announcement, .lives_on = !entry.prestart});
    for (const auto& [phase, known_as] : later_phases)
      if ((entry.asked_in & static_cast<std::uint8_t>(phase)) != 0)
        hook.asked_in.push_back(known_as);
  }
  return hooks;
}

PluginCatalog builtin_plugins(bool with_mock_driver) {
  PluginCatalog plugins;
  plugins.alloc_hooks = {alloc_dir_hook(), health_hook()};
  plugins.task_hooks = {validate_hook(), task_dir_hook(), volumes_hook(), dispatch_payload_hook()};
  plugins.drivers.emplace("raw_exec", raw_exec_entry());
  if (with_mock_driver) plugins.drivers.emplace("mock_driver", mock_driver_entry());
  plugins.fingerprinters = host::fingerprinters();
  return plugins;
}

}  // namespace nomad::client
