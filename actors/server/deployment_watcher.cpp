#include "actors/server/deployment_watcher.hpp"

#include <unordered_map>

#include "actors/core/supervise.hpp"
#include "actors/server/actor_proposer.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/cluster/rollout.hpp"

namespace nomad::server {
namespace {

using namespace std::chrono_literals;
using state::Table;

/// Some deployment is new or changed. `term` counts leaderships.
struct DeploymentsChanged {
  using is_message = void;
  std::uint64_t term;
};

/// One deployment or one of its allocations changed, or its `deadline` is over.
struct LookAtDeployment {
  using is_message = void;
  std::string id;
  std::uint64_t term;
  std::int64_t deadline = 0;
};

using WatcherSelf = actor::
    WithInternal<LeaderDuty, void(DeploymentsChanged), void(LookAtDeployment), void(WriteDone)>;

constexpr auto retry_delay = 1s;

struct WatcherState {
  static constexpr const char* name = "deployment_watcher";

  using Self = WatcherSelf::stateful_pointer<WatcherState>;
  using TimePoint = std::chrono::steady_clock::time_point;

  struct Watched {
    state::Watches::Subscription subscription;
    TimePoint looked_at{};
    bool look_is_due = false;  ///< A LookAtDeployment is on its way.
    bool is_writing = false;
    std::int64_t deadline = 0;  ///< A LookAtDeployment is set for it.
    actor::Timer timer{};       ///< That one.
  };

  Self self = nullptr;
  std::shared_ptr<state::Store> store;
  std::optional<ActorProposer> writes;
  DeploymentWatcherOptions options;
  Random random{0};
  std::uint64_t term = 0;
  bool leads = false;
  std::uint64_t seen_index = 0;  ///< Deployments created up to here are known.
  state::Watches::Subscription new_ones;
  std::unordered_map<std::string, Watched> watched;

  void lead(bool now_leads) {
    ++term;
    leads = now_leads;
    watched.clear();
    new_ones.cancel();
    seen_index = 0;
    if (leads) find_new();
  }

  template <class Message>
  state::Watches::Callback tell(Message message) {
    const auto weak = actor::Weak<WatcherSelf>{self};
    return [weak, message] {
      if (auto strong = weak.lock()) actor::tell(strong, message);
    };
  }

  void find_new() {
    new_ones = store->watches().subscribe({state::watch_prefix(Table::deployments, "")},
                                          tell(DeploymentsChanged{term}));
    const auto snapshot = store->snapshot();
    const auto& by_create = snapshot.deployments_by_create_map();
    std::vector<std::string> found;
    for (auto cursor = by_create.lower_bound(state::number_key(seen_index + 1)); cursor.valid();
         cursor.next()) {
      const auto deployment = *cursor.value();
      seen_index = std::max<std::uint64_t>(seen_index, deployment.getCreateIndex());
      if (state::is_active(deployment.getStatus())) found.push_back(copy(deployment.getId()));
    }
    for (const auto& id : found) {
      if (watched.try_emplace(id).second) look(id);
    }
  }

  /// Looks soon: at once, unless it was looked at just now.
  void look_soon(const std::string& id) {
    auto& entry = watched.at(id);
    if (entry.look_is_due) return;
    const auto next = entry.looked_at + options.batch_period;
    const auto now = self->now();
    if (next <= now) return look(id);
    entry.look_is_due = true;
    actor::send_self_after(self, next - now, LookAtDeployment{id, term});
  }

  void look(const std::string& id) {
    auto& entry = watched.at(id);
    entry.look_is_due = false;
    entry.looked_at = self->now();
    entry.subscription
        = store->watches().subscribe({state::watch_key(Table::deployments, id),
                                      state::watch_key(Table::allocs_by_deployment, id)},
                                     tell(LookAtDeployment{id, term}));
    if (entry.is_writing) return;
    const auto step = cluster::next_rollout_step(store->snapshot(), id, {unix_now(), &random});
    if (step.is_over) {
      self->cancel(entry.timer);
      watched.erase(id);
      return;
    }
    if (step.look_again != 0 && step.look_again != entry.deadline) {
      entry.deadline = step.look_again;
      const auto left = std::chrono::nanoseconds{step.look_again - unix_now()};
      self->cancel(entry.timer);
      entry.timer = actor::send_self_after(self, std::max<std::chrono::nanoseconds>(left, 0ns),
                                           LookAtDeployment{id, term, step.look_again});
    }
    if (step.command) write(id, step);
  }

  void write(const std::string& id, const cluster::RolloutStep& step) {
    log::debug("deployment_watcher", "deployment {}: {}", short_id(id), step.reason);
    watched.at(id).is_writing = true;
    writes->propose(WatcherSelf{self}, step.command,
                    [this, id, asked = term](const Result<Committed>& committed) {
                      if (asked != term) return;
                      const auto entry = watched.find(id);
                      if (entry == watched.end()) return;
                      entry->second.is_writing = false;
                      if (committed) return look_soon(id);
                      log::warn("deployment_watcher", "deployment {}: {}", short_id(id),
                                committed.error().what);
                      entry->second.look_is_due = true;
                      actor::send_self_after(self, retry_delay, LookAtDeployment{id, term});
                    });
  }
};

WatcherSelf::behavior_type deployment_watcher(WatcherState::Self self,
                                              std::shared_ptr<state::Store> store,
                                              raft::Proposer proposer,
                                              DeploymentWatcherOptions options) {
  auto& state = self->state;
  state.self = self;
  state.store = std::move(store);
  state.writes.emplace(std::move(proposer), access::own_work("deployment_watcher"));
  state.options = options;
  state.random = Random{self->seed(options.random_seed)};

  return {
      [self](Lead msg) { self->state.lead(msg.leads); },
      [self](DeploymentsChanged msg) {
        if (msg.term == self->state.term) self->state.find_new();
      },
      [self](const LookAtDeployment& msg) {
        auto& state = self->state;
        const auto entry = state.watched.find(msg.id);
        if (msg.term != state.term || entry == state.watched.end()) return;
        entry->second.look_is_due = false;
        // Unless it is really over (wall clocks are set back), the next look sets it again.
        if (msg.deadline == entry->second.deadline) entry->second.deadline = 0;
        state.look_soon(msg.id);
      },
      [self](const WriteDone& msg) { self->state.writes->finish(msg); },
  };
}

}  // namespace

LeaderDuty spawn_deployment_watcher(const actor::Owner& owner,
                                    std::shared_ptr<state::Store> store,
                                    raft::Proposer proposer,
                                    DeploymentWatcherOptions options) {
  return actor::spawn<actor::Policy::restart>(owner, deployment_watcher, std::move(store),
                                              std::move(proposer), options);
}

}  // namespace nomad::server
