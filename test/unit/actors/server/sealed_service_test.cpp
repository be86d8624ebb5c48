// What another server may have written ready made.
#include "actors/server/sealed_service.hpp"

#include "server_fixture.hpp"
#include "test/support/anybody.hpp"

using namespace nomad;
using namespace nomad::server;

namespace {

struct SealedFixture : test::ServerFixture {
  std::shared_ptr<raft::LeaderView> leader = std::make_shared<raft::LeaderView>();
  SealedService service;
  rpc::MethodRouter router{"global", test::open_to_all()};

  SealedFixture() { service.add_to(router); }

  /// The answer to `command`, if there is one yet.
  std::shared_ptr<std::optional<Result<Bytes>>> send(const Object<schema::Command>& command) {
    auto answer = std::make_shared<std::optional<Result<Bytes>>>();
    net::RpcPeer peer;
    peer.hello.role = net::RpcRole::server;
    peer.hello.region = "global";
    rpc::Inbound inbound;
    inbound.envelope.method = rpc::Method::server_write_sealed;
    inbound.envelope.region = "global";
    inbound.body = rpc::bytes_of(command);
    inbound.reply = rpc::ReplyTo{[answer](Result<Bytes> outcome) { *answer = std::move(outcome); }};
    router.serve(peer, inbound);
    return answer;
  }
};

Object<schema::Command> key_of(const char* id) {
  Draft<schema::Command> draft;
  draft->setRootKeyDelete(id);
  return draft.freeze();
}

}  // namespace

TEST_CASE_FIXTURE(SealedFixture, "sealed_service: commands wait for the server, then for the log") {
  const auto early = send(key_of("k"));
  REQUIRE(early->has_value());
  CHECK((*early)->error().code == Errc::unavailable);

  service.open(Writer{store, proposer, leader});
  const auto written = send(key_of("k"));
  CHECK_FALSE(written->has_value());
  commit();
  REQUIRE(written->has_value());
  CHECK((*written)->error().what == "root key metadata not found");
  CHECK(entries == 1);
}

TEST_CASE_FIXTURE(SealedFixture, "sealed_service: takes no other command ready made") {
  service.open(Writer{store, proposer, leader});
  Draft<schema::Command> other;
  other->initNodeDeregister();

  const auto refused = send(other.freeze());

  REQUIRE(refused->has_value());
  CHECK((*refused)->error()
        == Error{Errc::invalid_argument, "only sealed commands come ready made"});
  CHECK(commit_once() == 0);
}
