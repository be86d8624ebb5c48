#include "actors/server/periodic_dispatcher.hpp"

#include "actors/core/supervise.hpp"
#include "actors/server/actor_proposer.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/log.hpp"
#include "runtime/cluster/job_commands.hpp"
#include "runtime/cluster/periodic.hpp"

namespace nomad::server {
namespace {

using namespace std::chrono_literals;

/// Take the changes over. `term` counts leaderships.
struct Sync {
  using is_message = void;
  std::uint64_t term;
};

/// Something may be due.
struct LaunchDue {
  using is_message = void;
  std::uint64_t round;
};

using DispatcherSelf = actor::WithInternal<LeaderDuty, void(Sync), void(LaunchDue)>;

constexpr std::int64_t second = 1'000'000'000;

/// A timer is set no further ahead than this, because the wall clock may be moved.
constexpr auto longest_sleep = 60s;

struct DispatcherState {
  static constexpr const char* name = "periodic_dispatcher";

  using Self = DispatcherSelf::stateful_pointer<DispatcherState>;

  Self self = nullptr;
  std::shared_ptr<state::Store> store;
  std::optional<ActorProposer> writes;
  PeriodicDispatcherOptions options;
  Random random{0};
  cluster::PeriodicSchedule schedule;
  state::Watches::Subscription subscription;
  std::uint64_t term = 0;
  std::uint64_t round = 0;  ///< Of the newest LaunchDue timer.
  actor::Timer timer{};     ///< That one; there is no other.

  std::int64_t now() const { return options.wall_clock(); }

  void lead(bool leads) {
    ++term;
    ++round;
    schedule.clear();
    subscription.cancel();
    if (!leads) return;
    subscribe();
    const auto snapshot = store->snapshot();
    schedule.sync(snapshot, now() / second);
    for (const auto& launch : schedule.missed(snapshot, now() / second)) {
      log::info("periodic", "the job missed a launch; it is launched now",
                {{"job", launch.job_id}});
      this->launch(launch);
    }
    arm();
  }

  void subscribe() {
    subscription = store->watches().subscribe({state::watch_prefix(state::Table::jobs, "")},
                                              actor::turns_of(self).callback([this, asked = term] {
                                                if (asked == term)
                                                  actor::send_self_after(self, options.sync_period,
                                                                         Sync{asked});
                                              }));
  }

  void sync() {
    subscribe();
    schedule.sync(store->snapshot(), now() / second);
    arm();
  }

  void arm() {
    const auto next = schedule.next();
    if (!next) return;
    const std::chrono::nanoseconds left{*next * second - now()};
    const auto delay = std::clamp<std::chrono::nanoseconds>(left, 0ns, longest_sleep);
    self->cancel(timer);
    timer = actor::send_self_after(self, delay, LaunchDue{++round});
  }

  void work() {
    for (const auto& launch : schedule.take_due(store->snapshot(), now() / second))
      this->launch(launch);
    arm();
  }

  void launch(const cluster::PeriodicSchedule::Launch& launch) {
    const auto snapshot = store->snapshot();
    const auto job = snapshot.job(launch.ns, launch.job_id);
    if (!job) return;
    if (job->getPeriodic().getProhibitOverlap()
        && cluster::has_running_child(snapshot, launch.ns, launch.job_id)) {
      log::info("periodic", "the job is not launched: its last launch still runs",
                {{"job", launch.job_id}});
      return;
    }
    // The child's id holds the time, so the same launch can't happen twice.
    const auto asking = access::Asking::of_cluster("periodic_dispatcher");
    const auto decision = cluster::decide_periodic_launch(
        snapshot, asking, launch.ns, launch.job_id, {launch.time * second, &random});
    if (!decision) return warn(launch.job_id, decision.error());
    if (snapshot.job(launch.ns, decision->job_id)) return;
    writes->propose(decision->command, [this, id = launch.job_id, command = decision->command](
                                           const Result<Committed>& done) {
      if (done) return;
      if (done.error().code != Errc::rejected) return warn(id, done.error());
      // Perhaps some server can't apply it yet. Whatever else is wrong will be refused again.
      writes->propose(cluster::launch_without_record(command),
                      [id](const Result<Committed>& again) {
                        if (!again) warn(id, again.error());
                      });
    });
  }

  static void warn(const std::string& id, const Error& error) {
    log::warn("periodic", "the job is not launched", {{"job", id}, {"error", error}});
  }
};

DispatcherSelf::behavior_type periodic_dispatcher(DispatcherState::Self self,
                                                  std::shared_ptr<state::Store> store,
                                                  raft::Proposer proposer,
                                                  PeriodicDispatcherOptions options) {
  auto& state = self->state;
  state.self = self;
  state.store = std::move(store);
  state.writes.emplace(self, std::move(proposer), access::own_work("periodic_dispatcher"));
  state.options = std::move(options);
  state.random = Random{self->seed(state.options.random_seed)};
  if (!state.options.wall_clock) state.options.wall_clock = unix_now;

  return {
      [self](Lead msg) { self->state.lead(msg.leads); },
      [self](Sync msg) {
        if (msg.term == self->state.term) self->state.sync();
      },
      [self](LaunchDue msg) {
        if (msg.round == self->state.round) self->state.work();
      },
  };
}

}  // namespace

LeaderDuty spawn_periodic_dispatcher(const actor::Owner& owner,
                                     std::shared_ptr<state::Store> store,
                                     raft::Proposer proposer,
                                     PeriodicDispatcherOptions options) {
  return actor::spawn<actor::Policy::restart>(owner, periodic_dispatcher, std::move(store),
                                              std::move(proposer), std::move(options));
}

}  // namespace nomad::server
