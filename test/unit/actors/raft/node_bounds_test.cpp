// What waits in and around a Raft node while its disk or its state machine stands.
#include "test/unit/actors/raft/node_steps_fixture.hpp"

using namespace nomad;
using namespace nomad::raft;
using namespace nomad::test;
using namespace std::chrono_literals;

TEST_CASE_FIXTURE(NodeStepsFixture,
                  "raft_node: what a disk that stands holds up is bounded, by count and bytes") {
  constexpr std::size_t bytes = 100;
  options.max_waiting_entries = 40;
  options.max_waiting_bytes = 30 * bytes;
  lead();
  const auto before = writes.seen->size();
  std::vector<Errc> refused;
  int answered = 0;
  const auto propose = [&](std::size_t size) {
    Proposer{queue}.propose(Bytes::copy(std::string(size, 'x')), [&](const Result<Applied>& done) {
      if (done)
        ++answered;
      else
        refused.push_back(done.error().code);
    });
    settle();
  };

  SUBCASE("bytes") {
    for (int i = 0; i < 100; ++i)
      propose(bytes);
    CHECK(writes.seen->size() == before + 30);
    CHECK(refused == std::vector(70, Errc::overloaded));
  }
  SUBCASE("entries") {
    for (int i = 0; i < 100; ++i)
      propose(1);
    CHECK(writes.seen->size() == before + 40);
    CHECK(refused == std::vector(60, Errc::overloaded));
  }
  SUBCASE("all at once") {
    for (int i = 0; i < 100; ++i)
      Proposer{queue}.propose(Bytes::copy(std::string(bytes, 'x')),
                              [&](const Result<Applied>& done) {
                                if (!done) refused.push_back(done.error().code);
                              });
    settle();
    CHECK(writes.seen->back().write.append.size() == 30);
    CHECK(refused == std::vector(70, Errc::overloaded));
  }
  persist();
  const auto late = answered;
  propose(bytes);
  persist();
  CHECK(answered == late + 1);
}

TEST_CASE_FIXTURE(NodeStepsFixture, "raft_node: the applier has one thing to do at a time") {
  struct LongFsm : test::ListFsm {
    bool takes_long(std::span<const Entry> commands) const override { return !commands.empty(); }
  };

  fsm = std::make_shared<LongFsm>();
  lead();
  hold("applier");
  for (int i = 0; i < 50; ++i) {
    write(10);
    advance(100ms);
  }
  CHECK(fullest("applier") == 1);
  CHECK(fsm->published()->empty());

  hold("");
  settle();
  CHECK(fsm->published()->size() == 500);
}

TEST_CASE_FIXTURE(NodeStepsFixture, "raft_node: its listener hears of changes alone") {
  lead();
  const auto heard = leadership.seen->size();
  for (int i = 0; i < 50; ++i) {
    write(2);
    advance(1s);
  }
  CHECK(leadership.seen->size() == heard);
}
