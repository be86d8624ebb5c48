// runtime/raft/membership: founding, changes of the members, handing over.
#include <doctest/doctest.h>

#include "test/support/result_text.hpp"
#include "test/unit/runtime/raft/core_harness.hpp"

using namespace nomad;
using namespace nomad::raft;
using namespace nomad::raft::testing;
using namespace std::chrono_literals;

namespace {

Error why(const Outputs& out) {
  REQUIRE(out.proposed.has_value());
  REQUIRE_FALSE(out.proposed->has_value());
  return out.proposed->error();
}

Errc refusal(const Outputs& out) {
  return why(out).code;
}

/// Leads, and its barrier (entry 2) is committed.
LoneCore leader_of(const Configuration& members = cluster_of(three_voters),
                   CoreOptions options = {.self = "a"}) {
  auto core = LoneCore::leading(started_with(members), std::move(options));
  core.persist();
  core.accept("b", 2);
  REQUIRE(core.core.commit_index() == 2);
  return core;
}

const Outputs& change(LoneCore& core, MemberAction action, const ServerId& id) {
  return core.step(ProposeChange{{.action = action, .id = id, .address = "at-" + id}});
}

}  // namespace

TEST_CASE("founding: the first entry names the members, and the founder stands at once") {
  LoneCore core{StartState{}};
  core.now = 3s;
  core.step(Bootstrap{cluster_of(three_voters)});
  CHECK(core.out.proposed->value() == 1);
  REQUIRE(core.out.write.has_value());
  CHECK(core.out.write->hard_state->current_term == 1);
  REQUIRE(core.out.write->append.size() == 1);
  CHECK(core.out.write->append[0].index == 1);
  CHECK(core.out.write->append[0].term == 1);
  CHECK(core.core.next_deadline() == 3s);
}

TEST_CASE("founding: is refused to who is none of the voters, or has no cluster's id") {
  LoneCore core{StartState{}};
  core.step(Bootstrap{cluster_of({"b", "c"}, {"a"})});
  CHECK(why(core.out)
        == Error{Errc::invalid_argument, "the first server of a cluster is one of its voters"});
  auto nameless = cluster_of(three_voters);
  nameless.cluster_id.clear();
  core.step(Bootstrap{nameless});
  CHECK(refusal(core.out) == Errc::invalid_argument);
  CHECK(core.core.log().last_index() == 0);
}

TEST_CASE("founding: is refused to who has a log, or has heard a leader") {
  LoneCore member{started_with(cluster_of(three_voters))};
  member.step(Bootstrap{cluster_of(three_voters)});
  CHECK(why(member.out)
        == Error{Errc::conflict, "this server has a log: it belongs to a cluster already"});

  LoneCore joining{StartState{}};
  joining.receive("b", 2, Heartbeat{}, "theirs");
  joining.step(Bootstrap{cluster_of(three_voters)});
  CHECK(why(joining.out)
        == Error{Errc::conflict, "the leader of a cluster has spoken to this server"});

  StartState restored;
  restored.snapshot
      = SnapshotMeta{.index = 0, .term = 0, .configuration = {}, .configuration_index = 0};
  LoneCore with_snapshot{std::move(restored)};
  with_snapshot.step(Bootstrap{cluster_of(three_voters)});
  CHECK(refusal(with_snapshot.out) == Errc::conflict);
}

TEST_CASE("founding: members that have no log yet give their votes, others of no cluster do not") {
  const auto founded = [] {
    LoneCore core{StartState{}};
    core.step(Bootstrap{cluster_of(three_voters)});
    core.persist();
    core.tick_at(core.core.next_deadline().value());
    REQUIRE(core.core.role() == Role::pre_candidate);
    return core;
  };
  auto core = founded();
  core.receive("x", 2, VoteReply{.pre_vote = true, .granted = true}, "");
  CHECK(core.core.role() == Role::pre_candidate);
  CHECK(core.out.notices.size() == 1);
  core.receive("b", 2, Heartbeat{}, "");
  CHECK(core.core.role() == Role::pre_candidate);
  CHECK(core.core.current_term() == 1);
  core.receive("b", 2, VoteReply{.pre_vote = true, .granted = true}, "");
  CHECK(core.core.role() == Role::candidate);
}

TEST_CASE(
    "founding: once the log goes on, a vote of no cluster is of a server that lost its disk") {
  LoneCore core{started_with(cluster_of(three_voters), {1})};
  core.tick_at(core.core.next_deadline().value());
  core.receive("b", 2, VoteReply{.pre_vote = true, .granted = true}, "");
  CHECK(core.core.role() == Role::pre_candidate);
}

TEST_CASE("membership: a change is the next entry, and one at a time") {
  auto core = leader_of();
  change(core, MemberAction::add_learner, "d");
  CHECK(core.out.proposed->value() == 3);
  CHECK(core.core.log().last_index() == 3);
  CHECK(core.core.configuration().find("d") != nullptr);
  change(core, MemberAction::add_learner, "e");
  CHECK(refusal(core.out) == Errc::conflict);
}

TEST_CASE("membership: a learner becomes a voter when it is no further behind than allowed") {
  auto core = leader_of(cluster_of(three_voters, {"d"}), {.self = "a", .promote_lag = 3});
  core.accept("d", 2);
  core.propose(4);
  change(core, MemberAction::promote, "d");
  CHECK(why(core.out) == Error{Errc::conflict, "server \"d\" has not caught up yet"});
  core.accept("d", 3);
  change(core, MemberAction::promote, "d");
  CHECK(core.out.proposed->value() == 7);
}

TEST_CASE("membership: nothing changes before the leader's first entry is committed") {
  auto core = LoneCore::leading(started_with(cluster_of(three_voters)), {.self = "a"});
  core.persist();
  change(core, MemberAction::add_learner, "d");
  CHECK(why(core.out)
        == Error{Errc::unavailable, "the new leader is not ready for membership changes yet"});
}

TEST_CASE("membership: what is far behind may still be removed") {
  auto core = leader_of(cluster_of(three_voters, {"d"}), {.self = "a", .promote_lag = 3});
  core.propose(9);
  change(core, MemberAction::remove, "d");
  CHECK(core.out.proposed->value() == 12);
}

TEST_CASE("membership: a leader that is removed leads until that is committed, and hands over") {
  auto core = leader_of();
  core.propose();
  change(core, MemberAction::remove, "a");
  core.persist();
  REQUIRE(core.core.log().last_index() == 4);
  core.accept("b", 3);
  core.accept("c", 3);
  CHECK(core.core.commit_index() == 3);  // the command alone
  CHECK(core.core.role() == Role::leader);
  core.accept("b", 4);
  CHECK(core.core.role() == Role::leader);
  core.accept("c", 4);
  CHECK(core.core.commit_index() == 4);
  CHECK(core.core.role() == Role::follower);
  CHECK(core.sent<Heartbeat>("b").at(0).commit_index == 4);
  CHECK(core.sent<TimeoutNow>("b").size() + core.sent<TimeoutNow>("c").size() == 1);
}

TEST_CASE("transfer: without a name it is the voter that has most") {
  auto core = leader_of(cluster_of(three_voters, {"d"}));
  core.propose(2);
  core.persist();
  core.accept("b", 3);
  core.accept("d", 4);
  core.step(TransferTo{});
  CHECK(core.core.transfer_target() == "b");

  auto even = leader_of();
  even.accept("c", 2);
  even.step(TransferTo{});
  CHECK(even.core.transfer_target() == "c");  // of those that have as much, one
}

TEST_CASE("transfer: neither to itself nor to who is no voter") {
  auto core = leader_of(cluster_of(three_voters, {"d"}));
  for (const auto* target : {"a", "d", "x"}) {
    core.step(TransferTo{target});
    CHECK(refusal(core.out) == Errc::invalid_argument);
  }
  CHECK(core.core.transfer_target().empty());
}

TEST_CASE("transfer: is given up after one election timeout") {
  auto core = leader_of();
  core.propose();
  core.step(TransferTo{"c"});
  const auto began = core.now;
  for (const auto passed : {400ms, 800ms}) {
    core.tick_at(began + passed);
    for (const auto& beat : core.sent<Heartbeat>("b"))
      core.receive("b", HeartbeatReply{.round = beat.round});
  }
  CHECK(core.core.transfer_target() == "c");
  core.tick_at(began + 1s);
  CHECK(core.core.transfer_target().empty());
  CHECK(core.core.role() == Role::leader);  // it had told nobody yet
}
