#include "actors/client/hooks/health_hook.hpp"

#include <algorithm>

#include "actors/client/hooks/hook_objects.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/workload/alloc_health.hpp"
#include "runtime/workload/alloc_update.hpp"

namespace nomad::client {

namespace {

using workload::AllocHealth;

/// The verdict may be due.
struct Look {
  using is_message = void;
  std::uint64_t round;
};

using HookSelf = actor::WithInternal<Hook, void(Look)>;

/// As many as the job names, if they count.
std::size_t checks_in(const HookScope& scope, std::string_view health_check) {
  if (health_check != "checks" && !health_check.empty()) return 0;
  return workload::checks_of(*scope.alloc, *scope.job,
                             [](auto, auto text) { return std::string{text}; })
      .size();
}

/// The rules of the group's update block in a deployment, of its migrate block otherwise.
std::optional<workload::HealthRules> rules_of(const HookScope& scope) {
  const auto group = workload::find_group(*scope.job, scope.alloc->task_group());
  if (!group) return std::nullopt;
  if (!scope.alloc->deployment_id().empty()) {
    if (!group->hasUpdate() || view(group->getUpdate().getHealthCheck()) == "manual")
      return std::nullopt;
    const auto update = group->getUpdate();
    return workload::HealthRules{.min_healthy_time = Nanoseconds{update.getMinHealthyTime()},
                                 .healthy_deadline = Nanoseconds{update.getHealthyDeadline()},
                                 .checks = checks_in(scope, view(update.getHealthCheck()))};
  }
  if (!group->hasMigrate())
    return workload::HealthRules{.min_healthy_time = std::chrono::seconds{10},
                                 .healthy_deadline = std::chrono::minutes{5},
                                 .checks = checks_in(scope, {})};
  const auto migrate = group->getMigrate();
  return workload::HealthRules{.min_healthy_time = Nanoseconds{migrate.getMinHealthyTime()},
                               .healthy_deadline = Nanoseconds{migrate.getHealthyDeadline()},
                               .checks = checks_in(scope, view(migrate.getHealthCheck()))};
}

std::vector<workload::HealthTask> tasks_of(const HookScope& scope) {
  std::vector<workload::HealthTask> tasks;
  const auto group = workload::find_group(*scope.job, scope.alloc->task_group());
  for (const auto task : group->getTasks())
    tasks.push_back({.name = copy(task.getName()),
                     .hook = copy(task.getLifecycle().getHook()),
                     .sidecar = task.getLifecycle().getSidecar()});
  return tasks;
}

struct HookState {
  static constexpr const char* name = "alloc_health_watcher";

  explicit HookState(HookSelf::pointer actor) : self{actor} {}

  HookSelf::pointer self;
  UnixClock unix_now;
  PluginAgent agent;
  std::string deployment;
  std::optional<AllocHealth> health;
  Object<schema::plugin::TaskStates> tasks;
  std::uint64_t round = 0;
  std::optional<Nanoseconds> timer;
  actor::Timer look{};  ///< That one; there is no other.

  Nanoseconds now() const { return self->now().time_since_epoch(); }

  void watch(const HookScope& scope) {
    deployment = std::string{scope.alloc->deployment_id()};
    health.emplace(*rules_of(scope), tasks_of(scope), now());
    timer.reset();
    arm();
  }

  /// Another deployment wants a verdict of its own.
  void update(hook::Run& msg) {
    if (msg.alloc->deployment_id() == deployment) return;
    const HookScope scope{std::move(msg.alloc), std::move(msg.job), {}};
    if (!rules_of(scope)) return self->quit();
    watch(scope);
    if (tasks) look_at_tasks();
  }

  void look_at_tasks() {
    std::vector<workload::TaskState> states;
    for (const auto task : tasks->getTasks())
      states.push_back(read_summary(task));
    std::vector<const workload::TaskState*> views;
    for (const auto& state : states)
      views.push_back(&state);
    const auto verdict = health->update(views, tasks->getAllocFailed(), now());
    act_on(verdict != AllocHealth::Verdict::undecided
               ? verdict
               : health->checks(read_standings(tasks->getChecks()), now()));
  }

  void act_on(AllocHealth::Verdict verdict) {
    if (verdict == AllocHealth::Verdict::undecided) {
      arm();
      return;
    }
    const bool healthy = verdict == AllocHealth::Verdict::healthy;
    std::vector<std::pair<std::string, std::string>> reasons;
    if (!healthy && tasks) {
      const auto states = tasks->getTasks();
      for (unsigned i = 0; i < states.size(); ++i)
        if (auto reason = health->explain(i, read_summary(states[i]), unix_now(), now());
            !reason.empty())
          reasons.emplace_back(copy(states[i].getName()), std::move(reason));
    }
    Draft<schema::plugin::Notice> draft;
    auto about = draft->initHealth();
    about.setHealthy(healthy);
    fill_entries(about.initReasons(reasons.size()), reasons);
    self->send(agent, plugin_agent::Notice{draft.freeze()});
    self->quit();
  }

  void arm() {
    const auto next = health->next_tick();
    if (!next || timer == next) return;
    timer = next;
    self->cancel(look);
    look = actor::send_self_after(self, std::max(*next - now(), Nanoseconds{0}), Look{++round});
  }
};

HookSelf::behavior_type health_watcher(HookSelf::stateful_pointer<HookState> self,
                                       UnixClock unix_now,
                                       PluginAgent agent,
                                       const HookScope& scope) {
  self->state.unix_now = std::move(unix_now);
  self->state.agent = std::move(agent);
  self->state.watch(scope);
  return {
      [self](hook::Run& msg) {
        if (msg.request->getPhase() == HookPhase::UPDATE) self->state.update(msg);
        return hook::Answered{};
      },
      [](hook::Cancel) { return hook::Settled{}; },
      [self](hook::TasksChanged& msg) {
        self->state.tasks = std::move(msg.tasks);
        self->state.look_at_tasks();
      },
      [self](Look msg) {
        if (msg.round != self->state.round) return;
        self->state.timer.reset();
        self->state.act_on(self->state.health->tick(self->state.now()));
      },
  };
}

}  // namespace

HookEntry health_hook(UnixClock unix_now) {
  return {.name = "alloc_health_watcher",
          .phases = {HookPhase::PRERUN, HookPhase::UPDATE},
          .watches_tasks = true,
          .wanted =
              [](const HookScope& scope) {
                const auto type = view(scope.job->getType());
                const bool is_judged
                    = type == "service"
                      || (type == "system" && !scope.alloc->deployment_id().empty());
                return !scope.target->getHealthKnown() && is_judged && rules_of(scope).has_value();
              },
          .spawn =
              [unix_now = std::move(unix_now)](const actor::Owner& owner, const PluginAgent& agent,
                                               const HookScope& scope) {
                return Hook{actor::spawn(owner, health_watcher, unix_now, agent, scope)};
              }};
}

}  // namespace nomad::client
