#include "actors/client/plugin_catalog.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "actors/client/drivers/docker/docker.hpp"
#include "actors/client/drivers/exec.hpp"
#include "actors/client/drivers/java.hpp"
#include "actors/client/drivers/mock_driver.hpp"
#include "actors/client/drivers/qemu.hpp"
#include "actors/client/drivers/raw_exec.hpp"
#include "actors/client/hooks/builtin_hooks.hpp"
#include "runtime/host/file_changes.hpp"
#include "runtime/network/cni_fingerprint.hpp"
#include "runtime/workload/task_machine.hpp"

namespace nomad::client {

workload::TaskHooks task_hook_traits(const std::vector<HookEntry>& of_tasks) {
  workload::TaskHooks hooks;
  for (const auto& entry : of_tasks) {
    auto& hook = hooks.emplace_back(workload::TaskHookTraits{.name = entry.name,
                                                             .announcement = entry.announcement,
                                                             .failure_event = entry.failure_event});
    for (const auto phase : {HookPhase::PRESTART, HookPhase::POSTSTART, HookPhase::PRE_KILL,
                             HookPhase::EXITED, HookPhase::STOP})
      if (entry.phases.contains(phase)) hook.asked_in.push_back(phase);
  }
  return hooks;
}

Result<std::vector<HookEntry>> in_order(std::vector<HookEntry> hooks) {
  std::vector<HookEntry> ordered;
  const auto known = [](const std::vector<HookEntry>& among, const std::string& name) {
    return std::ranges::find(among, name, &HookEntry::name);
  };
  for (const auto& hook : hooks) {
    if (std::ranges::count(hooks, hook.name, &HookEntry::name) > 1)
      return Error{Errc::invalid_argument, fmt::format("two hooks are named \"{}\"", hook.name)};
    if (!hook.after.empty() && known(hooks, hook.after) == hooks.end())
      return Error{
          Errc::invalid_argument,
          fmt::format("hook \"{}\" comes after \"{}\", which is no hook", hook.name, hook.after)};
    if (hook.after.empty()) ordered.push_back(hook);
  }
  // The last of those that follow the same one is placed first, so that they keep their order.
  for (bool moved = true; moved && ordered.size() < hooks.size();) {
    moved = false;
    for (auto hook = hooks.rbegin(); hook != hooks.rend(); ++hook) {
      if (known(ordered, hook->name) != ordered.end()) continue;
      const auto before = known(ordered, hook->after);
      if (before == ordered.end()) continue;
      ordered.insert(before + 1, *hook);
      moved = true;
    }
  }
  for (const auto& hook : hooks)
    if (known(ordered, hook.name) == ordered.end())
      return Error{
          Errc::invalid_argument,
          fmt::format("hook \"{}\" comes after itself by way of \"{}\"", hook.name, hook.after)};
  return ordered;
}

Result<Hooks> all_hooks(const PluginCatalog& plugins, const HookParts& parts) {
  auto hooks = plugins.builtin_hooks ? plugins.builtin_hooks(parts) : Hooks{};
  const auto add = [](std::vector<HookEntry>& to, const std::vector<HookEntry>& more) {
    to.insert(to.end(), more.begin(), more.end());
  };
  add(hooks.of_allocs, plugins.hooks.of_allocs);
  add(hooks.of_tasks, plugins.hooks.of_tasks);
  return Hooks{.of_allocs = NOMAD_TRY(in_order(std::move(hooks.of_allocs))),
               .of_tasks = NOMAD_TRY(in_order(std::move(hooks.of_tasks)))};
}

PluginCatalog builtin_plugins(bool with_mock_driver, HookSettings settings) {
  PluginCatalog plugins;
  if (!settings.news) settings.news = std::make_shared<host::FileChanges>();
  plugins.sockets = settings.sockets;
  plugins.builtin_hooks = [settings = std::move(settings)](const HookParts& parts) {
    return builtin_hooks(settings, parts);
  };
  plugins.drivers.emplace("docker", docker_entry());
  plugins.drivers.emplace("exec", exec_entry());
  plugins.drivers.emplace("java", java_entry());
  plugins.drivers.emplace("qemu", qemu_entry());
  plugins.drivers.emplace("raw_exec", raw_exec_entry());
  if (with_mock_driver) plugins.drivers.emplace("mock_driver", mock_driver_entry());
  plugins.fingerprinters = host::fingerprinters();
  plugins.fingerprinters.push_back(network::cni_plugins_fingerprinter());
  return plugins;
}

PluginCatalog builtin_plugins(bool with_mock_driver) {
  return builtin_plugins(with_mock_driver, {});
}

}  // namespace nomad::client
