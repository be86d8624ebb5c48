// What servers of other regions are told of what holds in all.
#include "actors/server/regions/region_rows.hpp"

#include "test/unit/actors/server/regions/region_fixture.hpp"

using namespace nomad;
using namespace nomad::server;
using test::RegionFixture;
using namespace std::chrono_literals;
namespace kind = state::kind;

namespace {

/// The rows behind a server's router.
struct ServedRows : RegionFixture {
  std::shared_ptr<actor::Asker> asker = std::make_shared<actor::Asker>(actor::Owner{system()}, 1);
  std::optional<rpc::MethodRouter> router;

  ~ServedRows() { asker->stop(); }

  void serve(bool enforces, const std::string& copies_from = {}) {
    const auto authenticator = access::Authenticator::make(
        {.enforces = enforces,
         .lookup = {.here = [](std::string_view shown) -> std::optional<Result<access::Grant>> {
           if (shown == "manager") return access::Grant{.rights = access::Rights::everything()};
           return access::Grant{};
         }}});
    actor::Latest<RegionRows> served;
    served.set(rows);
    router.emplace("authority", authenticator);
    serve_region_rows(*router, authenticator, asker, served, copies_from);
  }

  Result<Bytes> answer_to(net::RpcRole role, const std::string& shown, std::string_view of) {
    Draft<schema::rpc::RegionRowsRequest> request;
    request->setKind(text(of));
    net::RpcPeer peer;
    peer.hello.role = role;
    peer.hello.region = role == net::RpcRole::server ? "other" : "authority";
    auto answer = std::make_shared<std::optional<Result<Bytes>>>();
    rpc::Inbound inbound;
    inbound.envelope.method = rpc::Method::region_rows;
    inbound.envelope.region = "authority";
    inbound.envelope.credentials.token = shown;
    inbound.body = rpc::bytes_of(request.freeze());
    inbound.reply = rpc::ReplyTo{[answer](Result<Bytes> outcome) { *answer = std::move(outcome); }};
    router->serve(peer, std::move(inbound));
    settle();
    REQUIRE(answer->has_value());
    return **answer;
  }
};

}  // namespace

TEST_CASE_FIXTURE(RegionFixture, "region_rows: many rows come in as many answers as they need") {
  const std::string rules(400'000, 'x');
  for (const auto* name : {"a", "b", "c", "d", "e"})
    put_policy(name, rules.c_str());
  Draft<schema::rpc::RegionRowsRequest> request;
  request->setKind("acl_policies");
  auto keys = request->initKeys(5);
  for (unsigned i = 0; i < 5; ++i)
    keys.set(i, std::string(1, static_cast<char>('a' + i)));
  const auto told = ask<RowsShown>(rows, AskRows{request.freeze()});
  REQUIRE(told->has_value());
  CHECK((*told)->value().reply->getRows().size() == 2);
  CHECK((*told)->value().reply->getDone() == 2);
  start();
  for (const auto* name : {"a", "b", "c", "d", "e"})
    CHECK(state().row<kind::AclPolicies>(name));
}

TEST_CASE_FIXTURE(ServedRows, "region_rows: who does not manage is told nothing") {
  serve(true);
  for (const auto* of : {"namespaces", "acl_tokens"}) {
    CHECK(answer_to(net::RpcRole::server, "manager", of).has_value());
    CHECK(answer_to(net::RpcRole::server, "", of).error() == access::permission_denied());
    CHECK(answer_to(net::RpcRole::server, "client", of).error() == access::permission_denied());
    CHECK(answer_to(net::RpcRole::client, "manager", of).error() == access::permission_denied());
  }
}

TEST_CASE_FIXTURE(ServedRows, "region_rows: a region that copies shows its copies to nobody") {
  serve(true, "elsewhere");
  for (const auto& each : cluster::shared_kinds()) {
    const auto refused = answer_to(net::RpcRole::server, "manager", each.name);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error() == Error{Errc::rejected, "this region copies from region \"elsewhere\""});
    CHECK(answer_to(net::RpcRole::server, "", each.name).error() == access::permission_denied());
  }
}

TEST_CASE_FIXTURE(ServedRows, "region_rows: tokens of before access control was off stay here") {
  put_token("t", "its secret");
  serve(false);
  CHECK(answer_to(net::RpcRole::server, "", "namespaces").has_value());
  for (const auto& each : cluster::shared_kinds())
    if (each.is_of_access)
      CHECK(answer_to(net::RpcRole::server, "", each.name).error().what
            == "access control is off in this region");
}

TEST_CASE_FIXTURE(RegionFixture, "region_rows: news are held for, so many and so long") {
  const auto question = [&](const char* kind_name, std::uint64_t min_index) {
    Draft<schema::rpc::RegionRowsRequest> request;
    request->setKind(kind_name);
    request->setMinIndex(min_index);
    request->setMaxWaitMs(5'000);
    return ask<RowsShown>(rows, AskRows{request.freeze()});
  };
  CHECK((*question("variables", 0))->error().what == "no such kind holds in all regions here");
  const auto now = (*question("namespaces", 0))->value().reply->getIndex();
  const auto held = question("namespaces", now);
  CHECK_FALSE(held->has_value());
  put_namespace("n");
  settle();
  REQUIRE(held->has_value());
  CHECK((*held)->value().reply->getRows().size() == 2);
  const auto next = (*held)->value().reply->getIndex();
  CHECK(next != now);

  const auto over = question("namespaces", next);
  advance(6s);
  REQUIRE(over->has_value());
  CHECK((*over)->value().reply->getIndex() == next);
  CHECK((*over)->value().reply->getRows().size() == 0);

  for (std::size_t i = 0; i < most_held_rows; ++i)
    question("namespaces", next);
  CHECK((*question("namespaces", next))->error().what == "too many regions wait for news");
}
