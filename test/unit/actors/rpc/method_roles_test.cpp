// Which agent may call which method: one row for each, and a method without a row fails.
#include <map>

#include <doctest/doctest.h>

#include "actors/rpc/router.hpp"
#include "runtime/base/log.hpp"
#include "test/support/anybody.hpp"

using namespace nomad;
using namespace nomad::rpc;

namespace {

/// The letters say who may: c and s are a client and a server of the region, S a server of another
/// one, - whoever has shown nothing of himself. What a node asks by its secret has n: then the
/// certificate alone is not enough.
const std::map<std::string_view, std::string_view>& callers_of_methods() {
  static const std::map<std::string_view, std::string_view> table{
      {"Status.Ping", "-csS"},
      {"Status.Leader", "-csS"},
      {"Status.Peers", "-csS"},
      {"Raft.Message", "s"},
      {"Member.Join", "sS"},
      {"Member.Exchange", "sS"},
      {"Member.Probe", "sS"},
      {"Member.Leave", "sS"},
      {"Member.Keyring", "sS"},
      {"Server.HasNode", "s"},
      {"Server.WriteSealed", "s"},
      {"Server.AskNode", "s"},
      {"Node.Register", "cs"},
      {"Node.UpdateStatus", "cs"},
      {"Node.GetClientAllocs", "cs"},
      {"Node.UpdateAlloc", "cs"},
      {"Node.RegisterServices", "cs"},
      {"Node.DeregisterServices", "cs"},
      {"Node.EmitEvents", "cs"},
      {"Node.AwaitPrevious", "cs"},
      {"Node.UpdateDrain", "cs"},
      {"Node.WatchData", "n"},
      {"Node.Ask", "cs"},
      {"Node.AskOnce", "cs"},
      {"Node.Question", "s"},
      {"Access.Resolve", "cs"},
      {"Region.Rows", "sS"},
      {"Api.Forward", "csS"},
      {"Api.OnNode", "s"},
  };
  return table;
}

net::RpcPeer agent(net::RpcRole role, const std::string& region, const std::string& certificate) {
  net::RpcPeer peer;
  peer.remote = "10.0.0.7:4711";
  peer.is_tls = !certificate.empty();
  peer.hello = {.role = role, .region = region, .name = "n1"};
  if (peer.is_tls) peer.certificate.names = {certificate};
  return peer;
}

struct RoleRouter {
  MethodRouter router{"global", test::open_to_all()};
  bool served = false;

  explicit RoleRouter(bool needs_proof) {
    for (unsigned number = 0; number <= 0xffff; ++number)
      if (find_method(static_cast<std::uint16_t>(number)) != nullptr)
        router.on_raw(static_cast<Method>(number), [this](const Caller&, const Inbound& inbound) {
          served = true;
          inbound.reply(Bytes{});
        });
    if (needs_proof) router.require_proof();
  }

  /// Whether the method ran; if not, the caller was told so.
  bool lets_through(const MethodInfo& method, const net::RpcPeer& peer) {
    served = false;
    std::optional<Result<Bytes>> answer;
    Inbound inbound;
    inbound.envelope.method = method.method;
    inbound.envelope.region = "global";
    inbound.reply = ReplyTo{[&](Result<Bytes> outcome) { answer.emplace(std::move(outcome)); }};
    router.serve(peer, std::move(inbound));
    REQUIRE(answer.has_value());
    if (!served) CHECK(answer->error() == Error{Errc::permission_denied, "Permission denied"});
    return served;
  }
};

template <class Visit>
void each_method(Visit visit) {
  log::set_level(log::Level::off);
  for (unsigned number = 0; number <= 0xffff; ++number)
    if (const auto* method = find_method(static_cast<std::uint16_t>(number))) {
      CAPTURE(method->name);
      visit(*method, callers_of_methods().at(method->name));
    }
}

constexpr auto server = net::RpcRole::server;
constexpr auto client = net::RpcRole::client;

bool has(std::string_view callers, char one) {
  return callers.find(one) != callers.npos;
}

}  // namespace

TEST_CASE("method roles: each method has a row, and each row its method") {
  std::size_t count = 0;
  each_method([&](const MethodInfo& method, std::string_view) {
    ++count;
    CHECK(callers_of_methods().contains(method.name));
  });
  CHECK(count == callers_of_methods().size());
}

TEST_CASE(
    "method roles: with proof required, a certificate calls what its role may, all else not") {
  RoleRouter with{true};
  each_method([&](const MethodInfo& method, std::string_view callers) {
    CHECK(with.lets_through(method, agent(server, "global", "server.global.nomad"))
          == has(callers, 's'));
    CHECK(with.lets_through(method, agent(client, "global", "client.global.nomad"))
          == has(callers, 'c'));
    CHECK(with.lets_through(method, agent(server, "eu", "server.eu.nomad")) == has(callers, 'S'));
    // Who says to be what his certificate is not is nobody, whatever let him connect.
    for (const auto* certificate :
         {"client.global.nomad", "server.eu.nomad", "server.global.nomad.evil", "cli.global.nomad",
          "*.global.nomad", ""}) {
      CAPTURE(certificate);
      CHECK(with.lets_through(method, agent(server, "global", certificate)) == has(callers, '-'));
    }
    CHECK(with.lets_through(method, agent(client, "global", "server.global.nomad"))
          == has(callers, '-'));
  });
}

TEST_CASE("method roles: without proof what agents say of themselves counts") {
  RoleRouter without{false};
  each_method([&](const MethodInfo& method, std::string_view callers) {
    CHECK(without.lets_through(method, agent(server, "global", "")) == has(callers, 's'));
    CHECK(without.lets_through(method, agent(client, "global", "")) == has(callers, 'c'));
    CHECK(without.lets_through(method, agent(server, "eu", "")) == has(callers, 'S'));
  });
}
