#include "actors/server/deployment_watchers.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "actors/core/turns.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::server {
namespace {

using namespace std::chrono_literals;

/// The watcher of a deployment has failed some time ago. `term` counts leaderships.
struct WatchAgain {
  using is_message = void;
  std::string id;
  std::uint64_t term;
};

using WatchersSelf = actor::WithInternal<LeaderDuty, void(WatchAgain)>;

/// A deployment that its watcher cannot bear must not keep the server busy.
constexpr auto watch_again_after = 5s;

struct WatchersState {
  static constexpr const char* name = "deployment_watchers";

  using Self = WatchersSelf::stateful_pointer<WatchersState>;

  Self self = nullptr;
  std::shared_ptr<state::Store> store;
  std::optional<raft::Proposer> proposer;
  DeploymentWatcherOptions options;
  Random random{0};
  std::uint64_t term = 0;
  std::uint64_t seen_index = 0;  ///< Deployments created up to here are known.
  state::Watches::Subscription new_ones;
  std::unordered_map<std::string, DeploymentWatcher> watchers;
  std::map<actor::Address, std::string> ids;  ///< Of the watchers.

  void lead(bool leads) {
    ++term;
    new_ones.cancel();
    for (const auto& [id, watcher] : watchers)
      actor::stop(watcher);
    watchers.clear();
    ids.clear();
    seen_index = 0;
    if (leads) find_new();
  }

  void find_new() {
    new_ones = store->watches().subscribe({state::watch_prefix(state::Table::deployments, "")},
                                          actor::turns_of(self).callback([this, asked = term] {
                                            if (asked == term) find_new();
                                          }));
    const auto snapshot = store->snapshot();
    for (auto cursor
         = snapshot.deployments_by_create_map().lower_bound(state::number_key(seen_index + 1));
         cursor.valid(); cursor.next()) {
      const auto deployment = *cursor.value();
      seen_index = std::max<std::uint64_t>(seen_index, deployment.getCreateIndex());
      if (state::is_active(deployment.getStatus())) watch(copy(deployment.getId()));
    }
  }

  /// Has a deployment watched that is not. If it is over, its watcher finds out.
  void watch(const std::string& id) {
    auto [entry, is_new] = watchers.try_emplace(id);
    if (!is_new) return;
    auto with = options;
    with.random_seed = random.next();
    entry->second = spawn_deployment_watcher(self, store, *proposer, id, with);
    ids[entry->second.address()] = id;
  }

  void watcher_down(const actor::Down& down) {
    auto entry = ids.extract(down.source);
    if (entry.empty()) return;  // of an earlier term
    const auto& id = entry.mapped();
    watchers.erase(id);
    if (!down.crashed) return;
    log::error("deployment", "what watches the deployment failed; another one follows",
               {{"deployment", id}, {"error", down.reason}});
    actor::send_self_after(self, watch_again_after, WatchAgain{id, term});
  }
};

WatchersSelf::behavior_type deployment_watchers(WatchersState::Self self,
                                                std::shared_ptr<state::Store> store,
                                                raft::Proposer proposer,
                                                DeploymentWatcherOptions options) {
  auto& state = self->state;
  state.self = self;
  state.store = std::move(store);
  state.proposer.emplace(std::move(proposer));
  state.options = options;
  state.random = Random{self->seed(options.random_seed)};
  actor::on_down(self, [self](const actor::Down& down) { self->state.watcher_down(down); });

  return {
      [self](Lead msg) { self->state.lead(msg.leads); },
      [self](const WatchAgain& msg) {
        if (msg.term == self->state.term) self->state.watch(msg.id);
      },
  };
}

}  // namespace

LeaderDuty spawn_deployment_watchers(const actor::Owner& owner,
                                     std::shared_ptr<state::Store> store,
                                     raft::Proposer proposer,
                                     DeploymentWatcherOptions options) {
  return actor::spawn<actor::Policy::restart>(owner, deployment_watchers, std::move(store),
                                              std::move(proposer), options);
}

}  // namespace nomad::server
