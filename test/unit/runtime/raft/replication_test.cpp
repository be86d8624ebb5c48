// runtime/raft/replication: what a leader sends, when, and what it makes of the answers; what a
// follower takes, refuses and answers.
#include <doctest/doctest.h>

#include "test/unit/runtime/raft/core_harness.hpp"

using namespace nomad;
using namespace nomad::raft;
using namespace nomad::raft::testing;
using namespace std::chrono_literals;

namespace {

/// Leads with the barrier (entry 2) committed; "b" is followed at full pace, "c" has not answered.
LoneCore leader_with(CoreOptions options = {.self = "a"},
                     std::size_t cache_bytes = std::size_t{1} << 20) {
  auto core = LoneCore::leading(started_with(cluster_of(three_voters), {}, cache_bytes),
                                std::move(options));
  core.persist();
  core.accept("b", 2);
  REQUIRE(core.core.commit_index() == 2);
  REQUIRE(core.core.progress("b")->state == PeerState::replicate);
  return core;
}

std::vector<Entry> commands(Index first, const std::vector<Term>& terms) {
  std::vector<Entry> made;
  for (const auto term : terms)
    made.push_back({first + made.size(), term, EntryKind::command, Bytes::copy("x")});
  return made;
}

/// Follows "b" in `term`, with a log of the members and then these terms, all of it durable.
LoneCore following(Term term, const std::vector<Term>& terms = {}) {
  LoneCore core{started_with(cluster_of(three_voters), terms)};
  core.receive("b", term, Heartbeat{});
  core.persist();
  return core;
}

const Outputs& append(
    LoneCore& core, Index prev, Term of, std::vector<Entry> entries, Index commit = 0) {
  return core.receive("b", AppendRequest{.prev_index = prev,
                                         .prev_term = of,
                                         .entries = std::move(entries),
                                         .commit_index = commit});
}

}  // namespace

TEST_CASE("replication: behind two open requests a few entries wait until they are worth one") {
  auto core = leader_with();
  core.propose();
  CHECK(core.sent<AppendRequest>("b").size() == 1);
  core.propose();
  CHECK(core.sent<AppendRequest>("b").size() == 1);
  core.propose(63);
  CHECK(core.sent<AppendRequest>("b").empty());
  core.propose();
  REQUIRE(core.sent<AppendRequest>("b").size() == 1);
  CHECK(core.sent<AppendRequest>("b")[0].entries.size() == 64);
}

TEST_CASE("replication: no more requests are open than the window has") {
  auto core = leader_with({.self = "a", .max_inflight_requests = 1});
  core.propose();
  CHECK(core.sent<AppendRequest>("b").size() == 1);
  core.propose(100);
  CHECK(core.sent<AppendRequest>("b").empty());
  core.accept("b", 3);
  CHECK(core.sent<AppendRequest>("b").size() == 1);
}

TEST_CASE("replication: no more bytes are open than the window has") {
  const auto each = cost({3, 2, EntryKind::command, Bytes::copy("new")});
  auto core = leader_with({.self = "a", .max_inflight_bytes = each});
  core.propose();
  CHECK(core.core.progress("b")->inflight_bytes == each);
  core.propose();
  CHECK(core.sent<AppendRequest>("b").empty());
  core.accept("b", 3);
  CHECK(core.sent<AppendRequest>("b").size() == 1);
}

TEST_CASE("replication: a stalled beat asks with nothing, which takes no room in the window") {
  auto core = leader_with();
  core.propose();
  core.propose();
  REQUIRE(core.core.progress("b")->inflight.size() == 2);
  core.receive("b", HeartbeatReply{.round = 1});  // it came forward since the last beat
  core.receive("b", HeartbeatReply{.round = 1});
  REQUIRE(core.sent<AppendRequest>("b").size() == 1);
  CHECK(core.sent<AppendRequest>("b")[0].entries.empty());
  CHECK(core.core.progress("b")->inflight.size() == 1);
}

TEST_CASE("replication: what went to an unreachable server goes again from where it matched") {
  auto core = leader_with();
  core.propose();
  core.step(Unreachable{"b"});
  CHECK(core.core.progress("b")->state == PeerState::probe);
  CHECK(core.core.progress("b")->next_index == 3);
  core.step(Unreachable{"x"});
  CHECK(core.out.messages.empty());
}

TEST_CASE("replication: answers of who is no member are dropped") {
  auto core = leader_with();
  core.accept("x", 2);
  CHECK(core.out.messages.empty());
  core.receive("x", HeartbeatReply{.round = 1});
  CHECK(core.out.messages.empty());
  core.receive("x", SnapshotReply{.index = 1, .term = 1});
  CHECK(core.out.messages.empty());
}

TEST_CASE("replication: a refusal sets the next request back to where the logs may meet") {
  auto core = LoneCore::leading(started_with(cluster_of(three_voters), {1, 1, 1}));  // barrier at 5
  const auto refuse = [&core](Index prev, Index hint) {
    core.receive("b", AppendReply{.accepted = false,
                                  .prev_index = prev,
                                  .hint_index = hint,
                                  .hint_term = hint == 0 ? Term{0} : Term{1},
                                  .round = 1});
    const auto sent = core.sent<AppendRequest>("b");
    return sent.empty() ? std::optional<Index>{} : sent[0].prev_index;
  };
  CHECK(refuse(3, 2) == std::nullopt);  // of another probe
  CHECK(refuse(4, 2) == 2);
  CHECK(refuse(2, 0) == 0);
}

TEST_CASE("replication: a refusal goes nowhere below what is known to match") {
  auto core = leader_with();
  core.propose(2);
  core.accept("b", 3);
  core.step(Unreachable{"b"});
  const auto refuse = [&core](Index prev) {
    core.receive("b", AppendReply{.accepted = false, .prev_index = prev, .round = 1});
    return core.core.progress("b")->next_index;
  };
  CHECK(refuse(3) == 4);  // an old one: it has matched there since
  CHECK(core.out.messages.empty());
  core.propose(2);
  core.accept("b", 4);
  core.propose();
  CHECK(refuse(6) == 5);
}

TEST_CASE("replication: what is committed is told to the others soon, and only news hastens it") {
  auto core = leader_with();
  CHECK(core.core.next_deadline() == core.now + 20ms);
  core.tick_at(core.now + 20ms);
  CHECK(core.core.next_deadline() == core.now + 100ms);
  core.accept("c", 2);
  CHECK(core.core.next_deadline() == core.now + 100ms);
}

TEST_CASE("replication: what left the memory is fetched from the disk, once at a time") {
  auto core = leader_with({.self = "a"}, 1);
  core.step(AppliedUpTo{2});
  core.propose();
  core.persist();
  core.accept("b", 3);
  core.step(AppliedUpTo{3});
  core.propose();
  REQUIRE(core.core.log().cached_from() == 4);

  const auto ask = [&core] {  // "c" has but the members
    core.receive("c", AppendReply{.accepted = false,
                                  .prev_index = core.core.progress("c")->next_index - 1,
                                  .hint_index = 1,
                                  .hint_term = 1,
                                  .round = 1});
    return core.out.log_fetches.size();
  };
  core.accept("c", 1);
  REQUIRE(core.out.log_fetches.size() == 1);
  CHECK(core.out.log_fetches[0].first == 2);
  CHECK(core.out.log_fetches[0].last == 3);
  core.propose();
  CHECK(core.out.log_fetches.empty());

  const std::vector<Entry> stored{{2, 2, EntryKind::barrier, {}},
                                  {3, 2, EntryKind::command, Bytes::copy("new")}};
  SUBCASE("the entries go out, and those in memory behind them") {
    core.step(LogFetched{.peer = "c", .first = 2, .entries = stored});
    const auto sent = core.sent<AppendRequest>("c");
    REQUIRE(sent.size() == 2);
    CHECK(sent[0].prev_index == 1);
    CHECK(sent[0].entries == stored);
    CHECK(sent[1].prev_index == 3);
  }
  SUBCASE("nothing that has another term now is sent") {
    auto changed = stored;
    changed[1].term = 1;
    core.step(LogFetched{.peer = "c", .first = 2, .entries = changed});
    CHECK(core.out.messages.empty());
  }
  SUBCASE("nothing is sent when the log had nothing, until the peer is heard again") {
    core.step(LogFetched{.peer = "c", .first = 2, .entries = {}});
    CHECK(core.out.messages.empty());
    CHECK(core.out.log_fetches.empty());
    core.receive("c", HeartbeatReply{.round = 1});
    CHECK(core.out.log_fetches.size() == 1);
  }
  SUBCASE("what nobody asked for is dropped, and what is not wanted any more") {
    core.step(LogFetched{.peer = "b", .first = 5, .entries = stored});
    CHECK(core.out.messages.empty());
    core.step(LogFetched{.peer = "x", .first = 2, .entries = stored});
    CHECK(core.out.messages.empty());
    core.accept("c", 2);
    core.step(LogFetched{.peer = "c", .first = 2, .entries = stored});
    CHECK(core.sent<AppendRequest>("c").empty());
  }
  SUBCASE("a log that was cut meanwhile leads to a snapshot") {
    core.step(
        SnapshotSaved{.meta = core.core.snapshot_meta(3), .bytes = 10, .truncate_through = 2});
    REQUIRE(core.core.log().base_index() == 2);
    core.step(LogFetched{.peer = "c", .first = 2, .entries = stored});
    CHECK(core.sent<AppendRequest>("c").empty());
    CHECK(core.out.chunk_fetches.size() == 1);
    CHECK(core.core.progress("c")->state == PeerState::snapshot);
    CHECK(ask() == 0);
  }
}

TEST_CASE("following: what came already is confirmed at once, and written no second time") {
  auto core = following(2);
  append(core, 1, 1, commands(2, {2, 2}));
  CHECK(core.out.messages.empty());
  core.persist();
  CHECK(core.sent<AppendReply>("b").at(0).match_index == 3);

  append(core, 1, 1, commands(2, {2, 2}));
  CHECK_FALSE(core.out.write.has_value());
  CHECK(core.sent<AppendReply>("b").at(0).match_index == 3);
}

TEST_CASE("following: a request from below what is committed is answered with that") {
  auto core = following(2);
  append(core, 1, 1, commands(2, {2, 2}), 3);
  core.persist();
  REQUIRE(core.core.commit_index() == 3);
  append(core, 1, 1, commands(2, {2}), 3);
  const auto reply = core.sent<AppendReply>("b").at(0);
  CHECK(reply.accepted);
  CHECK(reply.match_index == 3);
}

TEST_CASE("following: an entry before that is another is refused, with where both may meet") {
  auto core = following(4, {1, 2, 3});  // 2@1 3@2 4@3
  append(core, 4, 2, {});
  const auto reply = core.sent<AppendReply>("b").at(0);
  CHECK_FALSE(reply.accepted);
  CHECK(reply.hint_index == 3);
  CHECK(reply.hint_term == 2);
}

TEST_CASE("following: what the leader has otherwise goes, and with it that it was durable") {
  auto core = following(4, {1, 2, 2});  // 2@1 3@2 4@2
  CHECK(core.core.durable_index() == 4);
  append(core, 2, 1, commands(3, {4}));
  CHECK(core.out.write->truncate_from == 3);
  CHECK(core.core.log().last_index() == 3);
  CHECK(core.core.durable_index() == 2);
  core.persist();
  CHECK(core.core.durable_index() == 3);
}

TEST_CASE("following: an older write makes nothing durable that has been replaced since") {
  auto core = following(2);
  append(core, 1, 1, commands(2, {2, 2, 2}));
  const auto first = core.written;
  core.receive("c", 3, AppendRequest{.prev_index = 2, .prev_term = 2, .entries = commands(3, {3})});
  core.step(Persisted{first});
  CHECK(core.core.durable_index() == 2);
}
