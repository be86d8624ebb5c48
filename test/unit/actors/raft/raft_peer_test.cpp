// The way to one other server: its budget.
#include "actors/raft/raft_peer.hpp"

#include <vector>

#include <doctest/doctest.h>

#include "test/support/actor_fixture.hpp"

using namespace nomad;
using namespace nomad::raft;

namespace {

struct PeerFixture : test::ActorFixture {
  test::ActorFixture::Recorder<PeerUnreachable> listener = record<PeerUnreachable>();
  std::vector<Carry> carried;
  std::shared_ptr<PeerCounters> counters = std::make_shared<PeerCounters>();
  std::shared_ptr<const PeerLine> line = std::make_shared<const PeerLine>(
      PeerOptions{.id = "s2", .own_address = "", .max_under_way = 1},
      [this](Carry carry) { carried.push_back(std::move(carry)); },
      listener.handle,
      counters);
  RaftPeer peer
      = adopt(actor::spawn(system(), raft_peer_actor, line, std::string{"10.0.0.2:4647"}));

  void post_entries() {
    Message message;
    message.to = "s2";
    message.body = AppendRequest{};
    tell(peer, raft_peer::Post{{message}});
  }
};

}  // namespace

TEST_CASE_FIXTURE(PeerFixture, "raft_peer: what is told of makes room, and a loss is reported") {
  post_entries();
  post_entries();  // beyond the budget
  CHECK(carried.size() == 1);
  CHECK(listener.seen->size() == 1);

  carried.front().done({});
  settle();
  CHECK(counters->sent == 1);
  CHECK(listener.seen->size() == 1);
  post_entries();
  REQUIRE(carried.size() == 2);
  carried.back().done(Error{Errc::unavailable, "the line is cut"});
  settle();
  CHECK(listener.seen->size() == 2);
  CHECK(counters->lost == 2);
  CHECK_FALSE(counters->reachable);
}

TEST_CASE_FIXTURE(PeerFixture, "raft_peer: what its carrier drops untold makes room, too") {
  post_entries();
  carried.clear();
  settle();
  CHECK(listener.seen->size() == 1);
  CHECK(counters->lost == 1);
  CHECK(counters->reachable);

  post_entries();
  CHECK(carried.size() == 1);
}
