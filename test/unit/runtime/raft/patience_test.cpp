// runtime/raft/patience, and the core's use of it: own stalls are not others' silence, late
// heartbeats are waited for longer, and neither without a bound.
#include "runtime/raft/patience.hpp"

#include <doctest/doctest.h>

#include "test/unit/runtime/raft/core_harness.hpp"

using namespace nomad;
using namespace nomad::raft;
using namespace nomad::raft::testing;
using namespace std::chrono_literals;

namespace {

/// Follows "b" in term 2, and has just heard it.
LoneCore following() {
  LoneCore core{started_with(cluster_of(three_voters), {2})};
  core.receive("b", 2, Heartbeat{});
  return core;
}

void tick_late(LoneCore& core, Time at, Time late) {
  core.now = at;
  core.step(Tick{late});
}

bool is_voted_for(LoneCore& core) {
  core.receive("c", 3, VoteRequest{.pre_vote = true, .last_index = 9, .last_term = 2});
  return core.sent<VoteReply>("c").front().granted;
}

/// Ticks in time for `span`, with each round answered by "b" after `wait`.
void lead_for(LoneCore& core, Time span, Time wait) {
  const auto end = core.now + span;
  while (core.now < end) {
    core.tick_at(std::max(core.now, core.core.next_deadline().value()));
    const auto beats = core.sent<Heartbeat>("b");
    if (beats.empty()) return;
    core.now += wait;
    core.receive("b", HeartbeatReply{.round = beats.front().round});
  }
}

}  // namespace

TEST_CASE("patience: three times the longest wait of the last half minute, within bounds") {
  Patience patience{300ms};
  CHECK(patience.at(0s) == 300ms);
  patience.waited(1s, 100ms);
  CHECK(patience.at(1s) == 300ms);
  patience.waited(2s, 200ms);
  patience.waited(3s, 10ms);
  CHECK(patience.at(3s) == 600ms);
  CHECK(patience.at(29s) == 600ms);
  patience.waited(4s, 1h);
  CHECK(patience.at(4s) == patience.bound());
  CHECK(patience.bound() == 1'800ms);
  CHECK(patience.at(61s) == 300ms);
}

TEST_CASE(
    "patience: a wait counts for half a minute at least, and is forgotten after a whole one") {
  Random random{7};
  for (int run = 0; run < 1'000; ++run) {
    Patience patience{300ms};
    std::vector<std::pair<Time, Time>> waits;
    Time now{0};
    for (int step = 0; step < 50; ++step) {
      now += Time{static_cast<std::int64_t>(random.below(Time{20s}.count()))};
      if (random.chance(0.3)) {
        waits.emplace_back(now, Time{static_cast<std::int64_t>(random.below(Time{500ms}.count()))});
        patience.waited(now, waits.back().second);
      }
      Time must{0};
      Time may{0};
      for (const auto& wait : waits) {
        if (now - wait.first < Patience::memory) must = std::max(must, wait.second);
        if (now - wait.first < 2 * Patience::memory) may = std::max(may, wait.second);
      }
      CHECK(patience.at(now) >= std::clamp(3 * must, 300ms + 0ns, patience.bound()));
      CHECK(patience.at(now) <= std::clamp(3 * may, 300ms + 0ns, patience.bound()));
    }
  }
}

TEST_CASE("stalls: who did not run himself puts off his election by as much") {
  auto core = following();
  const auto due = core.core.next_deadline().value();
  tick_late(core, due + 700ms, 700ms);
  CHECK(core.core.role() == Role::follower);
  CHECK(core.core.next_deadline() == due + 1'400ms);
  CHECK(core.core.stalls() == 1);
  CHECK(core.core.stalled() == 700ms);

  core.receive("b", Heartbeat{});  // it had waited all the time
  CHECK(core.core.next_deadline().value() >= core.now + core.core.patience());
}

TEST_CASE("stalls: a timer that is a little late is none") {
  auto core = following();
  const auto late = CoreOptions{}.heartbeat_interval / 2;
  tick_late(core, core.core.next_deadline().value() + late, late);
  CHECK(core.core.stalls() == 0);
  CHECK(core.core.role() == Role::pre_candidate);
}

TEST_CASE("stalls: an election is put off within a bound, however long and often it stalls") {
  for (const Time late : {Time{60ms}, Time{500ms}, Time{10s}}) {
    auto core = following();
    const auto began = core.now;
    Time ran{0};
    while (core.core.role() == Role::follower) {
      REQUIRE(ran < 10s);
      ran += 100ms;
      tick_late(core, core.now + 100ms + late, late);
    }
    CHECK(core.now - began > 1s);
    CHECK(core.now - began < 7s + 2 * late);
  }
}

TEST_CASE("stalls: a vote, too, is refused for so much longer") {
  auto core = following();
  tick_late(core, 900ms, 800ms);
  core.now = 1'700ms;
  CHECK_FALSE(is_voted_for(core));
  auto other = following();
  other.now = 1'700ms;
  CHECK(is_voted_for(other));
}

TEST_CASE("stalls: a leader that did not run itself does not step down for want of answers") {
  const auto role_after = [](Time late) {
    auto core = LoneCore::leading(started_with(cluster_of(three_voters)));
    lead_for(core, 1s, 1ms);
    tick_late(core, core.now + 3s, late);
    return core.core.role();
  };
  CHECK(role_after(2'900ms) == Role::leader);
  CHECK(role_after(0s) == Role::follower);
}

TEST_CASE("stalls: the lease takes no account of them") {
  auto core = LoneCore::leading(started_with(cluster_of(three_voters)));
  core.persist();
  core.accept("b", core.core.log().last_index());
  lead_for(core, 1s, 1ms);
  const auto lease = core.core.lease_until();
  CHECK(lease > core.now);
  tick_late(core, core.now + 3s, 2'900ms);
  CHECK(core.core.lease_until() == lease);
}

TEST_CASE("patience: late heartbeats of a leader that stays are waited for longer") {
  auto core = following();
  CHECK(core.core.patience() == 1s);
  core.now += 900ms;
  core.receive("b", Heartbeat{});
  CHECK(core.core.patience() == 2'400ms);
  CHECK(core.core.next_deadline().value() >= core.now + 2'400ms);
}

TEST_CASE("patience: who was stopped is as quick as before to notice that the leader is gone") {
  auto core = following();
  tick_late(core, core.core.next_look(core.now).value() + 5s, 5s);
  core.receive("b", Heartbeat{});
  CHECK(core.core.patience() == 1s);
}

TEST_CASE("patience: the time without a leader is no wait") {
  auto core = following();
  core.now += 900ms;
  core.receive("c", 3, Heartbeat{});
  CHECK(core.core.patience() == 1s);
}

TEST_CASE("patience: of a leader follows how long its quorum takes to answer") {
  auto core = LoneCore::leading(started_with(cluster_of(three_voters)));
  lead_for(core, 2s, 5ms);
  CHECK(core.core.patience() == 1s);
  lead_for(core, 2s, 600ms);
  CHECK(core.core.role() == Role::leader);
  CHECK(core.core.patience() == 1'800ms);
}
