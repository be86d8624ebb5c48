// What the client has with the servers: registration, heartbeats, the watch of its allocations, and
// what it does when it is without them, or was.
//
//   register ─▶ heartbeat ─▶ (the servers had given the node up: report everything ─▶ heartbeat) ─▶
//   …
#include <algorithm>
#include <utility>

#include "actors/client/client_state.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/client_status.hpp"
#include "runtime/workload/heartbeat.hpp"

namespace nomad::client::detail {
namespace {

using namespace std::chrono_literals;

constexpr auto server_timeout = 30s;
constexpr auto heartbeat_timeout = 10s;
constexpr auto watch_wait = 5min;
constexpr auto first_register_retry = 5ms;

/// How many heartbeats fit into the time that the least patient allocation may be without servers.
constexpr int beats_in_patience = 3;

/// Doubles from `first` with each failure, up to `most`.
Nanoseconds growing(Nanoseconds first, Nanoseconds most, unsigned failures) {
  auto pause = first;
  for (unsigned i = 1; i < failures && pause < most; ++i)
    pause *= 2;
  return std::min(pause, most);
}

}  // namespace

// -- registration --------------------------------------------------------------------------------

void ClientState::register_node() {
  if (registering_ || stopping_) return;
  registering_ = true;
  self_->request(parts_.servers, server_timeout, server_link::RegisterNode{node_})
      .then([this](const server_link::Registered& answer) { registered(answer); },
            [this](const Error& err) { register_failed(err); });
}

void ClientState::registered(const server_link::Registered& answer) {
  registering_ = false;
  register_failures_ = 0;
  heard_of_servers(answer.ttl);
  if (!is_registered_) log::info("client", "node {} is registered", identity_.id);
  is_registered_ = true;
  // Registering alone makes no node ready: a heartbeat follows, at once unless they fail.
  arm_heartbeat(heartbeat_failures_ > 1 ? workload::with_jitter(1s, random_) : 0s);
  if (!watching_) watch();
}

void ClientState::register_failed(const Error& err) {
  registering_ = false;
  ++register_failures_;
  const bool no_servers
      = err.code == Errc::unavailable || err.code == Errc::no_leader || err.code == Errc::timeout;
  const auto longest = options_.dev || no_servers ? Nanoseconds{1s} : Nanoseconds{15s};
  const auto pause
      = no_servers ? growing(first_register_retry, longest, register_failures_) : longest;
  if (register_failures_ == 1 || pause == longest)
    log::warn("client", "registration failed: {}", err.what);
  actor::send_self_after(self_, workload::with_jitter(pause, random_),
                         RegisterDue{++register_round_});
}

void ClientState::register_due(std::uint64_t round) {
  if (round == register_round_) register_node();
}

/// Registers again soon; changes that follow shortly are registered with it.
void ClientState::node_changed() {
  node_ = build_node(options_, identity_, *facts_, driver_health_, options_.unix_now());
  make_context();
  const Nanoseconds pause = options_.dev ? 100ms : 5s;
  actor::send_self_after(self_, workload::with_jitter(pause, random_),
                         RegisterDue{++register_round_});
}

// -- heartbeats ----------------------------------------------------------------------------------

void ClientState::heard_of_servers(std::chrono::milliseconds ttl) {
  ttl_ = ttl;
  lease_from_ = now();
  last_heartbeat_ = options_.unix_now();
  heartbeat_stop_.heard(now());
}

void ClientState::arm_heartbeat(Nanoseconds delay) {
  if (const auto patience = heartbeat_stop_.shortest())
    delay = std::min(delay, *patience / beats_in_patience);
  actor::send_self_after(self_, delay, HeartbeatDue{++heartbeat_round_});
}

void ClientState::heartbeat_due(std::uint64_t round) {
  if (round != heartbeat_round_ || stopping_) return;
  actor::request_urgent(self_, parts_.servers, heartbeat_timeout,
                        server_link::Heartbeat{identity_.id})
      .then([this](const server_link::Lease& lease) { heartbeat_answered(lease); },
            [this](const Error& err) { heartbeat_failed(err); });
}

void ClientState::heartbeat_answered(const server_link::Lease& lease) {
  const bool was_away = heartbeat_failures_ > 0 || lease.was_missed;
  heartbeat_failures_ = 0;
  heard_of_servers(lease.ttl);
  if (was_away) self_->send(sync_, sync::Hurry{});
  if (!lease.was_missed) {
    missed_answers_ = 0;
    beats_on_report_ = false;
    arm_heartbeat(ttl_);
    return;
  }
  if (missed_answers_++ == 0)
    log::warn("client", "missed heartbeats: the servers had given the node up");
  const bool has_nothing = allocs_.empty() && missed_answers_ == 1;
  arm_heartbeat(has_nothing ? Nanoseconds{0}
                            : growing(options_.dev ? 50ms : 1s, ttl_, missed_answers_));
  report_all();
}

void ClientState::heartbeat_failed(const Error& err) {
  ++heartbeat_failures_;
  if (err.code == Errc::not_found) {
    log::info("client", "the servers do not know this node; registering again");
    register_node();
    return;
  }
  log::warn("client", "heartbeat failed: {}", err.what);
  std::optional<Nanoseconds> left;
  if (lease_from_) left = *lease_from_ + ttl_ - now();
  arm_heartbeat(options_.dev ? Nanoseconds{1s} : workload::heartbeat_retry(left, random_));
}

// -- after having been away ----------------------------------------------------------------------

/// Tells the servers of every allocation, so that they use the node again. Those that end here
/// without ever having run, because the servers took them for lost, have no runner to tell it.
void ClientState::report_all() {
  beats_on_report_ = true;
  for (const auto& [id, alloc] : allocs_) {
    if (alloc.runner) {
      self_->send(alloc.runner, alloc_runner::ReportAgain{});
    } else if (alloc.status == schema::ClientStatus::LOST) {
      workload::AllocReport report{.alloc_id = id,
                                   .node_id = identity_.id,
                                   .status = alloc.status,
                                   .description = view(alloc.alloc->getClientDescription()),
                                   .tasks = {},
                                   .health = {},
                                   .assigned = *alloc.alloc};
      self_->send(sync_,
                  sync::StateChanged{id, ++rest_version_,
                                     workload::make_update(report, options_.unix_now()), true});
    }
  }
}

/// The servers have heard of the allocations: the next heartbeat makes the node ready.
void ClientState::reported() {
  if (!std::exchange(beats_on_report_, false)) return;
  arm_heartbeat(0s);
}

// -- without servers -----------------------------------------------------------------------------

void ClientState::watch_patience(const std::string& alloc_id) {
  const auto& alloc = allocs_.at(alloc_id);
  const auto group = workload::find_group(*alloc.job, view(alloc.alloc->getTaskGroup()));
  heartbeat_stop_.forget(alloc_id);
  if (!group || !group->getStopAfterClientDisconnect().isValue()) return;
  const Nanoseconds patience{group->getStopAfterClientDisconnect().getValue()};
  if (patience <= 0s || workload::is_client_terminal(alloc.status)) return;
  const bool tightens = !heartbeat_stop_.shortest() || patience < *heartbeat_stop_.shortest();
  heartbeat_stop_.watch(alloc_id, patience);
  if (!tightens) return;
  arm_stop_look();
  if (lease_from_ && heartbeat_failures_ == 0) arm_heartbeat(*lease_from_ + ttl_ - now());
}

void ClientState::arm_stop_look() {
  if (const auto pause = heartbeat_stop_.next_look(now()))
    actor::send_self_after(self_, *pause, StopLook{++stop_look_round_});
}

void ClientState::stop_look(std::uint64_t round) {
  if (round != stop_look_round_ || stopping_) return;
  for (const auto& alloc_id : heartbeat_stop_.expire(now())) {
    const auto found = allocs_.find(alloc_id);
    if (found == allocs_.end() || !found->second.runner || found->second.destroying) continue;
    log::warn("client", "stopping allocation {}: without servers for longer than its group allows",
              short_id(alloc_id));
    destroy(alloc_id);
  }
  arm_stop_look();
}

// -- watching ------------------------------------------------------------------------------------

void ClientState::watch() {
  if (stopping_) return;
  watching_ = true;
  if (std::exchange(ask_for_all_, false)) min_index_ = 0;
  self_
      ->request(parts_.servers, watch_wait + server_timeout,
                server_link::WatchAllocs{identity_.id, min_index_, watch_wait})
      .then([this](server_link::AllocSet& set) { apply(std::move(set)); },
            [this](const Error& err) { watch_failed(err); });
}

void ClientState::watch_failed(const Error& err) {
  ++watch_failures_;
  const auto pause = growing(options_.dev ? 50ms : 1s, 30s, watch_failures_);
  log::warn("client", "asking for allocations failed: {}", err.what);
  actor::send_self_after(self_, workload::with_jitter(pause, random_), WatchDue{});
}

}  // namespace nomad::client::detail
