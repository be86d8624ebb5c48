#include "actors/plugin/plugin_hook.hpp"

#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "actors/core/actor_registry.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"

namespace nomad::plugin {
namespace {

/// Of all plugins of the process, so that none comes twice.
std::uint64_t next_instance() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

class PluginHookState {
public:
  static constexpr const char* name = "plugin_hook";

  explicit PluginHookState(client::Hook::pointer self) : self_{self} {}

  PluginHookState(const PluginHookState&) = delete;
  PluginHookState& operator=(const PluginHookState&) = delete;

  ~PluginHookState() {
    if (instance_ != 0) actor::tell(link_, plugin_link::CloseHook{instance_});
  }

  void init(const PluginLink& link,
            const std::string& hook,
            const client::PluginAgent& agent,
            const client::HookScope& scope) {
    link_ = link;
    hook_ = hook;
    actor::set_about(*self_, hook);
    agent_ = agent;
    target_ = scope.target;
    instance_ = next_instance();
  }

  actor::Answer<client::hook::Answered> run(const client::hook::Run& msg) {
    return self_->delegate(link_, plugin_link::RunHook{instance_, hook_, msg, target_, agent_});
  }

  actor::Answer<client::hook::Settled> cancel() {
    return self_->delegate(link_, plugin_link::CancelHook{instance_});
  }

  void tasks_changed(const client::hook::TasksChanged& msg) {
    self_->send(link_, plugin_link::TasksChanged{instance_, msg.tasks});
  }

private:
  client::Hook::pointer self_;
  PluginLink link_;
  std::string hook_;
  client::PluginAgent agent_;
  Object<schema::plugin::HookTarget> target_;
  std::uint64_t instance_ = 0;
};

client::Hook::behavior_type plugin_hook_actor(client::Hook::stateful_pointer<PluginHookState> self,
                                              PluginLink link,
                                              std::string hook,
                                              client::PluginAgent agent,
                                              client::HookScope scope) {
  self->state.init(link, hook, agent, scope);
  return {
      [self](client::hook::Run& msg) { return self->state.run(msg); },
      [self](client::hook::Cancel) { return self->state.cancel(); },
      [self](const client::hook::TasksChanged& msg) { self->state.tasks_changed(msg); },
  };
}

/// Whether the task (for an allocation's hook: the group) has the key in its meta, or inherits it.
bool has_meta(const client::HookScope& scope, const std::string& key) {
  if (find_text(scope.job->getMeta(), key)) return true;
  const auto task_name = view(scope.target->getTask());
  for (const auto group : scope.job->getTaskGroups()) {
    if (view(group.getName()) != scope.alloc->task_group()) continue;
    if (find_text(group.getMeta(), key)) return true;
    for (const auto task : group.getTasks())
      if (view(task.getName()) == task_name && find_text(task.getMeta(), key)) return true;
  }
  return false;
}

/// Whether the task has got devices of the kind, "vendor/type".
bool has_devices(const client::HookScope& scope, std::string_view kind) {
  const auto task = scope.alloc->resources(view(scope.target->getTask()));
  if (!task) return false;
  for (const auto device : task->getDevices())
    if (fmt::format("{}/{}", view(device.getVendor()), view(device.getType())) == kind) return true;
  return false;
}

}  // namespace

client::Hook spawn_plugin_hook(const actor::Owner& owner,
                               const PluginLink& link,
                               const std::string& hook,
                               const client::PluginAgent& agent,
                               const client::HookScope& scope) {
  return actor::spawn(owner, plugin_hook_actor, link, hook, agent, scope);
}

client::HookEntry plugin_hook(const PluginLink& link,
                              schema::plugin::Declaration::Hook::Reader hook) {
  client::HookPhases phases{};
  for (const auto phase : hook.getPhases())
    phases.add(phase);
  client::HookEntry entry{
      .name = copy(hook.getName()),
      .after = copy(hook.getAfter()),
      .phases = phases,
      .watches_tasks = hook.getWatchesTasks(),
      .reads_environment = hook.getReadsEnvironment() ? phases : client::HookPhases{},
      .is_told_in_bytes = true,
      .announcement = copy(hook.getAnnouncement()),
      .spawn = {}};
  if (hook.getPatience() > 0) entry.patience = std::chrono::nanoseconds{hook.getPatience()};
  if (auto key = copy(hook.getMeta()); !key.empty())
    entry.wanted
        = [key = std::move(key)](const client::HookScope& scope) { return has_meta(scope, key); };
  if (auto kind = copy(hook.getDevices()); !kind.empty())
    entry.wanted
        = [kind = std::move(kind), too = std::move(entry.wanted)](const client::HookScope& scope) {
            return has_devices(scope, kind) && (!too || too(scope));
          };
  entry.spawn
      = [link, name = entry.name](const actor::Owner& owner, const client::PluginAgent& agent,
                                  const client::HookScope& scope) {
          return spawn_plugin_hook(owner, link, name, agent, scope);
        };
  return entry;
}

}  // namespace nomad::plugin
