#include "actors/client/hooks/health_hook.hpp"

#include <algorithm>

#include "actors/core/supervise.hpp"
#include "runtime/object/draft.hpp"
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

using HookSelf = actor::WithInternal<AllocHook, void(Look)>;

/// The rules of the group's update block in a deployment, of its migrate block otherwise. Checks
/// count once something runs them; until then no verdict may wait for one.
std::optional<workload::HealthRules> rules_of(const AllocScope& scope) {
  const auto group = workload::find_group(*scope.job, view(scope.alloc->getTaskGroup()));
  if (!group) return std::nullopt;
  if (scope.alloc->getDeploymentId().size() > 0) {
    if (!group->hasUpdate() || view(group->getUpdate().getHealthCheck()) == "manual")
      return std::nullopt;
    const auto update = group->getUpdate();
    return workload::HealthRules{.min_healthy_time = Nanoseconds{update.getMinHealthyTime()},
                                 .healthy_deadline = Nanoseconds{update.getHealthyDeadline()}};
  }
  if (!group->hasMigrate())
    return workload::HealthRules{.min_healthy_time = std::chrono::seconds{10},
                                 .healthy_deadline = std::chrono::minutes{5}};
  const auto migrate = group->getMigrate();
  return workload::HealthRules{.min_healthy_time = Nanoseconds{migrate.getMinHealthyTime()},
                               .healthy_deadline = Nanoseconds{migrate.getHealthyDeadline()}};
}

std::vector<workload::HealthTask> tasks_of(const AllocScope& scope) {
  std::vector<workload::HealthTask> tasks;
  const auto group = workload::find_group(*scope.job, view(scope.alloc->getTaskGroup()));
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
  HealthListener listener;
  std::function<std::int64_t()> unix_now;
  std::optional<AllocHealth> health;
  std::vector<TaskStatePtr> tasks;
  std::uint64_t round = 0;
  std::optional<Nanoseconds> timer;

  Nanoseconds now() const { return self->now().time_since_epoch(); }

  void act_on(AllocHealth::Verdict verdict) {
    if (verdict == AllocHealth::Verdict::undecided) {
      arm();
      return;
    }
    hook::HealthDecided decided{.healthy = verdict == AllocHealth::Verdict::healthy, .reasons = {}};
    if (!decided.healthy)
      for (std::size_t i = 0; i < tasks.size(); ++i)
        if (auto reason = health->explain(i, *tasks[i], unix_now(), now()); !reason.empty())
          decided.reasons.emplace_back(i, std::move(reason));
    self->send(listener, std::move(decided));
    self->quit();
  }

  void arm() {
    const auto next = health->next_tick();
    if (!next || timer == next) return;
    timer = next;
    actor::send_self_after(self, std::max(*next - now(), Nanoseconds{0}), Look{++round});
  }
};

HookSelf::behavior_type health_watcher(HookSelf::stateful_pointer<HookState> self,
                                       workload::HealthRules rules,
                                       std::vector<workload::HealthTask> tasks,
                                       std::function<std::int64_t()> unix_now,
                                       HealthListener listener) {
  auto& state = self->state;
  state.listener = std::move(listener);
  state.unix_now = std::move(unix_now);
  state.health.emplace(rules, std::move(tasks), state.now());
  state.arm();
  return {
      [](hook::Prerun) { return hook::Done{}; },
      [](hook::PreTaskRestart) { return hook::Done{}; },
      [](hook::PreKill) { return hook::Done{}; },
      [](hook::Postrun) { return hook::Done{}; },
      [](const hook::AllocChanged&) {},
      [self](hook::TasksChanged& msg) {
        auto& state = self->state;
        state.tasks = std::move(msg.tasks);
        std::vector<const workload::TaskState*> states;
        for (const auto& task : state.tasks)
          states.push_back(task.get());
        state.act_on(state.health->update(states, msg.alloc_failed, state.now()));
      },
      [self](hook::Cancel) { self->quit(); },
      [self](Look msg) {
        if (msg.round != self->state.round) return;
        self->state.timer.reset();
        self->state.act_on(self->state.health->tick(self->state.now()));
      },
  };
}

}  // namespace

AllocHookEntry health_hook() {
  return {.name = "alloc_health_watcher",
          .wanted =
              [](const AllocScope& scope) {
                return !scope.health_known && view(scope.job->getType()) == "service"
                       && rules_of(scope).has_value();
              },
          .prerun = {},
          .destroy = {},
          .spawn = [](const actor::Owner& owner, const AllocScope& scope,
                      HealthListener listener) -> AllocHook {
            return actor::spawn(owner, health_watcher, *rules_of(scope), tasks_of(scope),
                                scope.unix_now, std::move(listener));
          },
          .asked_in = 0};
}

}  // namespace nomad::client
