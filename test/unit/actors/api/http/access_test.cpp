// Who may not see a namespace sees nothing of it, by whatever route he tries, and changes nothing
// there: the whole route table is gone through with the objects of two namespaces.
#include <atomic>
#include <future>
#include <map>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "actors/api/http/call_metrics.hpp"
#include "actors/api/http/response_cache.hpp"
#include "actors/api/http/routes.hpp"
#include "test/unit/actors/api/http/access_cases.hpp"
#include "test/unit/actors/api/http/access_table.hpp"
#include "test/unit/runtime/access/policy/policies.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

void check(const std::string& route, const Case& one) {
  TwoNamespaces fixture;
  CAPTURE(route);
  CAPTURE(one.target);
  const auto index = fixture.state().index;
  const auto stranger = fixture.as(test::a_only, method_of(route), one.target, one.body);
  CAPTURE(stranger.body);
  CHECK(fixture.state().index == index);
  if (one.hidden.empty()) {
    CHECK(stranger.status == one.refused);
    if (one.refused == 403) {
      CHECK(stranger.body == "Permission denied");
      CHECK(stranger.header("X-Nomad-Index").empty());
    }
  } else {
    CHECK(stranger.status == 200);
    CHECK(stranger.body.find(one.hidden) == std::string::npos);
  }
  if (!one.ends) return;
  const auto owner = fixture.as("owner", method_of(route), one.target, one.body);
  CAPTURE(owner.body);
  CHECK(owner.status != one.refused);
  CHECK(owner.body.find(one.hidden) != std::string::npos);
}

}  // namespace

TEST_CASE("access: no route shows or changes anything of a namespace that is not the caller's") {
  const auto cases = access_cases();
  Routes routes{nullptr};
  add_routes(routes, {});
  REQUIRE(routes.listed().size() > 100);
  std::set<std::string> tested;
  for (const auto& [route, needed] : routes.listed()) {
    const auto& shown = route;
    CAPTURE(shown);
    tested.insert(route);
    const auto [begin, end] = cases.equal_range(route);
    for (auto one = begin; one != end; ++one)
      check(route, one->second);
    if (begin != end) continue;
    if (needed == Capability::none) {
      CHECK(test::opened_by.at(route).empty());
    } else {
      // Every route of namespaces has a case of its own.
      CHECK_FALSE(access::is_namespaced(needed));
    }
  }
  for (const auto& one : cases)
    CHECK_MESSAGE(tested.contains(one.first), one.first << " is no route any more");
}

TEST_CASE("access: what is of no namespace is judged before it is done") {
  TwoNamespaces fixture;
  Routes routes{nullptr};
  add_routes(routes, {});
  const auto index = fixture.state().index;
  for (const auto& [route, needed] : routes.listed()) {
    if (needed == Capability::none || access::is_namespaced(needed)) continue;
    const auto& shown = route;
    CAPTURE(shown);
    if (route == "GET /v1/node/pools") continue;  // a list of the caller's own
    const auto answer = fixture.as(test::nothing, method_of(route), some_path(route), "{}");
    CHECK(answer.status == 403);
    CHECK(answer.body == "Permission denied");
  }
  CHECK(fixture.state().index == index);
}

TEST_CASE("access: who may see it gets everything of his namespace") {
  TwoNamespaces fixture;
  for (const auto& [url, sees] :
       std::map<std::string, std::string>{{"/v1/jobs?namespace=a", "a-web"},
                                          {"/v1/jobs?namespace=*", "a-web"},
                                          {"/v1/job/a-web?namespace=a", "a-web"},
                                          {"/v1/allocation/" + uuid(103) + "?namespace=a", "a-web"},
                                          {"/v1/deployments?namespace=*", deployment_a},
                                          {"/v1/namespaces", "\"a\""},
                                          {"/v1/vars?namespace=*", "a/path"},
                                          {"/v1/node/" + own_node + "/allocations", uuid(103)}}) {
    const auto answer = fixture.as(test::a_only, "GET", url, "");
    const auto& target = url;
    CAPTURE(target);
    CAPTURE(answer.body);
    CHECK(answer.status == 200);
    CHECK(answer.body.find(sees) != std::string::npos);
  }
}

TEST_CASE("access: who is refused does not wait, and a rendering is for those who may see it") {
  TwoNamespaces fixture;
  const auto soon = fixture.as(
      test::a_only, "GET", "/v1/allocation/" + own_alloc + "?namespace=a&index=1000&wait=1m", "");
  CHECK(soon.status == 403);

  for (unsigned i = 0; i < 20; ++i)
    fixture.state().register_job({.id = fmt::format("bbb-{}", i), .ns = "bbb"});
  const std::string list = "/v1/jobs?namespace=*";
  for (int round = 0; round < 3; ++round) {
    CHECK(fixture.as("owner", "GET", list, "").body.find("bbb-web") != std::string::npos);
    CHECK(fixture.as(test::a_only, "GET", list, "").body.find("bbb-web") == std::string::npos);
  }
  for (int round = 0; round < 3; ++round)
    fixture.as("owner", "GET", "/v1/job/bbb-web?namespace=bbb", "");
  CHECK(fixture.as(test::a_only, "GET", "/v1/job/bbb-web?namespace=bbb", "").status == 403);
}

TEST_CASE("access: a blocking query is judged again when there is news") {
  const auto open = std::make_shared<std::atomic<bool>>(true);
  ApiFixture fixture{[&](ApiOptions& options) {
    options.authenticator
        = test::allowing([open](Capability, const access::Target&) { return open->load(); });
  }};
  fixture.state().register_job({.id = "web"});
  const auto target = fmt::format("/v1/job/web?index={}", fixture.state().index);
  auto answer = std::async(std::launch::async, [&] { return fixture.get(target).status; });
  REQUIRE(fixture.has_waiting(1));

  *open = false;
  fixture.state().register_job({.id = "web", .type = "batch"});

  CHECK(answer.get() == 403);
}

TEST_CASE("access: a read of no namespace is judged again, too, by all that opened it") {
  for (const auto& [path, needed] :
       {std::pair<std::string, Capability>{"/v1/nodes", Capability::node_read},
        {"/v1/node/pool/default/nodes", Capability::node_pool_read},
        {"/v1/node/pool/default/nodes", Capability::node_read}}) {
    const auto& url = path;
    CAPTURE(url);
    const auto taken = std::make_shared<std::atomic<Capability>>(Capability::none);
    ApiFixture fixture{[&](ApiOptions& options) {
      options.authenticator = test::allowing(
          [taken](Capability one, const access::Target&) { return one != *taken; });
    }};
    fixture.state().register_node({.id = own_node, .pool = "default"});
    const auto target = fmt::format("{}?index={}", url, fixture.state().index);
    auto answer = std::async(std::launch::async, [&] { return fixture.get(target).status; });
    REQUIRE(fixture.has_waiting(1));

    *taken = needed;
    fixture.state().register_node({.id = uuid(7), .pool = "default"});

    CHECK(answer.get() == 403);
  }
}

TEST_CASE("access: rights that went while the leader made sure are gone") {
  const auto index = std::make_shared<std::atomic<std::uint64_t>>(1);
  ApiFixture fixture{
      [&](ApiOptions& options) { options.authenticator = test::until_revoked(index); }};
  fixture.state().register_job({.id = "web"});
  fixture.lease->set(0);
  fixture.played->before_read_index = [index] { *index = 2; };
  CHECK(fixture.get("/v1/jobs").status == 403);
}

TEST_CASE("access: what another region is to serve is not judged by the tokens of this one") {
  TwoNamespaces fixture;
  for (const auto* url : {"/v1/jobs", "/v1/nodes", "/v1/agent/members", "/v1/client/stats"}) {
    const auto& target = url;
    CAPTURE(target);
    const auto answer = fixture.as(test::no_token, "GET", target + std::string{"?region=eu"}, "");
    CHECK(answer.body == "No path to region");
    CHECK(fixture.as(test::no_token, "GET", target + std::string{"?region=global"}, "").status
          == 403);
  }
  // What is about this agent stays here.
  CHECK(fixture.as(test::no_token, "GET", "/v1/agent/self?region=eu", "").status == 403);
}

TEST_CASE("access: nor is a job for another region, as its body alone says") {
  TwoNamespaces fixture;
  const auto of = [&](const std::string& path, const std::string& region) {
    return fixture
        .as(test::no_token, "PUT", path, R"({"Job":{"ID":"web","Region":")" + region + "\"}}")
        .body;
  };
  for (const std::string path : {"/v1/jobs", "/v1/job/web", "/v1/job/web/plan"}) {
    CHECK(of(path, "eu") == "No path to region");
    for (const auto* region : {"", "global"})
      CHECK(of(path, region) == "Permission denied");
    for (const auto* body : {"", "{", R"({"Job":7})"})
      CHECK(fixture.as(test::no_token, "PUT", path, body).body == "Permission denied");
  }
}

TEST_CASE("access: an allocation needs no namespace") {
  TwoNamespaces fixture;
  const auto of = [&](const std::string& token, const std::string& id) {
    return fixture.as(token, "GET", "/v1/allocation/" + id, "").status;
  };
  CHECK(of(test::a_only, uuid(103)) == 200);
  CHECK(of(test::a_only, own_alloc) == 403);
  CHECK(of(test::a_only, uuid(9)) == 404);
  CHECK(of(test::nothing, own_alloc) == 403);
  CHECK(of(test::nothing, uuid(9)) == 403);
}

TEST_CASE("access: lists of all namespaces are refused or empty for who has nothing, as in Nomad") {
  TwoNamespaces fixture;
  const auto status_of = [&](const std::string& path, const std::string& token) {
    return fixture.as(token, "GET", path + "namespace=*", "").status;
  };
  for (const auto* path : {"/v1/jobs?", "/v1/allocations?", "/v1/evaluations?", "/v1/deployments?",
                           "/v1/volumes?type=csi&"}) {
    CAPTURE(path);
    CHECK(status_of(path, test::nothing) == 403);
    CHECK(status_of(path, test::a_only) == 200);
  }
  for (const auto* path : {"/v1/services?", "/v1/scaling/policies?", "/v1/vars?"})
    CHECK(status_of(path, test::nothing) == 200);
}

TEST_CASE("access: a null character in the name of a namespace leads into no other one") {
  TwoNamespaces world{test::giving([](std::string_view token) -> Result<access::RightsRef> {
    if (token != "wide") return access::Rights::everything();
    return access::rights_from(
        {R"(namespace "*" { policy = "write" } namespace "bbb" { policy = "deny" })"});
  })};
  REQUIRE(world.as("wide", "GET", "/v1/job/a-web/versions?namespace=a", "").status == 200);
  // The keys of what a job has begin with the namespace and the job's id, and a null character
  // behind each.
  for (const std::string id : {"%00", "%00%00%00", "%00%00%00%00%00%00"})
    for (const std::string of : {"/versions", "/deployments", "/deployment", "/evaluations",
                                 "/allocations", "/summary", "/scale", "/services", ""}) {
      const auto target = "/v1/job/" + id + of + "?namespace=bbb%00bbb-web";
      CAPTURE(target);
      const auto answer = world.as("wide", "GET", target, "");
      CHECK(answer.status == 403);
      CHECK(answer.body == "Permission denied");
    }
}

TEST_CASE("access: a lost check-and-set shows the items only to who may read them") {
  TwoNamespaces fixture;
  const auto put = [&](const std::string& token) {
    return fixture.as(token, "PUT", "/v1/var/a/path?namespace=a&cas=7", R"({"Items":{"k":"w"}})");
  };
  CHECK(put(test::a_only).body.find(R"("Items":{"k":"v"})") != std::string::npos);
  const auto blind = put(test::a_only_writes);
  CHECK(blind.status == 409);
  CHECK(blind.body.find(R"("Items":null)") != std::string::npos);
}

TEST_CASE("metrics: operations are measured under names of their own, and each of them exists") {
  Routes routes{nullptr};
  add_routes(routes, {});
  std::set<std::string_view> listed;
  for (const auto& [route, needed] : routes.listed())
    listed.insert(route);
  for (const auto& [operation, metric] : measured_operations()) {
    const auto& shown = operation;
    CAPTURE(shown);
    CHECK(listed.contains(operation));
    CHECK(metric_of(operation) == metric);
    CHECK(metric.starts_with("nomad."));
  }
  CHECK(metric_of("GET /v1/nothing").empty());
}
