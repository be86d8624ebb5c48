// Raft's letters: the transport makes the connection, which then takes them without it.
#include "actors/server/raft_carrier.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "test/support/actor_fixture.hpp"

using namespace nomad;

namespace {

/// A connection that writes down what it is to take.
class Line : public net::RpcConnection {
public:
  void call(net::RpcRequest, net::RpcDone) override {}

  StreamCall call_with_stream(net::RpcRequest, net::RpcDone) override { return {}; }

  void post(net::RpcRequest request, std::function<void(Result<>)> done) override {
    taken.emplace_back(request.body.text());
    done({});
  }

  const net::RpcPeer& peer() const override { return peer_; }

  bool is_open() const override { return open; }

  void close(std::string) override { open = false; }

  std::size_t queued_bytes() const override { return 0; }

  bool open = true;
  std::vector<std::string> taken;

private:
  net::RpcPeer peer_;
};

struct Letters : test::ActorFixture {
  test::ActorFixture::Recorder<rpc::transport::Post> office = record<rpc::transport::Post>();
  raft::Carrier carrier = server::make_raft_carrier(office.handle, "global");

  void send(const std::string& letter, const std::string& address = "10.0.0.2:4647") {
    carrier({.to = "s2",
             .address = address,
             .lane = raft::Lane::normal,
             .letter = Bytes::copy(letter),
             .done = [this](const Result<>& outcome) { ++(outcome ? sent : lost); }});
    settle();
  }

  int sent = 0;
  int lost = 0;
};

}  // namespace

TEST_CASE_FIXTURE(Letters, "raft_carrier: the connection of the first letter takes the next ones") {
  const auto line = std::make_shared<Line>();

  send("one");
  REQUIRE(office.seen->size() == 1);
  CHECK(office.seen->front().body.text() == "one");
  office.seen->front().on_connection(line);
  send("two");
  send("three");
  send("for another", "10.0.0.3:4647");

  CHECK(line->taken == std::vector<std::string>{"two", "three"});
  REQUIRE(office.seen->size() == 2);
  CHECK(office.seen->back().to.address == "10.0.0.3:4647");
  CHECK(sent == 2);
}

TEST_CASE_FIXTURE(Letters,
                  "raft_carrier: after the end of a connection the transport makes another") {
  const auto line = std::make_shared<Line>();
  send("one");
  office.seen->front().on_connection(line);
  line->close("");

  send("two");

  CHECK(line->taken.empty());
  REQUIRE(office.seen->size() == 2);
  CHECK(office.seen->back().body.text() == "two");
}

TEST_CASE_FIXTURE(Letters, "raft_carrier: a server without an address gets nothing") {
  send("one", "");

  CHECK(lost == 1);
  CHECK(office.seen->empty());
}
