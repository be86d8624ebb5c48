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
#include "runtime/object/entries.hpp"
#include "test/support/access_policy.hpp"
#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

const std::string eval_b = uuid(201);
const std::string deployment_a = uuid(102);
const std::string deployment_b = uuid(202);

/// The same things in namespaces "a" and "bbb"; of the latter all names hold "bbb".
struct TwoNamespaces : ApiFixture {
  TwoNamespaces()
      : ApiFixture{[](ApiOptions& options) { options.authenticator = test::a_only_rights(); }} {
    add_root_key();
    state().register_node({.id = own_node});
    fill("a", "a-web", uuid(101), uuid(103), deployment_a);
    fill("bbb", "bbb-web", eval_b, own_alloc, deployment_b);
    played->alloc_ns = "bbb";
  }

  void fill(const std::string& ns,
            const std::string& job,
            const std::string& eval,
            const std::string& alloc,
            const std::string& deployment) {
    add_namespace(ns);
    state().register_job({.id = job, .ns = ns}, {.id = eval, .job = job, .ns = ns});
    state().run([&](auto command) {
      auto named = command.initJobRegister().initJob();
      state::fill(named, state::JobSpec{.id = job + "-scaled", .ns = ns});
      auto policy = named.getTaskGroups()[0].initScaling();
      fill_entries(policy.initTarget(3),
                   std::map<std::string, std::string>{
                       {"Group", "api"}, {"Job", job + "-scaled"}, {"Namespace", ns}});
    });
    state().run([&](auto command) {
      auto made = command.initPlanResults().initPlans(1)[0].initDeployment();
      made.setId(text(deployment));
      made.setNamespace(text(ns));
      made.setJobId(text(job));
      made.setStatus(schema::DeploymentState::RUNNING);
    });
    state().place({{.id = alloc,
                    .job = job,
                    .ns = ns,
                    .node = own_node,
                    .eval = eval,
                    .deployment = deployment}});
    state().run([&](auto command) {
      auto service = command.initServiceUpsert().initServices(1)[0];
      service.setId(text("_" + job));
      service.setServiceName(text(ns + "-service"));
      service.setNamespace(text(ns));
      service.setJobId(text(job));
      service.setAllocId(text(alloc));
      service.setNodeId(text(own_node));
    });
    REQUIRE(send("PUT", "/v1/var/" + ns + "/path?namespace=" + ns, R"({"Items":{"k":"v"}})").status
            == 200);
  }

  net::ClientResponse as(const std::string& token,
                         const std::string& method,
                         const std::string& target,
                         const std::string& body) {
    auto client = net::HttpClient::make(
        {.address = "http://" + address(), .headers = {{"X-Nomad-Token", token}}});
    auto response = client->send({.method = method, .target = target, .body = body});
    CAPTURE(target);
    REQUIRE(response.has_value());
    return std::move(*response);
  }
};

struct Case {
  std::string target;
  std::string body = {};

  /// What the answer shows to those who may see it and to nobody else; empty: the request is to be
  /// refused.
  std::string hidden = {};
  bool ends = true;  ///< Of an answer that everybody gets.
};

using Cases = std::multimap<std::string, Case>;

const std::string job_a = R"({"Job":{"ID":"a-web","Namespace":"a"}})";
const std::string job_b = R"({"Job":{"ID":"bbb-web","Namespace":"bbb"}})";
const std::string named_b = R"({"JobID":"bbb-web","JobVersion":0,"Stable":true})";

/// The id of the only scaling policy of namespace "bbb": made of what the fixture makes.
std::string policy_of_b() {
  TwoNamespaces fixture;
  const auto snapshot = fixture.state().now();
  for (const auto& entry : snapshot.scaling_policies_by_job("bbb", "bbb-web-scaled"))
    return std::string{entry.key().substr(entry.key().rfind('\0') + 1)};
  return {};
}

Cases scaling_cases() {
  const auto id = policy_of_b();
  return {
      {"GET /v1/scaling/policies", {"/v1/scaling/policies?namespace=bbb"}},
      {"GET /v1/scaling/policies", {"/v1/scaling/policies?namespace=*", "", "bbb-web-scaled"}},
      {"GET /v1/scaling/policies",
       {"/v1/scaling/policies?namespace=*&job=bbb-web-scaled", "", "bbb-web-scaled"}},
      {"GET /v1/scaling/policy/*", {"/v1/scaling/policy/" + id + "?namespace=a"}},
      {"PUT /v1/search",
       {"/v1/search?namespace=*",
        R"({"Prefix":")" + id.substr(0, 8) + R"(","Context":"scaling_policy"})", id}},
  };
}

Cases job_cases() {
  const std::string b = "?namespace=bbb";
  Cases cases{
      {"GET /v1/jobs", {"/v1/jobs" + b}},
      {"GET /v1/jobs", {"/v1/jobs?namespace=*", "", "bbb-web"}},
      {"GET /v1/jobs", {"/v1/jobs?namespace=*&filter=ID+contains+%22web%22", "", "bbb-web"}},
      {"PUT /v1/jobs", {"/v1/jobs", job_b}},
      {"PUT /v1/jobs", {"/v1/jobs" + b, job_a}},  // the query's counts for what is registered
      {"PUT /v1/jobs/parse", {"/v1/jobs/parse" + b, R"({"JobHCL":"job \"x\" {}"})"}},
      {"PUT /v1/validate/job", {"/v1/validate/job?namespace=a", job_b}},
      {"PUT /v1/job/*/plan", {"/v1/job/bbb-web/plan", job_b}},
      {"PUT /v1/job/*", {"/v1/job/bbb-web", job_b}},
      {"DELETE /v1/job/*", {"/v1/job/bbb-web" + b}},
      {"DELETE /v1/job/*", {"/v1/job/bbb-web" + b + "&no_shutdown_delay=true"}},
      {"GET /v1/job/*/submission", {"/v1/job/bbb-web/submission" + b + "&version=0"}},
      {"PUT /v1/job/*/scale",
       {"/v1/job/bbb-web/scale" + b, R"({"Count":2,"Target":{"Group":"api"}})"}},
      {"PUT /v1/job/*/scale",
       {"/v1/job/bbb-web/scale" + b, R"({"Message":"m","Target":{"Group":"api"}})"}},
  };
  for (const auto* suffix : {"/allocations", "/evaluations", "/summary", "/versions",
                             "/deployments", "/deployment", "/scale", "/services", ""})
    cases.emplace(fmt::format("GET /v1/job/*{}", suffix),
                  Case{fmt::format("/v1/job/bbb-web{}{}", suffix, b)});
  for (const auto* suffix : {"/evaluate", "/periodic/force", "/dispatch", "/revert", "/stable"})
    cases.emplace(fmt::format("PUT /v1/job/*{}", suffix),
                  Case{fmt::format("/v1/job/bbb-web{}{}", suffix, b), named_b});
  return cases;
}

Cases object_cases() {
  const std::string a = "?namespace=a";
  const std::string b = "?namespace=bbb";
  const std::string all = "?namespace=*";
  const auto of_deployment = [](const std::string& id, const std::string& more) {
    return fmt::format(R"({{"DeploymentID":"{}",{}}})", id, more);
  };
  const auto health = fmt::format(R"("HealthyAllocationIDs":["{}"])", own_alloc);
  const auto deployment = [](const std::string& action, const std::string& id) {
    return "/v1/deployment/" + action + '/' + id + "?namespace=a";
  };
  return {
      {"GET /v1/allocations", {"/v1/allocations" + b}},
      {"GET /v1/allocations", {"/v1/allocations" + all, "", own_alloc}},
      {"GET /v1/allocation/*", {"/v1/allocation/" + own_alloc + a}},
      {"GET /v1/allocation/*/services", {"/v1/allocation/" + own_alloc + "/services" + a}},
      {"PUT /v1/allocation/*/stop", {"/v1/allocation/" + own_alloc + "/stop" + a}},
      {"ANY /v1/allocation/*/checks", {"/v1/allocation/" + own_alloc + "/checks" + a}},
      {"GET /v1/evaluations", {"/v1/evaluations" + b}},
      {"GET /v1/evaluations", {"/v1/evaluations" + all, "", eval_b}},
      {"GET /v1/evaluations/count", {"/v1/evaluations/count" + b}},
      {"GET /v1/evaluations/count", {"/v1/evaluations/count" + all, "", "\"Count\":2"}},
      {"GET /v1/evaluation/*", {"/v1/evaluation/" + eval_b + a}},
      {"GET /v1/evaluation/*/allocations",
       {"/v1/evaluation/" + eval_b + "/allocations" + a, "", own_alloc}},
      {"GET /v1/deployments", {"/v1/deployments" + b}},
      {"GET /v1/deployments", {"/v1/deployments" + all, "", deployment_b}},
      {"GET /v1/deployment/*", {"/v1/deployment/" + deployment_b + a}},
      {"GET /v1/deployment/allocations/*",
       {"/v1/deployment/allocations/" + deployment_b + a, "", own_alloc}},
      {"PUT /v1/deployment/fail/*", {deployment("fail", deployment_b)}},
      {"PUT /v1/deployment/pause/*",
       {deployment("pause", deployment_b), of_deployment(deployment_b, R"("Pause":true)")}},
      {"PUT /v1/deployment/unblock/*",
       {deployment("unblock", deployment_b), of_deployment(deployment_b, R"("Detach":true)")}},
      {"PUT /v1/deployment/promote/*",
       {deployment("promote", deployment_b), of_deployment(deployment_b, R"("All":true)")}},
      {"PUT /v1/deployment/allocation-health/*",
       {deployment("allocation-health", deployment_b), of_deployment(deployment_b, health)}},
      {"PUT /v1/deployment/allocation-health/*",
       {deployment("allocation-health", deployment_a), of_deployment(deployment_a, health)}},
      {"GET /v1/node/*/allocations", {"/v1/node/" + own_node + "/allocations", "", own_alloc}},
      {"GET /v1/services", {"/v1/services" + b}},
      {"GET /v1/services", {"/v1/services" + all, "", "bbb-service"}},
      {"GET /v1/service/*", {"/v1/service/bbb-service" + b}},
      {"GET /v1/service/*", {"/v1/service/bbb-service" + all, "", "_bbb-web"}},
      {"GET /v1/service/*", {"/v1/service/bbb-service" + all + "&choose=1%7Ck", "", "_bbb-web"}},
      {"DELETE /v1/service/*", {"/v1/service/bbb-service/_bbb-web" + b}},
      {"GET /v1/namespaces", {"/v1/namespaces", "", "bbb"}},
      {"GET /v1/namespace/*", {"/v1/namespace/bbb" + a}},
      {"PUT /v1/namespace", {"/v1/namespace", R"({"Name":"bbb","Description":"mine"})"}},
      {"PUT /v1/namespace/*", {"/v1/namespace/bbb" + a, R"({"Name":"bbb"})"}},
      {"DELETE /v1/namespace/*", {"/v1/namespace/bbb" + a}},
      {"GET /v1/node/pool/*/jobs", {"/v1/node/pool/default/jobs?namespace=*", "", "bbb-web"}},
      {"GET /v1/vars", {"/v1/vars" + b}},
      {"GET /v1/vars", {"/v1/vars" + all, "", "bbb/path"}},
      {"GET /v1/var/*", {"/v1/var/bbb/path" + b}},
      {"PUT /v1/var/*", {"/v1/var/bbb/path" + b, R"({"Items":{"k":"w"}})"}},
      {"PUT /v1/var/*", {"/v1/var/bbb/path", R"({"Namespace":"bbb","Items":{"k":"w"}})"}},
      {"DELETE /v1/var/*", {"/v1/var/bbb/path" + b}},
      {"PUT /v1/search", {"/v1/search" + b, R"({"Prefix":"bbb","Context":"jobs"})"}},
      {"PUT /v1/search", {"/v1/search" + all, R"({"Prefix":"bbb","Context":"all"})", "bbb-web"}},
      {"PUT /v1/search", {"/v1/search" + all, R"({"Prefix":"bbb","Context":"vars"})", "bbb/path"}},
      {"PUT /v1/search",
       {"/v1/search" + all, R"({"Prefix":"aaaaaaaa","Context":"allocs"})", own_alloc}},
      {"GET /v1/event/stream", {"/v1/event/stream?topic=Job&namespace=bbb", "", "", false}},
      {"GET /v1/event/stream", {"/v1/event/stream?namespace=a", "", "", false}},
  };
}

Cases node_cases() {
  Cases cases;
  for (const auto* action : {"stats", "checks", "restart", "gc"})
    cases.emplace(fmt::format("ANY /v1/client/allocation/*/{}", action),
                  Case{fmt::format("/v1/client/allocation/{}/{}?namespace=a", own_alloc, action)});
  cases.emplace("PUT /v1/client/allocation/*/signal",
                Case{fmt::format("/v1/client/allocation/{}/signal?namespace=a", own_alloc),
                     R"({"Signal":"SIGHUP"})"});
  for (const auto* action : {"ls", "stat", "cat", "readat", "stream", "logs"})
    cases.emplace(
        fmt::format("GET /v1/client/fs/{}/*", action),
        Case{fmt::format("/v1/client/fs/{}/{}?namespace=a&path=x&offset=0&task=server&type=stdout",
                         action, own_alloc)});
  return cases;
}

/// For everyone, whatever he may do; `exec` is judged with the token that its first message brings
/// (exec_test.cpp).
const std::set<std::string> open_routes{
    "ANY /v1/operator/keyring/*",
    "ANY /v1/var/*",
    "PUT /v1/agent/join",
    "GET /v1/agent/health",
    "GET /v1/status/leader",
    "GET /v1/status/peers",
    "GET /v1/regions",
    "ANY /v1/acl/*",
    "ANY /v1/sentinel/policies",
    "ANY /v1/quotas",
    "ANY /v1/quota-usages",
    "ANY /v1/quota",
    "ANY /v1/recommendation",
    "ANY /v1/recommendations",
    "ANY /v1/recommendations/apply",
    "ANY /v1/sentinel/policy/*",
    "ANY /v1/quota/*",
    "ANY /v1/recommendation/*",
    "GET /v1/metrics",
    "ANY /v1/client/allocation/*/exec",
    "GET /v1/client/allocation/*/snapshot",  // By the migrate token: disk_test.cpp.
    "ANY /v1/client/allocation/*",
    "ANY /v1/client/fs/*",
};

std::string method_of(const std::string& route) {
  auto method = route.substr(0, route.find(' '));
  return method == "ANY" ? "GET" : method;
}

/// One that is below the route.
std::string some_path(const std::string& route) {
  auto path = route.substr(route.find(' ') + 1);
  if (const auto star = path.find('*'); star != std::string::npos) path.replace(star, 1, own_node);
  return path;
}

void check(const std::string& route, const Case& one) {
  TwoNamespaces fixture;
  CAPTURE(route);
  CAPTURE(one.target);
  const auto index = fixture.state().index;
  const auto stranger = fixture.as(test::a_only, method_of(route), one.target, one.body);
  CAPTURE(stranger.body);
  CHECK(fixture.state().index == index);
  if (one.hidden.empty()) {
    CHECK(stranger.status == 403);
    CHECK(stranger.body == "Permission denied");
    CHECK(stranger.header("X-Nomad-Index").empty());
  } else {
    CHECK(stranger.status == 200);
    CHECK(stranger.body.find(one.hidden) == std::string::npos);
  }
  if (!one.ends) return;
  const auto owner = fixture.as("owner", method_of(route), one.target, one.body);
  CAPTURE(owner.body);
  CHECK(owner.status != 403);
  CHECK(owner.body.find(one.hidden) != std::string::npos);
}

}  // namespace

TEST_CASE("access: no route shows or changes anything of a namespace that is not the caller's") {
  auto cases = job_cases();
  cases.merge(object_cases());
  cases.merge(node_cases());
  cases.merge(scaling_cases());
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
      CHECK(open_routes.contains(route));
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
