// runtime/raft/election: who is voted for, whose votes count, and when nobody is asked.
#include <doctest/doctest.h>

#include "test/unit/runtime/raft/core_harness.hpp"

using namespace nomad;
using namespace nomad::raft;
using namespace nomad::raft::testing;
using namespace std::chrono_literals;

namespace {

/// What "a" answers to "c", which asks for a vote in `term` with a log that ends at `last`@`of`.
std::optional<bool> vote_of(LoneCore& core, Term term, Index last, Term of, bool pre_vote = false) {
  core.receive("c", term, VoteRequest{.pre_vote = pre_vote, .last_index = last, .last_term = of});
  auto replies = core.sent<VoteReply>("c");
  if (replies.empty() && core.out.write) {
    core.persist();
    replies = core.sent<VoteReply>("c");
  }
  if (replies.empty()) return std::nullopt;
  CHECK(replies.front().pre_vote == pre_vote);
  return replies.front().granted;
}

LoneCore idle(std::vector<Term> terms = {}) {
  LoneCore core{started_with(cluster_of(three_voters), terms)};
  core.now = 1s;  // since its start nobody has led
  return core;
}

}  // namespace

TEST_CASE("election: a vote goes to a log that is as new, by its last term and then its length") {
  for (const bool pre_vote : {false, true}) {
    CAPTURE(pre_vote);
    const auto asked = [pre_vote](Index last, Term of) {
      auto core = idle({2, 2});  // ends at 3@2
      return vote_of(core, 3, last, of, pre_vote);
    };
    CHECK(asked(3, 2) == true);
    CHECK(asked(2, 2) == false);
    CHECK(asked(2, 3) == true);
    CHECK(asked(9, 1) == false);
  }
}

TEST_CASE("election: who asks for a term that has passed is refused and told the newer one") {
  auto core = idle({5});
  CHECK(vote_of(core, 4, 9, 9) == false);
  CHECK(core.out.messages.at(0).term == 5);
}

TEST_CASE("election: a vote that nobody has yet may be asked for in the term that goes on") {
  auto core = idle({5});
  CHECK(vote_of(core, 5, 9, 9) == true);
}

TEST_CASE("election: a pre-vote is for a term to come") {
  auto core = idle({5});
  CHECK(vote_of(core, 5, 9, 9, true) == false);
  CHECK(vote_of(core, 6, 9, 9, true) == true);
  CHECK(core.core.current_term() == 5);
}

TEST_CASE("election: there is one vote in a term, which the same server may ask for again") {
  auto core = idle();
  core.receive("b", 2, VoteRequest{.last_index = 1, .last_term = 1});
  core.persist();
  CHECK(core.sent<VoteReply>("b").at(0).granted);
  CHECK(vote_of(core, 2, 9, 9) == false);
  core.receive("b", 2, VoteRequest{.last_index = 1, .last_term = 1});
  CHECK(core.sent<VoteReply>("b").at(0).granted);
}

TEST_CASE("election: nobody is voted for within one timeout of a word of the leader") {
  auto core = idle();
  core.receive("b", 2, Heartbeat{});
  core.now += 1s - 1ns;
  CHECK(vote_of(core, 3, 9, 9) == std::nullopt);
  CHECK(vote_of(core, 3, 9, 9, true) == false);
  CHECK(core.core.current_term() == 2);
  core.now += 1ns;
  CHECK(vote_of(core, 3, 9, 9, true) == true);
  CHECK(vote_of(core, 3, 9, 9) == true);
}

TEST_CASE("election: a leader votes for nobody") {
  auto core = LoneCore::leading(started_with(cluster_of(three_voters)));
  core.now += 5s;
  CHECK(vote_of(core, 9, 9, 9) == std::nullopt);
  CHECK(vote_of(core, 9, 9, 9, true) == false);
  CHECK(core.core.role() == Role::leader);
  CHECK(core.core.current_term() == 2);
}

TEST_CASE("election: a candidate refuses another one of its term, and goes on") {
  auto core = idle();
  core.tick_at(core.core.next_deadline().value());
  core.receive("b", 2, VoteReply{.pre_vote = true, .granted = true});
  core.persist();
  REQUIRE(core.core.role() == Role::candidate);
  CHECK(vote_of(core, 2, 9, 9) == false);
  CHECK(core.core.role() == Role::candidate);
}

TEST_CASE("election: granted pre-votes count for who asks, and for the term that was asked for") {
  auto core = idle();
  core.receive("b", 2, VoteReply{.pre_vote = true, .granted = true});
  CHECK(core.core.role() == Role::follower);

  core.tick_at(core.core.next_deadline().value());
  REQUIRE(core.core.role() == Role::pre_candidate);
  core.receive("b", 3, VoteReply{.pre_vote = true, .granted = true});
  CHECK(core.core.role() == Role::pre_candidate);
  core.receive("b", 2, VoteReply{.pre_vote = true, .granted = true});
  CHECK(core.core.role() == Role::candidate);
}

TEST_CASE("election: a candidate's own vote counts once it is durable") {
  auto core = idle();
  core.receive("b", 2, Heartbeat{});
  core.persist();
  core.receive("b", AppendRequest{.prev_index = 1,
                                  .prev_term = 1,
                                  .entries = {{2, 2, EntryKind::command, Bytes::copy("x")}}});
  const auto entry_written = core.written;
  core.tick_at(core.core.next_deadline().value());
  core.receive("c", 3, VoteReply{.pre_vote = true, .granted = true});
  REQUIRE(core.core.role() == Role::candidate);
  CHECK(core.written == entry_written + 1);
  core.receive("c", 3, VoteReply{.pre_vote = false, .granted = true});
  core.step(Persisted{entry_written});
  CHECK(core.core.role() == Role::candidate);
  core.persist();
  CHECK(core.core.role() == Role::leader);
}

TEST_CASE("election: only the leader can hand over") {
  auto core = idle();
  core.receive("b", 2, Heartbeat{});
  core.receive("c", TimeoutNow{});
  CHECK(core.core.role() == Role::follower);
  core.receive("b", TimeoutNow{});
  CHECK(core.core.role() == Role::candidate);
  CHECK(core.core.current_term() == 3);
}

TEST_CASE("election: who asks for votes follows a leader that it hears of") {
  auto core = idle();
  core.tick_at(core.core.next_deadline().value());
  REQUIRE(core.core.role() == Role::pre_candidate);
  core.receive("b", Heartbeat{});
  CHECK(core.core.role() == Role::follower);
  CHECK(core.core.leader() == "b");
}

TEST_CASE("election: nobody stands before its time, and a learner never") {
  auto core = idle();
  core.tick_at(core.core.next_deadline().value() - 1ns);
  CHECK(core.out.messages.empty());
  CHECK(core.core.role() == Role::follower);

  LoneCore learner{started_with(cluster_of({"b", "c"}, {"a"}))};
  CHECK_FALSE(learner.core.next_deadline().has_value());
  learner.tick_at(60s);
  CHECK(learner.out.messages.empty());
  CHECK(learner.core.role() == Role::follower);
}

TEST_CASE("election: neither learners nor the leader have a place among those that wait") {
  auto members = cluster_of({"b", "c"});
  members.members.insert(members.members.begin(), {.id = "0", .address = {}, .voter = false});
  members.members.push_back({.id = "a", .address = {}, .voter = true});
  LoneCore core{started_with(members)};
  core.receive("b", 2, Heartbeat{});
  const auto step = Time{1s} / 8;
  CHECK(core.core.next_deadline().value() >= 1s + step / 2 + step);  // behind "c" alone
  CHECK(core.core.next_deadline().value() < 1s + step / 2 + 2 * step);
}

TEST_CASE("election: a server that takes over a snapshot's state does not stand meanwhile") {
  auto core = idle();
  const SnapshotMeta meta{
      .index = 5, .term = 1, .configuration = cluster_of(three_voters), .configuration_index = 1};
  core.receive(
      "b", 2, SnapshotChunk{.meta = meta, .total_bytes = 2, .offset = 0, .data = Bytes::copy("x")});
  core.step(ChunkStored{.index = 5, .term = 1, .next_offset = 1});
  CHECK(core.core.next_deadline().has_value());
  core.receive(
      "b", 2, SnapshotChunk{.meta = meta, .total_bytes = 2, .offset = 1, .data = Bytes::copy("y")});
  core.step(ChunkStored{.index = 5, .term = 1, .next_offset = 2});
  CHECK(core.out.install.has_value());
  CHECK_FALSE(core.core.next_deadline().has_value());
}
