// Raft's messages: the transport makes the connection, which then takes them without it.
#include "actors/server/members/raft_carrier.hpp"

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

struct CarrierFixture : test::ActorFixture {
  test::ActorFixture::Recorder<rpc::transport::Post> transport = record<rpc::transport::Post>();
  raft::Carrier carrier = server::make_raft_carrier(transport.handle, "global");

  void send(const std::string& text, const std::string& address = "10.0.0.2:4647") {
    carrier({.to = "s2",
             .address = address,
             .lane = raft::Lane::normal,
             .bytes = Bytes::copy(text),
             .done = [this](const Result<>& outcome) { ++(outcome ? sent : lost); }});
    settle();
  }

  int sent = 0;
  int lost = 0;
};

}  // namespace

TEST_CASE_FIXTURE(CarrierFixture,
                  "raft_carrier: the connection of the first message takes the next ones") {
  const auto line = std::make_shared<Line>();

  send("one");
  REQUIRE(transport.seen->size() == 1);
  CHECK(transport.seen->front().body.text() == "one");
  transport.seen->front().on_connection(line);
  send("two");
  send("three");
  send("for another", "10.0.0.3:4647");

  CHECK(line->taken == std::vector<std::string>{"two", "three"});
  REQUIRE(transport.seen->size() == 2);
  CHECK(transport.seen->back().to.address == "10.0.0.3:4647");
  CHECK(sent == 2);
}

TEST_CASE_FIXTURE(CarrierFixture,
                  "raft_carrier: after the end of a connection the transport makes another") {
  const auto line = std::make_shared<Line>();
  send("one");
  transport.seen->front().on_connection(line);
  line->close("");

  send("two");

  CHECK(line->taken.empty());
  REQUIRE(transport.seen->size() == 2);
  CHECK(transport.seen->back().body.text() == "two");
}

TEST_CASE_FIXTURE(CarrierFixture, "raft_carrier: a server without an address gets nothing") {
  send("one", "");

  CHECK(lost == 1);
  CHECK(transport.seen->empty());
}
