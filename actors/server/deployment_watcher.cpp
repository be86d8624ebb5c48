#include "actors/server/deployment_watcher.hpp"

#include "actors/server/actor_proposer.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"

namespace nomad::server {
namespace {

using namespace std::chrono_literals;

/// The deployment or one of its allocations changed, or its `deadline` is over.
struct LookAtDeployment {
  using is_message = void;
  std::int64_t deadline = 0;
};

using WatcherSelf = actor::WithInternal<DeploymentWatcher, void(LookAtDeployment)>;

constexpr auto retry_delay = 1s;

struct WatcherState {
  static constexpr const char* name = "deployment_watcher";

  using Self = WatcherSelf::stateful_pointer<WatcherState>;

  Self self = nullptr;
  std::shared_ptr<state::Store> store;
  std::optional<ActorProposer> writes;
  DeploymentWatcherOptions options;
  Random random{0};
  std::string id;
  state::Watches::Subscription subscription;
  std::chrono::steady_clock::time_point looked_at{};
  std::optional<std::chrono::steady_clock::time_point> waits_since;  ///< With a step that may wait.
  bool look_is_due = false;  ///< A LookAtDeployment is on its way.
  bool is_writing = false;
  std::int64_t deadline = 0;  ///< A LookAtDeployment is set for it.
  actor::Timer timer{};       ///< That one.

  void look_after(std::chrono::nanoseconds delay) {
    look_is_due = true;
    actor::send_self_after(self, delay, LookAtDeployment{});
  }

  void heard(const LookAtDeployment& msg) {
    look_is_due = false;
    // Unless it is really over (wall clocks are set back), the next look sets it again.
    if (msg.deadline == deadline) deadline = 0;
    look_soon();
  }

  /// Looks at once, unless it has looked just now.
  void look_soon() {
    if (look_is_due) return;
    const auto next = looked_at + options.batch_period;
    const auto now = self->now();
    if (next <= now) return look();
    look_after(next - now);
  }

  void look() {
    looked_at = self->now();
    subscribe();
    if (is_writing) return;
    const auto step = options.decide(store->snapshot(), id, {unix_now(), &random});
    if (step.is_over) return self->quit();
    if (step.look_again != 0 && step.look_again != deadline) set_deadline(step.look_again);
    if (step.command && !must_wait(step)) write(step);
  }

  /// Whether the step is for later; then it is looked for again.
  bool must_wait(const cluster::NextDeploymentCommand& step) {
    if (!step.may_wait) return false;
    const auto now = self->now();
    if (!waits_since) waits_since = now;
    const auto left = *waits_since + options.replace_delay - now;
    if (left <= 0ns) {
      waits_since.reset();
      return false;
    }
    look_after(left);
    return true;
  }

  void subscribe() {
    subscription = store->watches().subscribe(
        {state::watch_key(state::Table::deployments, id),
         state::watch_key(state::Table::allocs_by_deployment, id)},
        actor::turns_of(self).callback([this] { heard(LookAtDeployment{}); }));
  }

  void set_deadline(std::int64_t time) {
    deadline = time;
    const std::chrono::nanoseconds left{time - unix_now()};
    self->cancel(timer);
    timer = actor::send_self_after(self, std::max<std::chrono::nanoseconds>(left, 0ns),
                                   LookAtDeployment{time});
  }

  void write(const cluster::NextDeploymentCommand& step) {
    log::debug("deployment", step.reason, {{"deployment", id}});
    is_writing = true;
    writes->propose(step.command, [this](const Result<Committed>& committed) {
      is_writing = false;
      if (committed) return look_soon();
      log::warn("deployment", "a change of the deployment was not written",
                {{"deployment", id}, {"error", committed.error()}});
      look_after(retry_delay);
    });
  }
};

WatcherSelf::behavior_type deployment_watcher(WatcherState::Self self,
                                              std::shared_ptr<state::Store> store,
                                              raft::Proposer proposer,
                                              std::string deployment_id,
                                              DeploymentWatcherOptions options) {
  auto& state = self->state;
  state.self = self;
  state.store = std::move(store);
  state.writes.emplace(self, std::move(proposer), access::own_work("deployment_watcher"));
  state.options = std::move(options);
  state.random = Random{self->seed(options.random_seed)};
  state.id = std::move(deployment_id);
  state.look_after(0ns);

  return {
      [self](const LookAtDeployment& msg) { self->state.heard(msg); },
  };
}

}  // namespace

DeploymentWatcher spawn_deployment_watcher(const actor::Owner& owner,
                                           std::shared_ptr<state::Store> store,
                                           raft::Proposer proposer,
                                           std::string deployment_id,
                                           DeploymentWatcherOptions options) {
  return actor::spawn(owner, deployment_watcher, std::move(store), std::move(proposer),
                      std::move(deployment_id), options);
}

}  // namespace nomad::server
