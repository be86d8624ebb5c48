#include "actors/client/server_contact.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/log.hpp"
#include "runtime/workload/heartbeat.hpp"

namespace nomad::client {
namespace {

using namespace std::chrono_literals;

constexpr auto server_timeout = 30s;
constexpr auto heartbeat_timeout = 10s;
constexpr auto watch_wait = 5min;
constexpr auto first_register_retry = 5ms;
/// Also how often it is told that nothing comes of it.
constexpr Nanoseconds longest_register_retry = 15s;

/// An answer without news this early means that the servers do not hold the question.
constexpr auto too_early = 1s;

/// How many heartbeats fit into the time that the least patient allocation may be without servers.
constexpr int beats_in_patience = 3;

std::chrono::milliseconds ttl_of(schema::door::Lease::Reader lease) {
  return std::chrono::milliseconds{lease.getTtlMs()};
}

Result<workload::AssignedAllocs> read_assigned(const door::Reply& answer) {
  const auto positions = answer->getAllocs().getJobs();
  const auto rows = std::span{answer.rows};
  if (positions.size() > rows.size())
    return Error{Errc::corrupt, "an answer of the servers lacks allocations"};
  const auto allocs = NOMAD_TRY(door::objects_of<schema::Allocation>(rows.first(positions.size())));
  const auto jobs = NOMAD_TRY(door::objects_of<schema::Job>(rows.subspan(positions.size())));
  workload::AssignedAllocs set{answer->getIndex(), answer->getAllocs().getComplete(), {}};
  set.allocs.reserve(allocs.size());
  for (unsigned i = 0; i < positions.size(); ++i) {
    if (positions[i] >= jobs.size())
      return Error{Errc::corrupt, "an allocation names a job that the answer does not have"};
    set.allocs.push_back({allocs[i], jobs[positions[i]]});
  }
  return set;
}

/// Doubles from `first` with each failure, up to `most`.
Nanoseconds growing(Nanoseconds first, Nanoseconds most, unsigned failures) {
  auto pause = first;
  for (unsigned i = 1; i < failures && pause < most; ++i)
    pause *= 2;
  return std::min(pause, most);
}

}  // namespace

client_api::LocalNode ServerContact::local_node() const {
  return {.node = parts_.node, .last_heartbeat = last_heartbeat_, .heartbeat_ttl = ttl_};
}

client_api::AllocCounts ServerContact::counts() const {
  auto counts = parts_.allocs.counts();
  counts.contacted = contacted_;
  return counts;
}

// -- registration --------------------------------------------------------------------------------

void ServerContact::register_node() {
  if (parts_.stopping) return;
  // What is under way has the node as it was.
  if (std::exchange(registering_, true)) {
    registers_again_ = true;
    return;
  }
  registers_soon_ = false;
  self_
      ->request(
          parts_.servers, server_timeout,
          door::make_ask(parts_.identity.id, [](auto& ask) { ask.setRegister(); }, {parts_.node}))
      .then([this](const door::Reply& answer) { registered(answer); },
            [this](const Error& err) { register_failed(err); });
}

void ServerContact::registered(const door::Reply& answer) {
  registering_ = false;
  register_failures_ = 0;
  heard_of_servers(ttl_of(answer->getLease()));
  if (!is_registered_)
    log::info("client", "the node is registered", {{"node", parts_.identity.id}});
  is_registered_ = true;
  // Registering alone makes no node ready: a heartbeat follows, at once unless they fail.
  arm_heartbeat(heartbeat_failures_ > 1 ? workload::with_jitter(1s, parts_.random) : 0s);
  if (!watching_) watch();
  if (std::exchange(registers_again_, false)) register_node();
}

void ServerContact::register_failed(const Error& err) {
  registering_ = false;
  registers_again_ = false;  // The next try has the node as it is then.
  ++register_failures_;
  const bool no_servers
      = err.code == Errc::unavailable || err.code == Errc::no_leader || err.code == Errc::timeout;
  // A server without room on its disk takes the node as soon as it has some; one that has too much
  // to do is not to be asked by all nodes each second.
  const auto longest
      = parts_.dev || no_servers || err.code == Errc::io ? Nanoseconds{1s} : longest_register_retry;
  auto pause = longest;
  if (no_servers) pause = growing(first_register_retry, longest, register_failures_);
  if (err.code == Errc::overloaded) pause = growing(1s, longest, register_failures_);
  if (register_failures_ == 1 || now() - told_of_registering_ >= longest_register_retry) {
    told_of_registering_ = now();
    log::warn("client", "registration failed", {{"error", err}});
  }
  actor::send_self_after(self_, workload::with_jitter(pause, parts_.random),
                         RegisterDue{++register_round_});
}

void ServerContact::register_due(std::uint64_t round) {
  if (round == register_round_) register_node();
}

void ServerContact::register_soon() {
  if (std::exchange(registers_soon_, true)) return;
  const Nanoseconds pause = parts_.dev ? 100ms : 5s;
  actor::send_self_after(self_, workload::with_jitter(pause, parts_.random),
                         RegisterDue{++register_round_});
}

// -- heartbeats ----------------------------------------------------------------------------------

void ServerContact::heard_of_servers(std::chrono::milliseconds ttl) {
  ttl_ = ttl;
  lease_from_ = now();
  last_heartbeat_ = parts_.unix_now();
  parts_.allocs.heard_of_servers();
}

void ServerContact::arm_heartbeat(Nanoseconds delay) {
  if (const auto patience = parts_.allocs.shortest_patience())
    delay = std::min(delay, *patience / beats_in_patience);
  actor::send_self_after(self_, delay, HeartbeatDue{++heartbeat_round_});
}

void ServerContact::heartbeat_due(std::uint64_t round) {
  if (round != heartbeat_round_ || parts_.stopping) return;
  self_
      ->request(parts_.servers, heartbeat_timeout,
                door::make_ask(parts_.identity.id, [](auto& ask) { ask.setHeartbeat(); }),
                actor::Priority::urgent)
      .then([this](const door::Reply& answer) { heartbeat_answered(answer->getLease()); },
            [this](const Error& err) { heartbeat_failed(err); });
}

void ServerContact::heartbeat_answered(schema::door::Lease::Reader lease) {
  const bool was_away = heartbeat_failures_ > 0 || lease.getAwaitsReports();
  heartbeat_failures_ = 0;
  heard_of_servers(ttl_of(lease));
  if (was_away) self_->send(parts_.sync, sync::SendNow{});
  if (!lease.getAwaitsReports()) {
    waiting_answers_ = 0;
    beats_on_report_ = false;
    arm_heartbeat(ttl_);
    return;
  }
  if (waiting_answers_++ == 0)
    log::warn("client", "the servers wait for a report of all allocations of this node");
  const bool has_nothing = parts_.allocs.empty() && waiting_answers_ == 1;
  arm_heartbeat(has_nothing ? Nanoseconds{0}
                            : growing(parts_.dev ? 50ms : 1s, ttl_, waiting_answers_));
  beats_on_report_ = true;
  parts_.allocs.report_all();
}

void ServerContact::heartbeat_failed(const Error& err) {
  ++heartbeat_failures_;
  if (err.code == Errc::not_found) {
    log::info("client", "the servers do not know this node; registering again");
    register_node();
    return;
  }
  log::warn("client", "heartbeat failed", {{"error", err}});
  std::optional<Nanoseconds> left;
  if (lease_from_) left = *lease_from_ + ttl_ - now();
  arm_heartbeat(parts_.dev ? Nanoseconds{1s} : workload::heartbeat_retry(left, parts_.random));
}

void ServerContact::reported(const sync::Reported& msg) {
  parts_.allocs.end_acknowledged(msg.ended);
  if (!std::exchange(beats_on_report_, false)) return;
  arm_heartbeat(0s);
}

// -- watching ------------------------------------------------------------------------------------

void ServerContact::watch() {
  if (parts_.stopping) return;
  watching_ = true;
  if (parts_.allocs.take_wants_all()) min_index_ = 0;
  self_
      ->request(parts_.servers, watch_wait + server_timeout,
                door::make_ask(parts_.identity.id,
                               [this](auto& ask) {
                                 ask.setWatchAllocs(min_index_);
                                 ask.setMaxWaitMs(std::chrono::milliseconds{watch_wait}.count());
                               }))
      .then([this](const door::Reply& answer) { assigned(answer); },
            [this](const Error& err) { watch_failed(err); });
}

void ServerContact::assigned(const door::Reply& answer) {
  auto set = read_assigned(answer);
  if (!set) return watch_failed(set.error());
  watch_failures_ = 0;
  if (parts_.stopping) return;
  if (set->index <= min_index_ && !set->complete) {
    actor::send_self_after(self_, too_early, WatchDue{});
    return;
  }
  const auto index = set->index;
  parts_.allocs.apply(std::move(*set),
                      [this, index](bool impatient) { applied(index, impatient); });
}

/// The servers' answer is in force.
void ServerContact::applied(std::uint64_t index, bool impatient) {
  min_index_ = std::max<std::uint64_t>(index, 1);
  if (impatient && lease_from_ && heartbeat_failures_ == 0)
    arm_heartbeat(*lease_from_ + ttl_ - now());
  if (!std::exchange(contacted_, true)) {
    self_->send(parts_.sync, sync::Open{});
    parts_.allocs.servers_contacted();
  }
  watch();
}

void ServerContact::watch_failed(const Error& err) {
  ++watch_failures_;
  const auto pause = growing(parts_.dev ? 50ms : 1s, 30s, watch_failures_);
  log::warn("client", "asking for allocations failed", {{"error", err}});
  actor::send_self_after(self_, workload::with_jitter(pause, parts_.random), WatchDue{});
}

}  // namespace nomad::client
