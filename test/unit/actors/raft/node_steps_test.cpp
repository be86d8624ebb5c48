// actors/raft/raft_node step by step, on a disk that the test plays: nothing is answered before it
// is durable and applied, and a failing disk ends everything.
#include <doctest/doctest.h>

#include "test/support/result_text.hpp"
#include "test/unit/actors/raft/node_steps_fixture.hpp"

using namespace nomad;
using namespace nomad::raft;
using namespace nomad::test;
using namespace std::chrono_literals;

TEST_CASE_FIXTURE(NodeStepsFixture, "raft_node: leads, and is ready when its barrier is applied") {
  start();
  CHECK_FALSE(leadership.seen->back().leads);
  persist();
  CHECK(leadership.seen->back().leads);
  CHECK_FALSE(leadership.seen->back().ready);
  CHECK_FALSE(lease->holds());

  persist();
  CHECK(leadership.seen->back().ready);
  CHECK(lease->holds());
}

TEST_CASE_FIXTURE(NodeStepsFixture, "raft_node: a write is answered after disk and state have it") {
  lead();
  std::optional<Result<Applied>> outcome;
  std::size_t applied_before = 99;

  Proposer{queue}.propose(Bytes::copy("x"), [&](Result<Applied> got) {
    outcome = std::move(got);
    applied_before = fsm->published()->size();
  });
  settle();
  CHECK(writes.seen->back().write.append.size() == 1);
  CHECK_FALSE(outcome);
  CHECK(fsm->published()->empty());

  persist();
  REQUIRE(outcome);
  CHECK((*outcome)->index == 3);
  CHECK(applied_before == 1);
}

TEST_CASE_FIXTURE(NodeStepsFixture, "raft_node: what waits in the queue becomes one write") {
  lead();
  const auto before = writes.seen->size();
  int answered = 0;
  for (int number = 0; number < 10; ++number)
    Proposer{queue}.propose(Bytes::copy("x"), [&answered](Result<Applied>) { ++answered; });
  settle();
  CHECK(writes.seen->size() == before + 1);
  CHECK(writes.seen->back().write.append.size() == 10);

  persist();
  CHECK(answered == 10);
}

TEST_CASE_FIXTURE(NodeStepsFixture,
                  "raft_node: a failing disk answers all with its reason, and ends") {
  lead();
  const Error reason{Errc::io, "\"raft.db\": cannot write the log: disk I/O error"};
  auto waiting = ask<Applied>(node, Propose{Bytes::copy("x")});

  tell(disk, log_writer::WriteFailed{reason});

  REQUIRE(waiting->has_value());
  CHECK((*waiting)->error()
        == Error{reason.code, reason.what + " (the request may have been carried out)"});
  CHECK_FALSE(lease->holds());
  std::optional<Result<Applied>> late;
  Proposer{queue}.propose(Bytes::copy("y"), [&late](Result<Applied> got) { late = got; });
  REQUIRE(late);
  CHECK(late->error() == reason);
  auto after = ask<RaftStatus>(node, GetStatus{});
  REQUIRE(after->has_value());
  CHECK((*after)->error().code == Errc::unavailable);
}

TEST_CASE_FIXTURE(NodeStepsFixture,
                  "raft_node: a full disk refuses writes until it has room again") {
  lead();
  const auto waiting = ask<Applied>(node, Propose{Bytes::copy("x")});
  const auto before = writes.seen->size();

  tell(disk, log_writer::RoomChanged{Error{Errc::overloaded, "database or disk is full"}});
  const auto refused = ask<Applied>(node, Propose{Bytes::copy("y")});
  REQUIRE(refused->has_value());
  CHECK((*refused)->error().code == Errc::overloaded);
  CHECK((*refused)->error().what.find(
            "read-only: no space left on its disk (database or disk is full)")
        != std::string::npos);
  CHECK((*refused)->error().what == view->read_only());
  const auto member = ask<Applied>(
      node, ChangeMember{{.action = MemberAction::add_learner, .id = "d", .address = "d:1"}});
  REQUIRE(member->has_value());
  CHECK((*member)->error() == (*refused)->error());
  CHECK(writes.seen->size() == before);
  CHECK(lease->holds());  // reads go on
  persist();
  CHECK((*waiting)->has_value());  // what was under way ends well

  tell(disk, log_writer::RoomChanged{});
  CHECK(view->read_only().empty());
  const auto taken = ask<Applied>(node, Propose{Bytes::copy("z")});
  persist();
  CHECK((*taken)->has_value());
}

TEST_CASE_FIXTURE(NodeStepsFixture,
                  "raft_node: a command that a member does not know is not proposed") {
  struct Newer : test::ListFsm {
    std::uint32_t known_commands() const override { return 6; }

    std::uint32_t common_commands() const override { return 4; }

    std::uint32_t kind_of(std::span<const std::byte> payload) const override {
      return static_cast<std::uint32_t>(payload.front()) - '0';
    }
  };

  fsm = std::make_shared<Newer>();
  with_learner = true;
  lead();
  const auto propose = [this](std::string_view command) {
    auto answer = ask<Applied>(node, Propose{Bytes::copy(command)});
    if (!answer->has_value()) persist();
    return *answer;
  };

  CHECK(propose("3")->has_value());
  const auto silent = propose("4");
  CHECK(silent->error().code == Errc::unavailable);  // it may well be of this release
  CHECK(silent->error().what
        == "server \"d\" at  has not said yet whether it can apply this change (kind 4): try again, "
           "or remove it from the cluster if it is gone");
  from_learner(HeartbeatReply{.round = 1});  // an older one, which says nothing of it
  const auto older = propose("4");
  CHECK(older->error().code == Errc::rejected);
  CHECK(older->error().what
        == "server \"d\" at  can't apply this change (kind 4): upgrade it first, or remove it from "
           "the cluster if it is gone");
  from_learner(HeartbeatReply{.round = 1}, 5);
  CHECK(propose("4")->has_value());
  CHECK(propose("5")->has_error());
  from_learner(HeartbeatReply{.round = 1}, 6);
  CHECK(propose("5")->has_value());
}

namespace {

struct EarlierFormFixture : NodeStepsFixture {
  struct Newer : test::ListFsm {
    std::uint32_t known_commands() const override { return 6; }

    std::uint32_t common_commands() const override { return 4; }

    std::uint32_t kind_of(std::span<const std::byte> payload) const override {
      return static_cast<std::uint32_t>(payload.front()) - '0';
    }

    std::optional<Bytes> earlier_form(std::span<const std::byte> payload) const override {
      if (payload.front() != std::byte{'5'}) return {};
      return Bytes::copy("3, earlier");
    }
  };

  EarlierFormFixture() {
    fsm = std::make_shared<Newer>();
    with_learner = true;
    read_what_is_logged();
  }

  Result<Applied> propose(std::string_view command) {
    auto answer = ask<Applied>(node, Propose{Bytes::copy(command)});
    if (!answer->has_value()) persist();
    return answer->value();
  }
};

}  // namespace

TEST_CASE_FIXTURE(EarlierFormFixture,
                  "raft_node: a member that does not know a command gets an earlier form of it") {
  lead();
  CHECK(propose("5").has_value());
  CHECK(fsm->published()->back() == "3, earlier");
  CHECK(propose("4").has_error());
  from_learner(HeartbeatReply{.round = 1}, 6);
  CHECK(propose("5").has_value());
  CHECK(fsm->published()->back() == "5");
  from_learner(HeartbeatReply{.round = 1}, 5);  // one that says it knows less
  CHECK(propose("5").has_value());
  CHECK(fsm->published()->back() == "3, earlier");
}

TEST_CASE_FIXTURE(EarlierFormFixture,
                  "raft_node: a silent member knows what was applied since it is one") {
  logged = {"5"};
  lead();
  CHECK(fsm->published()->back() == "5");
  CHECK(propose("5").has_value());
  CHECK(fsm->published()->back() == "5");
  CHECK(propose("4").has_value());

  const auto added = ask<Applied>(
      node, ChangeMember{{.action = MemberAction::add_learner, .id = "e", .address = "e:1"}});
  persist();
  REQUIRE(added->has_value());
  REQUIRE((*added)->has_value());
  CHECK(propose("4").error().code == Errc::unavailable);
  CHECK(propose("5").has_value());
  CHECK(fsm->published()->back() == "3, earlier");
}

namespace {

/// "3+" is of kind 5, for a part that releases had before they counted it; "1+" has another one.
struct LaterPartFixture : EarlierFormFixture {
  struct WithParts : Newer {
    std::uint32_t kind_of(std::span<const std::byte> payload) const override {
      return payload.back() == std::byte{'+'} ? 5 : Newer::kind_of(payload);
    }

    CommandParts parts_of(std::span<const std::byte> payload) const override {
      const auto number = Newer::kind_of(payload);
      return {number, payload.back() == std::byte{'+'} ? 1U << number : 0};
    }
  };

  LaterPartFixture() { fsm = std::make_shared<WithParts>(); }
};

}  // namespace

TEST_CASE_FIXTURE(LaterPartFixture,
                  "raft_node: a part that was applied proves itself, and not its kind") {
  logged = {"3+"};
  lead();

  CHECK(propose("3+").has_value());
  CHECK(fsm->published()->back() == "3+");  // though the other member is silent
  CHECK(propose("4").error().code == Errc::unavailable);
  CHECK(propose("1+").error().code == Errc::unavailable);
  from_learner(HeartbeatReply{.round = 1}, 5);
  CHECK(propose("4").has_value());
  CHECK(propose("3+").error().code == Errc::rejected);  // by what it says
}

TEST_CASE_FIXTURE(EarlierFormFixture, "raft_node: a command is as large as its earlier form") {
  options.max_entry_bytes = 10;
  logged = {"5"};
  lead();
  CHECK(propose("5, with a guard").has_value());
  CHECK(fsm->published()->back() == "5, with a guard");
  CHECK(propose("4, with no guard").error()
        == Error{Errc::too_large, "a write of 16 bytes exceeds 10"});
}

TEST_CASE_FIXTURE(NodeStepsFixture,
                  "raft_node: what was read of the log is not applied onto a newer snapshot") {
  struct Counting : test::ListFsm {
    int applies = 0;

    std::vector<Outcome> apply(std::span<const Entry> entries, Index applied) override {
      ++applies;
      return ListFsm::apply(entries, applied);
    }
  };

  struct NoRows : SnapshotRows {
    Result<std::vector<std::string>> tables() override { return std::vector<std::string>{}; }

    Result<> read(std::string_view, const Row&) override { return {}; }
  };

  const auto counting = std::make_shared<Counting>();
  fsm = counting;
  NoRows rows;
  arriving = fsm->prepare(rows).value();
  with_learner = true;
  logged = {"old", "older"};
  read_what_is_logged();
  const auto read = read_log;
  bool was_read = false;
  read_log = [&](Index first, Index last, std::size_t most) {
    was_read = true;
    // While the disk is read, the other one leads and sends a snapshot, which is whole at once.
    const SnapshotMeta newer{
        .index = 20, .term = 3, .configuration = members(), .configuration_index = 1};
    from_learner(SnapshotChunk{.meta = newer, .total_bytes = 4, .data = Bytes::copy("data")}, 0, 3);
    return read(first, last, most);
  };
  lead();

  CHECK(was_read);
  CHECK(fsm->applied() == 20);
  CHECK(counting->applies == 0);
  const auto status = ask<RaftStatus>(node, GetStatus{});
  REQUIRE(status->has_value());
  CHECK((*status)->value().applied_index == 20);
}

TEST_CASE_FIXTURE(NodeStepsFixture, "raft_node: snapshots come by count, not before the interval") {
  options.snapshot_threshold = 5;
  options.snapshot_interval = 60s;
  lead();
  write(10);
  advance(59s);
  write(1);
  CHECK(snapshots.empty());
  advance(31s);
  write(1);
  REQUIRE(snapshots.size() == 1);
  CHECK(snapshots[0].index == 14);
  CHECK(snapshots[0].configuration_index == 1);
  write(5 * 15);
  CHECK(snapshots.size() == 1);
  write(5 * 9);
  CHECK(snapshots.size() == 2);
}

TEST_CASE_FIXTURE(NodeStepsFixture,
                  "raft_node: after a failed snapshot the interval passes, however much is new") {
  options.snapshot_threshold = 5;
  options.snapshot_interval = 60s;
  saved = Error{Errc::overloaded, "no room"};
  lead();
  write(5 * 24);
  REQUIRE(snapshots.size() == 1);
  for (int batch = 0; batch < 5; ++batch)
    write(5 * 24);
  CHECK(snapshots.size() == 1);
  advance(91s);
  saved = snapshotter::Saved{.path = "snapshot.db", .bytes = 10};
  write(1);
  CHECK(snapshots.size() == 2);
  write(5 * 24);
  CHECK(snapshots.size() == 3);
}

TEST_CASE_FIXTURE(NodeStepsFixture,
                  "raft_node: automatic snapshots wait while a member catches up by one") {
  options.snapshot_threshold = 5;
  options.snapshot_interval = 60s;
  options.trailing_entries = 2;
  with_learner = true;
  lead();
  advance(90s);
  from_learner(AppendReply{.accepted = false, .prev_index = snapshot_at});
  REQUIRE(reads.size() == 1);

  write(10);
  CHECK(snapshots.empty());
  // Who asks for one gets it; the log keeps what the member needs.
  const auto taken = ask<SnapshotTaken>(node, TakeSnapshot{});
  CHECK(taken->has_value());
  CHECK(snapshots.size() == 1);
  CHECK(cuts.empty());
  advance(59s);
  write(5 * 24);
  CHECK(snapshots.size() == 2);  // nor do they wait for ever
  CHECK(cuts.empty());

  advance(90s);
  from_learner(
      SnapshotReply{.index = snapshot_at, .term = 1, .next_offset = 10, .installed = true});
  write(10);
  CHECK(snapshots.size() == 2);
  const auto last = writes.seen->back().write.append.back().index;
  from_learner(AppendReply{.accepted = true, .match_index = last, .prev_index = snapshot_at});
  write(1);
  REQUIRE(snapshots.size() == 3);
  CHECK(cuts == std::vector<Index>{snapshots.back().index - 2});
}

TEST_CASE_FIXTURE(NodeStepsFixture, "raft_node: a part that can't be read is read again in time") {
  with_learner = true;
  part = Error{Errc::io, "disk I/O error"};
  lead();
  from_learner(AppendReply{.accepted = false, .prev_index = snapshot_at});
  REQUIRE(reads.size() == 1);
  from_learner(HeartbeatReply{.round = 1});
  CHECK(reads.size() == 1);

  advance(options.election_timeout);
  from_learner(HeartbeatReply{.round = 1});
  CHECK(reads.size() == 2);
}

TEST_CASE_FIXTURE(NodeStepsFixture,
                  "raft_node: a failed snapshot is told to who asked; writes go on") {
  lead();
  saved = Error{Errc::io, "disk full"};
  auto taken = ask<SnapshotTaken>(node, TakeSnapshot{});
  REQUIRE(taken->has_value());
  CHECK((*taken)->error() == Error{Errc::io, "disk full"});

  auto outcome = ask<Applied>(node, Propose{Bytes::copy("x")});
  persist();
  REQUIRE(outcome->has_value());
  CHECK((*outcome)->has_value());
}

TEST_CASE_FIXTURE(NodeStepsFixture,
                  "raft_node: who asks while a snapshot is written gets what was applied before") {
  lead();
  hold_snapshots = true;
  const auto write_one = [this] {
    auto outcome = ask<Applied>(node, Propose{Bytes::copy("x")});
    persist();
    REQUIRE(outcome->has_value());
    return (*outcome)->value().index;
  };
  const auto before = write_one();
  auto first = ask<SnapshotTaken>(node, TakeSnapshot{});
  auto same = ask<SnapshotTaken>(node, TakeSnapshot{});
  const auto acknowledged = write_one();
  auto second = ask<SnapshotTaken>(node, TakeSnapshot{});
  auto third = ask<SnapshotTaken>(node, TakeSnapshot{});
  REQUIRE(snapshots.size() == 1);

  tell(files, EndSnapshot{0});
  REQUIRE(first->has_value());
  CHECK((*first)->value().index == before);
  REQUIRE(same->has_value());
  CHECK_FALSE(second->has_value());
  REQUIRE(snapshots.size() == 2);

  tell(files, EndSnapshot{1});
  REQUIRE(second->has_value());
  CHECK((*second)->value().index == acknowledged);
  CHECK(third->has_value());
  CHECK(snapshots.size() == 2);
}

TEST_CASE("proposal queue: refuses beyond its limits and after closing, each at once") {
  ProposalQueue queue{2, 100};
  int woken = 0;
  queue.set_wake([&woken] { ++woken; });
  std::vector<Errc> refused;
  const auto add = [&](std::size_t bytes) {
    queue.add({Bytes::copy(std::string(bytes, 'x')),
               [&refused](Result<Applied> outcome) { refused.push_back(outcome.error().code); }});
  };
  add(60);
  add(60);
  CHECK(refused == std::vector{Errc::overloaded});
  add(10);
  add(10);
  CHECK(refused.size() == 2);
  CHECK(woken == 1);
  CHECK(queue.take().size() == 2);
  add(1'000);  // alone it may be larger
  CHECK(woken == 2);
  CHECK(queue.close({Errc::unavailable, "over"}).size() == 1);
  add(1);
  CHECK(refused.back() == Errc::unavailable);
}
