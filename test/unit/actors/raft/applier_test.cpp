// actors/raft/applier: what the node hands over is applied in order, and its outcomes come back.
// That the node goes on meanwhile is tested with the node (raft_node_test.cpp).
#include "actors/raft/applier.hpp"

#include <doctest/doctest.h>

#include "test/support/actor_fixture.hpp"
#include "test/support/list_fsm.hpp"

using namespace nomad;
using namespace nomad::raft;

namespace {

struct CountingAnswersFsm : test::ListFsm {
  int told = 0;

  void answered() override { ++told; }
};

Entry command_at(Index index, std::string_view text) {
  return {.index = index, .term = 1, .kind = EntryKind::command, .payload = Bytes::copy(text)};
}

}  // namespace

TEST_CASE_FIXTURE(test::ActorFixture,
                  "applier: applies in order, gives back the outcomes, and reads") {
  const auto fsm = std::make_shared<CountingAnswersFsm>();
  const auto applier = adopt(spawn_applier(
      system(), fsm,
      [](Index first, Index, std::size_t) -> Result<std::vector<Entry>> {
        if (first < 7) return Error{Errc::not_found, "it was cut off"};
        return std::vector<Entry>{command_at(first, "read")};
      },
      false));

  const auto first = ask<applier::Outcomes>(
      applier, applier::Apply{{command_at(2, "one"), command_at(3, "bad")}, 4});
  const auto second = ask<applier::Outcomes>(applier, applier::Apply{{command_at(5, "two")}, 5});

  REQUIRE(first->has_value());
  REQUIRE((*first)->value().all.size() == 2);
  CHECK_FALSE((*first)->value().all.front().error);
  CHECK((*first)->value().all.back().error);
  REQUIRE(second->has_value());
  CHECK(fsm->applied() == 5);
  CHECK(*fsm->published() == std::vector<std::string>{"one", "two"});
  CHECK(fsm->told == 0);

  const auto done = ask<applier::Done>(applier, applier::Answered{});
  REQUIRE(done->has_value());
  CHECK(fsm->told == 1);

  struct NoRows : SnapshotRows {
    Result<std::vector<std::string>> tables() override { return std::vector<std::string>{}; }

    Result<> read(std::string_view, const Row&) override { return {}; }
  };

  NoRows rows;
  ask<applier::Done>(applier, applier::Install{fsm->prepare(rows).value(), 6});
  CHECK(fsm->applied() == 6);
  CHECK(fsm->told == 2);

  const auto read = ask<applier::Entries>(applier, applier::Read{7, 9, 1'000});
  REQUIRE(read->has_value());
  CHECK((*read)->value().all.front().index == 7);
  const auto cut = ask<applier::Entries>(applier, applier::Read{6, 9, 1'000});
  REQUIRE(cut->has_value());
  CHECK((*cut)->error().code == Errc::not_found);
}
