// The list of plugins, by an API that has nothing but them.
#include <doctest/doctest.h>

#include "actors/api/http/routes.hpp"
#include "actors/core/system.hpp"
#include "test/support/anybody.hpp"
#include "test/unit/actors/api/silent_peers.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

net::Response ask_for_plugins(const std::shared_ptr<const plugin::PluginStates>& states) {
  actor::SystemConfig config;
  actor::System system{config};
  const auto context
      = std::make_shared<Context>(system, ApiOptions{.authenticator = test::open_to_all()});
  Routes routes{context};
  add_plugin_routes(routes, states);
  const auto exchange = std::make_shared<SilentClient>();
  exchange->request.method = "GET";
  exchange->request.path = exchange->request.target = "/v1/agent/plugins";
  net::serve(routes.take(), net::Responder{exchange});
  context->stop();
  return exchange->answer().value_or(net::Response{});
}

}  // namespace

TEST_CASE("plugins: the list shows those that its family of operations was given, and no others") {
  const auto states = std::make_shared<plugin::PluginStates>();
  states->update("naps", [](plugin::PluginStatus& one) { one.path = "/opt/naps"; });

  const auto some = ask_for_plugins(states);
  CHECK(some.status == 200);
  CHECK(some.body.find(R"("Name":"naps")") != std::string::npos);

  CHECK(ask_for_plugins(nullptr).body == "[]");
}
