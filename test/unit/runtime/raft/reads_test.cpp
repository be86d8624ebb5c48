// Rounds, reads and the lease: three cores, whose messages a test delivers when it wants.
#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include "runtime/raft/core.hpp"

using namespace nomad;
using namespace nomad::raft;
using namespace std::chrono_literals;

namespace {

constexpr Time lease = 900ms;  // an election timeout less a tenth

struct Trio {
  std::map<std::string, Core> cores;
  Time now{0};
  std::deque<Message> under_way;
  std::set<std::string> away;
  std::vector<std::uint64_t> granted;
  std::vector<std::uint64_t> refused;
  std::vector<std::string> notices;

  /// "a" has asked for nothing but votes, and leads.
  Trio() {
    Configuration three{.cluster_id = "c", .members = {}, .removed = {}};
    for (const auto* id : {"a", "b", "c"})
      three.members.push_back({.id = id, .address = {}, .voter = true});
    for (const auto* id : {"a", "b", "c"}) {
      StartState start;
      start.hard_state = {.current_term = 1, .voted_for = {}};
      start.log.append(
          {.index = 1, .term = 1, .kind = EntryKind::configuration, .payload = encode(three)});
      start.configs.append(1, three);
      cores.try_emplace(id, CoreOptions{.self = id}, std::move(start), Random{1}, Time{0});
    }
    now = a().next_deadline().value();
    step("a", Tick{});
    while (a().role() != Role::leader)
      deliver_one();
  }

  Core& a() { return cores.at("a"); }

  void step(const std::string& id, Input input) {
    auto out = cores.at(id).step(now, std::move(input));
    for (const auto& read : out.reads)
      granted.push_back(read.id);
    for (const auto read : out.refused_reads)
      refused.push_back(read);
    for (auto& notice : out.notices)
      notices.push_back(std::move(notice));
    for (auto& message : out.messages)
      if (!away.contains(message.from) && !away.contains(message.to))
        under_way.push_back(std::move(message));
    if (out.write) step(id, Persisted{out.write_seq});
  }

  void deliver_one() {
    REQUIRE_FALSE(under_way.empty());
    auto message = std::move(under_way.front());
    under_way.pop_front();
    const auto to = message.to;
    step(to, Received{std::move(message)});
  }

  void deliver() {
    while (!under_way.empty())
      deliver_one();
  }

  /// So much later "a" looks at its clock.
  void pass(Time duration) {
    now += duration;
    step("a", Tick{});
  }

  /// What "a" sends to "b" and nobody has seen yet.
  template <class Body>
  std::vector<Body> sent() const {
    std::vector<Body> bodies;
    for (const auto& message : under_way)
      if (message.from == "a" && message.to == "b")
        if (const auto* body = std::get_if<Body>(&message.body)) bodies.push_back(*body);
    return bodies;
  }

  void from_b(Body body) {
    step("a", Received{{.cluster_id = "c",
                        .from = "b",
                        .to = "a",
                        .term = a().current_term(),
                        .body = std::move(body)}});
  }
};

}  // namespace

TEST_CASE(
    "lease: begins with the round that a quorum has answered, once the barrier is committed") {
  Trio trio;
  CHECK(trio.a().lease_until() == Time{0});
  const auto began = trio.now;
  trio.now += 5ms;
  trio.deliver();
  CHECK(trio.a().commit_index() == 2);
  CHECK(trio.a().lease_until() == began + lease);
  CHECK(trio.cores.at("b").lease_until() == Time{0});

  trio.pass(100ms);
  const auto next = trio.now;
  CHECK(trio.a().lease_until() == began + lease);
  trio.now += 5ms;
  trio.deliver();
  CHECK(trio.a().lease_until() == next + lease);
}

TEST_CASE("lease: of several rounds under way the newest that is answered counts") {
  Trio trio;
  trio.deliver();
  trio.away = {"c"};
  trio.pass(100ms);
  const auto first = trio.now;
  const auto round = trio.sent<Heartbeat>().at(0).round;
  trio.pass(100ms);
  const auto second = trio.now;
  trio.pass(100ms);
  trio.under_way.clear();

  trio.from_b(HeartbeatReply{.round = round});
  CHECK(trio.a().lease_until() == first + lease);
  trio.from_b(HeartbeatReply{.round = round + 1});
  CHECK(trio.a().lease_until() == second + lease);
  trio.from_b(HeartbeatReply{.round = round});  // old news
  CHECK(trio.a().lease_until() == second + lease);
  trio.from_b(HeartbeatReply{.round = round + 3});  // nobody has asked that
  CHECK(trio.a().lease_until() == second + lease);
}

TEST_CASE("lease: ends for good when another one is told to take over") {
  Trio trio;
  trio.deliver();
  CHECK(trio.a().lease_until() > trio.now);
  trio.away = {"b"};
  trio.step("a", TransferTo{"b"});
  CHECK(trio.a().lease_until() == Time{0});
}

TEST_CASE("a leader steps down when it looks, beyond an election timeout without an answer") {
  Trio trio;
  trio.step("a", RequestRead{1});
  trio.deliver();
  const auto last = trio.a().lease_until() - lease;
  trio.away = {"b", "c"};
  trio.step("a", RequestRead{2});
  while (trio.now < last + 1s)
    trio.pass(std::min<Time>(100ms, last + 1s - trio.now));
  CHECK(trio.a().role() == Role::leader);
  CHECK(trio.refused.empty());
  trio.pass(100ms);  // it looks with each heartbeat
  CHECK(trio.a().role() == Role::follower);
  CHECK(trio.refused == std::vector<std::uint64_t>{2});
  CHECK(trio.notices.back() == "stepping down: no quorum has answered in time");
}

TEST_CASE("reads: those that come before the barrier is committed wait for it") {
  Trio trio;
  trio.step("a", RequestRead{1});
  CHECK(trio.granted.empty());
  CHECK(trio.refused.empty());
  trio.deliver();
  CHECK(trio.granted == std::vector<std::uint64_t>{1});
}

TEST_CASE("reads: a leader that is none any more refuses those that wait, early ones too") {
  for (const bool early : {true, false}) {
    Trio trio;
    if (!early) trio.deliver();
    trio.away = {"b", "c"};
    trio.step("a", RequestRead{1});
    trio.step("a", Received{{.cluster_id = "c",
                             .from = "b",
                             .to = "a",
                             .term = trio.a().current_term() + 1,
                             .body = Heartbeat{}}});
    CHECK(trio.a().role() == Role::follower);
    CHECK(trio.refused == std::vector<std::uint64_t>{1});
    trio.step("a", RequestRead{2});
    CHECK(trio.refused == std::vector<std::uint64_t>{1, 2});
  }
}

TEST_CASE("reads: one round at a time, and only a round that began after the read grants it") {
  Trio trio;
  trio.deliver();
  trio.step("a", RequestRead{1});
  const auto asked = trio.sent<Heartbeat>();
  REQUIRE(asked.size() == 1);
  trio.step("a", RequestRead{2});
  CHECK(trio.sent<Heartbeat>().size() == 1);
  trio.under_way.clear();

  trio.from_b(HeartbeatReply{.round = asked[0].round});
  CHECK(trio.granted == std::vector<std::uint64_t>{1});
  const auto again = trio.sent<Heartbeat>();
  REQUIRE(again.size() == 1);
  CHECK(again[0].round == asked[0].round + 1);
  trio.under_way.clear();

  trio.from_b(HeartbeatReply{.round = again[0].round});
  CHECK(trio.granted == std::vector<std::uint64_t>{1, 2});
  CHECK(trio.under_way.empty());  // nobody waits, so no round begins
}

TEST_CASE("heartbeats: say no more than what the receiver is known to have") {
  Trio trio;
  trio.deliver();
  trio.away = {"b"};
  trio.step("a", ProposeCommands{{Bytes::copy("x"), Bytes::copy("y")}});
  trio.deliver();
  REQUIRE(trio.a().commit_index() == 4);
  trio.away.clear();
  trio.pass(100ms);
  const auto beat = trio.sent<Heartbeat>();
  REQUIRE(beat.size() == 1);
  CHECK(beat[0].commit_index == 2);
  for (const auto& message : trio.under_way)
    if (message.to == "c") CHECK(std::get<Heartbeat>(message.body).commit_index == 4);
}

TEST_CASE("heartbeats: a follower takes for committed what it has of that") {
  Trio trio;
  trio.deliver();
  auto& b = trio.cores.at("b");
  trio.step("b", Received{{.cluster_id = "c",
                           .from = "a",
                           .to = "b",
                           .term = b.current_term(),
                           .body = Heartbeat{.commit_index = 9, .round = 7}}});
  CHECK(b.commit_index() == b.log().last_index());
  const auto& reply = trio.under_way.back();
  CHECK(reply.to == "a");
  CHECK(std::get<HeartbeatReply>(reply.body).round == 7);
}

TEST_CASE("heartbeats: what was lost goes again when its receiver has not come forward") {
  Trio trio;
  trio.deliver();
  trio.pass(100ms);
  trio.deliver();  // the stall is judged against this beat
  trio.away = {"b"};
  trio.step("a", ProposeCommands{{Bytes::copy("x")}});
  trio.deliver();
  trio.away.clear();
  CHECK(trio.cores.at("b").log().last_index() == 2);
  for (int beats = 0; beats < 3 && trio.cores.at("b").log().last_index() < 3; ++beats) {
    trio.pass(100ms);
    trio.deliver();
  }
  CHECK(trio.cores.at("b").log().last_index() == 3);
  trio.pass(100ms);
  trio.deliver();
  CHECK(trio.cores.at("b").commit_index() == 3);
}

TEST_CASE("reads: a round that is answered grants nothing before the barrier is committed") {
  Trio trio;
  trio.under_way.clear();
  trio.step("a", RequestRead{1});
  trio.pass(100ms);
  trio.from_b(HeartbeatReply{.round = 2});
  CHECK(trio.granted.empty());
  trio.from_b(AppendReply{.accepted = true, .match_index = 2, .round = 2});
  trio.deliver();
  CHECK(trio.granted == std::vector<std::uint64_t>{1});
}

TEST_CASE("reads: an older round's answer starts no other while theirs is under way") {
  Trio trio;
  trio.deliver();
  trio.pass(100ms);  // a round that nobody has answered
  trio.under_way.clear();
  trio.step("a", RequestRead{1});
  const auto sent = trio.sent<Heartbeat>();
  REQUIRE(sent.size() == 1);
  trio.under_way.clear();
  trio.from_b(HeartbeatReply{.round = sent[0].round - 1});
  CHECK(trio.granted.empty());
  CHECK(trio.sent<Heartbeat>().empty());
}

TEST_CASE("lease: there is none while no round was answered") {
  Trio trio;
  trio.under_way.clear();
  trio.from_b(AppendReply{.accepted = true, .match_index = 2, .round = 0});
  REQUIRE(trio.a().commit_index() == 2);
  CHECK(trio.a().lease_until() == Time{0});
}
