// What a plugin may do by the API: what its block says, by whatever route it tries.
#include <future>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "actors/api/http/routes.hpp"
#include "actors/plugin/api_calls.hpp"
#include "runtime/object/draft.hpp"
#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

struct PluginCaller : ApiFixture {
  PluginCaller() {
    add_root_key();
    state().register_node({.id = own_node});
    add_namespace("a");
    add_namespace("b");
  }

  /// The answer that a plugin gets whose block allows these words.
  net::Response ask(const std::string& allowed,
                    const std::string& method,
                    const std::string& path,
                    const std::string& body = "") {
    std::promise<net::Response> heard;
    plugin::ApiCalls calls{
        Turns::here(), "p",
        [&](plugin::ApiCalls::Heard what) { heard.set_value(std::move(what.response)); },
        [](const std::function<void(schema::plugin::Frame::Builder)>&) {}};
    calls.open(std::make_shared<plugin::ApiGate>(api->routes(), own_node), {allowed, {}});
    Draft<schema::plugin::ApiRequest> draft;
    draft->setMethod(text(method));
    draft->setPath(text(path));
    draft->setBody({reinterpret_cast<const kj::byte*>(body.data()), body.size()});
    calls.request(1, draft.reader(), false);
    return heard.get_future().get();
  }

  int status(const std::string& allowed, const std::string& method, const std::string& path) {
    return ask(allowed, method, path, R"({"Job":{"ID":"x","Namespace":"a"}})").status;
  }
};

}  // namespace

TEST_CASE(
    "plugin rights: without a word in its block a plugin reads its own node and nothing else") {
  PluginCaller fixture;
  const auto other = uuid(7);
  fixture.state().register_node({.id = other});
  CHECK(fixture.status("", "GET", "/v1/node/" + own_node) == 200);
  CHECK(fixture.status("", "GET", "/v1/node/" + other) == 403);
  CHECK(fixture.status("", "GET", "/v1/nodes") == 403);
  CHECK(fixture.status("", "GET", "/v1/node/" + own_node + "/allocations") == 200);
  CHECK(fixture.status("", "PUT", "/v1/node/" + own_node + "/eligibility") == 403);
  CHECK(fixture.status("", "GET", "/v1/client/metadata?node_id=" + other) == 403);
  CHECK(fixture.status("", "GET", "/v1/client/stats?node_id=" + other) == 403);
  CHECK(fixture.status("", "PUT", "/v1/agent/join?address=127.0.0.1:1") == 403);
  CHECK(fixture.status("", "GET", "/v1/status/leader") == 200);
  const auto refused = fixture.ask("", "PUT", "/v1/jobs", R"({"Job":{"ID":"x"}})");
  CHECK(refused.status == 403);
  CHECK(refused.body == "Permission denied: it takes \"submit-job\" in the namespace \"default\"");
}

TEST_CASE("plugin rights: a word of its block gives that, where the namespaces say") {
  PluginCaller fixture;
  const std::string allowed = "submit-job read-job list-jobs namespace:a";
  CHECK(fixture.status(allowed, "PUT", "/v1/jobs?namespace=a") != 403);
  CHECK(fixture.status(allowed, "PUT", "/v1/jobs?namespace=b") == 403);
  CHECK(fixture.status(allowed, "GET", "/v1/jobs?namespace=a") == 200);
  CHECK(fixture.status(allowed, "GET", "/v1/jobs?namespace=b") == 403);
  CHECK(fixture.status(allowed, "GET", "/v1/vars?namespace=a") != 200);
  CHECK(fixture.status(allowed, "GET", "/v1/operator/scheduler/configuration") == 403);
  CHECK(fixture.status("operator-read", "GET", "/v1/operator/scheduler/configuration") == 200);
  CHECK(fixture.status("management", "GET", "/v1/nodes") == 200);
}

TEST_CASE("plugin rights: no route changes anything for a plugin that was allowed nothing") {
  PluginCaller fixture;
  Routes routes{nullptr};
  add_routes(routes, {});
  const auto before = fixture.state().index;
  for (const auto& [route, needed] : routes.listed()) {
    const auto method = route.substr(0, route.find(' '));
    auto path = route.substr(route.find(' ') + 1);
    if (const auto star = path.find('*'); star != std::string::npos)
      path.replace(star, 1, own_node);
    const std::set<std::string> changing{"PUT", "POST", "DELETE"};
    for (const auto& each : method == "ANY" ? changing : std::set<std::string>{method}) {
      const auto& asked = path;
      CAPTURE(each);
      CAPTURE(asked);
      const bool reads = path.starts_with("/v1/search") || path == "/v1/client/stats";
      if (each != "GET" && !reads) CHECK(fixture.status("", each, path) >= 400);
    }
  }
  CHECK(fixture.state().index == before);
}
