// Reads of jobs, allocations, evaluations, deployments, nodes: shapes, orders, pages, errors.
#include <map>

#include <doctest/doctest.h>

#include "runtime/net/http/gzip.hpp"
#include "runtime/net/http/http_message.hpp"
#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;
namespace json = boost::json;

namespace {

/// Jobs web and api, three allocations, two evaluations, a deployment and a node.
void fill(ApiFixture& fixture) {
  auto& state = fixture.state();
  fixture.add_namespace("other");
  state.register_node({.id = own_node});
  state.register_job({.id = "web"}, {.id = uuid(1), .job = "web"});
  state.register_job({.id = "web-2"});
  state.register_job({.id = "batch", .ns = "other", .type = "batch"},
                     {.id = uuid(2), .job = "batch", .ns = "other"});
  state.place({{.id = uuid(11), .node = own_node, .eval = uuid(1), .deployment = uuid(21)},
               {.id = uuid(12), .node = own_node, .eval = uuid(1), .deployment = uuid(21)}});
  state.place({{.id = uuid(13), .job = "batch", .ns = "other", .node = own_node, .eval = uuid(2)}});
  state.deploy(uuid(21), 2);
  state.report(uuid(11), schema::ClientStatus::RUNNING);
}

const json::object& first(const json::value& list) {
  return list.as_array().at(0).as_object();
}

}  // namespace

TEST_CASE("read: jobs come as stubs, by namespace, prefix and filter") {
  ApiFixture fixture;
  fill(fixture);

  const auto jobs = fixture.json("/v1/jobs");
  CHECK(texts_of(jobs, "ID") == "web,web-2");
  const auto& stub = first(jobs);
  CHECK(stub.at("JobSummary").as_object().at("Summary").as_object().contains("api"));
  CHECK(stub.at("Periodic") == false);
  CHECK_FALSE(stub.contains("Meta"));
  CHECK(texts_of(fixture.json("/v1/jobs?namespace=*"), "ID") == "web,web-2,batch");
  CHECK(texts_of(fixture.json("/v1/jobs?namespace=*&prefix=b"), "ID") == "batch");
  CHECK(texts_of(fixture.json("/v1/jobs?namespace=other"), "ID") == "batch");
  CHECK(fixture.json("/v1/jobs?namespace=nowhere").as_array().empty());
  CHECK(texts_of(fixture.json("/v1/jobs?prefix=web-"), "ID") == "web-2");
  CHECK(texts_of(fixture.json("/v1/jobs?filter=ID%20%3D%3D%20%22web%22"), "ID") == "web");
  CHECK(fixture.refusal("/v1/jobs?filter=Foo%3D%3D1")
        == "400 failed to read result page: error finding value in datum: /Foo at part 0: couldn't "
           "find key: struct field with name \"Foo\"");
  CHECK(fixture.refusal("/v1/jobs?filter=Foo")
            .starts_with("400 failed to create result paginator: failed to read filter expression: "
                         "1:4 (3): no match "
                         "found, expected: "));
  CHECK(fixture.refusal("/v1/jobs?filter=" + std::string(30, '(')).starts_with("400 "));
  CHECK(fixture.refusal("/v1/jobs?meta=x")
            .starts_with("400 Failed to parse value of \"meta\" (x) as a bool: strconv.ParseBool"));
}

TEST_CASE("read: lists carry their index, and pages their token") {
  ApiFixture fixture;
  fill(fixture);

  const auto page = fixture.get("/v1/jobs?per_page=1");
  CHECK(texts_of(json::parse(page.body), "ID") == "web");
  CHECK(page.header("X-Nomad-Nexttoken") == "default.web-2");
  CHECK(page.header("X-Nomad-Knownleader") == "true");
  CHECK(page.header("X-Nomad-Lastcontact") == "0");
  CHECK(std::stoul(std::string{page.header("X-Nomad-Index")})
        == std::max(fixture.state().now().index(state::Table::jobs),
                    fixture.state().now().index(state::Table::job_summaries)));
  const auto last = fixture.get("/v1/jobs?per_page=1&next_token=default.web-2");
  CHECK(texts_of(json::parse(last.body), "ID") == "web-2");
  CHECK(last.header("X-Nomad-Nexttoken") == "");
  CHECK(texts_of(fixture.json("/v1/jobs?per_page=x"), "ID") == "web,web-2");
  CHECK(fixture.get("/v1/jobs?fields=Namespace,ID").body
        == R"([{"ID":"web","Namespace":"default"},{"ID":"web-2","Namespace":"default"}])");
  CHECK(fixture.get("/v1/jobs?fields=Status&per_page=1").header("X-Nomad-NextToken")
        == "default.web-2");

  const auto oldest = fixture.get("/v1/allocations?namespace=*&per_page=2");
  CHECK(texts_of(json::parse(oldest.body), "ID") == uuid(11) + ',' + uuid(12));
  const auto token = std::string{oldest.header("X-Nomad-Nexttoken")};
  CHECK(token.ends_with('.' + uuid(13)));
  CHECK(texts_of(fixture.json("/v1/allocations?namespace=*&next_token=" + token), "ID")
        == uuid(13));
  CHECK(texts_of(fixture.json("/v1/allocations?namespace=*&reverse=true"), "ID")
        == uuid(13) + ',' + uuid(12) + ',' + uuid(11));
  CHECK(texts_of(fixture.json(
                     "/v1/allocations?namespace=*&reverse=true&next_token="
                     + std::to_string(fixture.state().now().alloc(uuid(12))->alloc->create_index())
                     + '.' + uuid(11)),
                 "ID")
        == uuid(11));
}

TEST_CASE("read: what nothing was ever written to has index 0, where Nomad says so") {
  ApiFixture fixture;
  const auto index = [&fixture](const std::string& path) {
    return std::string{fixture.get("/v1/" + path).header("X-Nomad-Index")};
  };

  for (const auto* path : {"jobs", "allocations", "evaluations", "deployments", "job/x", "nodes",
                           "job/x/allocations", "job/x/versions", "job/x/submission?version=0"}) {
    CAPTURE(path);
    CHECK(index(path) == "0");
  }
  for (const auto* path : {"services", "service/x", "vars", "scaling/policies", "namespaces",
                           "node/pools", "operator/scheduler/configuration"}) {
    CAPTURE(path);
    CHECK(index(path) == "1");
  }
  const auto count = fixture.json("/v1/evaluations/count").as_object();
  CHECK(count.at("Index") == 0);
  for (const auto* context : {"jobs", "volumes", "plugins", "vars"}) {
    CAPTURE(context);
    const auto found = fixture.send("PUT", "/v1/search",
                                    R"({"Prefix":"","Context":")" + std::string{context} + "\"}");
    CHECK(found.header("X-Nomad-Index") == "0");
    CHECK(json::parse(found.body).as_object().at("Index") == 0);
  }
}

TEST_CASE("read: no node's allocations are no mistake") {
  ApiFixture fixture;
  for (const auto& id : {std::string{"none"}, uuid(99)}) {
    const auto answer = fixture.get("/v1/node/" + id + "/allocations");
    CHECK(answer.status == 200);
    CHECK(answer.body == "[]");
    CHECK(answer.header("X-Nomad-Index") == "1");
  }
}

TEST_CASE("read: a job is shown with its parts, absent ones are told") {
  ApiFixture fixture;
  fill(fixture);

  CHECK(fixture.json("/v1/job/web").as_object().at("ID") == "web");
  const auto missing = fixture.get("/v1/job/nope");
  CHECK(missing.status == 404);
  CHECK(missing.body == "job not found");
  CHECK(missing.header("X-Nomad-Index") != "");
  CHECK(fixture.refusal("/v1/job/batch") == "404 job not found");
  CHECK(fixture.json("/v1/job/batch?namespace=other").as_object().at("Type") == "batch");
  CHECK(fixture.refusal("/v1/job/") == "404 job not found");
  CHECK(fixture.get("/v1/job").status == 301);

  CHECK(fixture.json("/v1/job/web/summary").as_object().at("JobID") == "web");
  CHECK(fixture.refusal("/v1/job/nope/summary") == "404 job not found");
  CHECK(texts_of(fixture.json("/v1/job/web/allocations"), "ID") == uuid(11) + ',' + uuid(12));
  CHECK(fixture.json("/v1/job/nope/allocations").as_array().empty());
  CHECK(texts_of(fixture.json("/v1/job/web/evaluations"), "ID") == uuid(1));
  CHECK(texts_of(fixture.json("/v1/job/web/deployments"), "ID") == uuid(21));
  CHECK(fixture.json("/v1/job/web/deployment").as_object().at("ID").as_string()
        == json::string_view{uuid(21)});
  CHECK(fixture.json("/v1/job/nope/deployment").is_null());
  CHECK(fixture.json("/v1/job/web/services").as_array().empty());
  const auto versions = fixture.json("/v1/job/web/versions").as_object();
  CHECK(versions.at("Versions").as_array().size() == 1);
  CHECK(versions.at("Diffs").is_null());
  CHECK(versions.at("KnownLeader") == true);
  CHECK(fixture.refusal("/v1/job/nope/versions") == "404 job versions not found");
  CHECK(fixture.refusal("/v1/job/web/submission?version=0") == "404 job source not found");
  CHECK(fixture.refusal("/v1/job/web/submission")
        == "400 Unable to parse job submission version parameter");
}

TEST_CASE("read: allocations show what the CLI needs, whole and as stubs") {
  ApiFixture fixture;
  fill(fixture);

  const auto whole = fixture.json("/v1/allocation/" + uuid(11)).as_object();
  CHECK(whole.at("Job").as_object().at("ID") == "web");
  CHECK(whole.at("Metrics").as_object().at("NodesEvaluated") == 7);
  CHECK(whole.at("TaskResources").as_object().at("server").as_object().at("CPU") == 100);
  CHECK(whole.at("Resources").as_object().at("MemoryMB") == 256);
  CHECK(whole.at("SharedResources").as_object().at("DiskMB") == 300);
  CHECK_FALSE(whole.contains("DesiredDescription"));
  CHECK(fixture.refusal("/v1/allocation/" + uuid(99)) == "404 alloc not found");
  CHECK(fixture.refusal("/v1/allocation/short")
        == "400 alloc lookup failed: index error: UUID must be 36 characters");
  CHECK(fixture.refusal("/v1/allocation/a/b/c") == "404 resource not found");

  const auto stubs = fixture.json("/v1/allocations?prefix=" + uuid(11).substr(0, 7));
  CHECK(texts_of(stubs, "ID") == uuid(11));
  CHECK(first(stubs).at("ClientStatus") == "running");
  CHECK(first(stubs).at("JobType") == "service");
  CHECK(first(stubs).at("DesiredDescription") == "");
  CHECK_FALSE(first(stubs).contains("AllocatedResources"));
  CHECK(first(fixture.json("/v1/allocations?resources=true")).contains("AllocatedResources"));
  CHECK(fixture.refusal("/v1/allocations?prefix=zz").starts_with("400 alloc lookup failed: "));
  CHECK(texts_of(fixture.json("/v1/allocations?namespace=*&filter=Job.Type%20%3D%3D%20batch"), "ID")
        == uuid(13));
  CHECK(fixture.json("/v1/allocation/" + uuid(11) + "/services").as_array().empty());
  CHECK(fixture.refusal("/v1/allocation/" + uuid(99) + "/services") == "404 allocation not found");
}

TEST_CASE("read: evaluations and deployments") {
  ApiFixture fixture;
  fill(fixture);

  CHECK(texts_of(fixture.json("/v1/evaluations?namespace=*"), "ID") == uuid(1) + ',' + uuid(2));
  CHECK(texts_of(fixture.json("/v1/evaluations?job=web"), "ID") == uuid(1));
  CHECK(fixture.json("/v1/evaluations?status=complete").as_array().empty());
  CHECK(fixture.refusal("/v1/evaluations?status=x&filter=ID%3D%3D1")
        == "400 Filter expression cannot be used with other filter parameters");
  CHECK(fixture.json("/v1/evaluations/count?namespace=*").as_object().at("Count") == 2);
  const std::map<std::string, int> counts{{"", 1},
                                          {"?namespace=none", 0},
                                          {"?job=web", 1},
                                          {"?job=we", 0},
                                          {"?namespace=*&job=web", 1},
                                          {"?namespace=*&status=pending", 2},
                                          {"?namespace=*&status=complete", 0},
                                          {"?namespace=*&prefix=" + uuid(1).substr(0, 36), 1}};
  for (const auto& one : counts) {
    CAPTURE(one.first);
    CHECK(fixture.json("/v1/evaluations/count" + one.first).as_object().at("Count") == one.second);
  }
  CHECK(fixture.json("/v1/evaluation/" + uuid(1)).as_object().at("JobID") == "web");
  fixture.state().put_eval({.id = uuid(3), .job = "web"});
  fixture.state().run([](auto command) {
    auto eval = command.initEvalUpdate().initEvaluations(1)[0];
    const auto id = uuid(1);
    const auto next = uuid(3);
    eval.setId(text(id));
    eval.setNamespace("default");
    eval.setJobId("web");
    eval.setNextEval(text(next));
  });
  CHECK(texts_of(fixture.json("/v1/evaluation/" + uuid(1) + "?related=true")
                     .as_object()
                     .at("RelatedEvals"),
                 "ID")
        == uuid(3));
  CHECK_FALSE(fixture.json("/v1/evaluation/" + uuid(3) + "?related=true")
                  .as_object()
                  .contains("RelatedEvals"));
  CHECK(fixture.refusal("/v1/evaluation/" + uuid(99)) == "404 eval not found");
  CHECK(fixture.refusal("/v1/evaluation/x")
        == "400 failed to lookup eval: eval lookup failed: index error: UUID must be 36 "
           "characters");
  CHECK(texts_of(fixture.json("/v1/evaluation/" + uuid(1) + "/allocations"), "ID")
        == uuid(11) + ',' + uuid(12));

  CHECK(texts_of(fixture.json("/v1/deployments"), "ID") == uuid(21));
  CHECK(fixture.json("/v1/deployment/" + uuid(21)).as_object().at("Status") == "running");
  CHECK(fixture.refusal("/v1/deployment/" + uuid(99)) == "404 deployment not found");
  CHECK(texts_of(fixture.json("/v1/deployment/allocations/" + uuid(21)), "ID")
        == uuid(11) + ',' + uuid(12));
}

TEST_CASE("read: nodes, pools, namespaces and services") {
  ApiFixture fixture;
  fill(fixture);

  const auto nodes = fixture.json("/v1/nodes");
  CHECK(texts_of(nodes, "ID") == own_node);
  CHECK(first(nodes).at("Status") == "ready");
  CHECK(first(nodes).at("Drain") == false);
  CHECK_FALSE(first(nodes).contains("Attributes"));
  CHECK(first(fixture.json("/v1/nodes?os=true")).contains("Attributes"));
  CHECK(fixture.refusal("/v1/nodes?os=x").starts_with("400 Failed to parse node list fields: "));
  const auto node = fixture.json("/v1/node/" + own_node).as_object();
  CHECK(node.at("SecretID") == "");
  CHECK(node.at("Resources").as_object().contains("CPU"));
  CHECK(node.at("Reserved").as_object().contains("MemoryMB"));
  CHECK(node.at("Drain") == false);
  CHECK(fixture.refusal("/v1/node/" + uuid(99)) == "404 node not found");
  CHECK(fixture.json("/v1/node/" + own_node + "/allocations").as_array().size() == 3);

  CHECK(texts_of(fixture.json("/v1/node/pools"), "Name") == "all,default");
  CHECK(fixture.json("/v1/node/pool/default").as_object().at("Name") == "default");
  CHECK(fixture.refusal("/v1/node/pool/x") == "404 node pool not found");
  CHECK(texts_of(fixture.json("/v1/node/pool/all/nodes"), "ID") == own_node);
  CHECK(texts_of(fixture.json("/v1/namespaces"), "Name") == "default,other");
  CHECK(fixture.json("/v1/namespace/default").as_object().at("Name") == "default");
  CHECK(fixture.refusal("/v1/namespace/x") == "404 Namespace not found");
  CHECK(fixture.json("/v1/services").as_array().empty());
  CHECK(fixture.json("/v1/service/none").as_array().empty());
  CHECK(fixture.refusal("/v1/service/") == "400 missing service name");
}

TEST_CASE("read: search finds by prefix and kind") {
  ApiFixture fixture;
  fill(fixture);

  const auto all
      = json::parse(fixture.send("POST", "/v1/search", R"({"Prefix":"we","Context":"all"})").body)
            .as_object();
  const auto& matches = all.at("Matches").as_object();
  CHECK(json::serialize(matches.at("jobs")) == R"(["web","web-2"])");
  CHECK_FALSE(matches.contains("allocs"));  // "we" begins no UUID
  CHECK(all.at("Truncations").as_object().at("jobs") == false);
  const auto allocs
      = json::parse(fixture
                        .send("PUT", "/v1/search",
                              R"({"prefix":")" + uuid(11).substr(0, 3) + R"(","context":"allocs"})")
                        .body);
  CHECK(json::serialize(allocs.as_object().at("Matches"))
        == R"({"allocs":[")" + uuid(11) + R"("]})");
  const auto without = json::parse(
      fixture.send("PUT", "/v1/search", R"({"Prefix":"we","Context":"allocs"})").body);
  CHECK(without.at("Matches").as_object().empty());
  CHECK(without.at("Index") == allocs.at("Index"));
  CHECK(without.at("Index") != 0);
  CHECK(matches.contains("scaling_policy"));
  for (const auto* body : {R"({"Context":"x"})", R"({"Prefix":"we"})"})
    CHECK(fixture.refusal("POST", "/v1/search", body).starts_with("400 context must"));
  CHECK(fixture.refusal("GET", "/v1/search", "") == "405 Invalid method");
}

TEST_CASE("read: wrong methods, paths and parameters are told in Nomad's words") {
  ApiFixture fixture;

  CHECK(fixture.refusal("DELETE", "/v1/jobs", "") == "405 Invalid method");
  CHECK(fixture.refusal("POST", "/v1/allocations", "") == "405 Invalid method");
  const auto unknown = fixture.get("/v1/nothing");
  CHECK(unknown.status == 404);
  CHECK(unknown.body == "");
  CHECK(fixture.refusal("/v1/jobs?index=x") == "400 Invalid index");
  CHECK(fixture.refusal("/v1/jobs?wait=x") == "400 Invalid wait time");
  CHECK(fixture.refusal("/v1/jobs?stale=maybe")
            .starts_with("400 Expect `true` or `false` for `stale`"));
  CHECK(fixture.refusal("/v1/jobs?region=mars") == "400 No path to region");
  CHECK(fixture.refusal("/v1/recommendations") == "501 Nomad Enterprise only endpoint");
  CHECK(fixture.get("/v1/operator/license").status == 204);
}

TEST_CASE("read: pretty and gzip are the same answer in another dress") {
  ApiFixture fixture;
  fill(fixture);
  const auto plain = fixture.get("/v1/jobs");

  CHECK(fixture.get("/v1/jobs?pretty").body == net::pretty_json(plain.body));
  CHECK(fixture.get("/v1/jobs?pretty=0").body == plain.body);
  auto client = fixture.client();
  const auto packed
      = client.send({.target = "/v1/jobs", .headers = {{"Accept-Encoding", "gzip"}}, .body = ""});
  CHECK(packed->header("Content-Encoding") == "gzip");
}

TEST_CASE("read: a long list is sent while it is made, and is the same list") {
  ApiFixture fixture;
  for (unsigned i = 0; i < 1'200; ++i)
    fixture.state().register_job({.id = "job-" + std::to_string(i)});
  auto client = fixture.client();
  const auto packed
      = client.send({.target = "/v1/jobs", .headers = {{"Accept-Encoding", "gzip"}}, .body = ""});
  const auto whole = net::gunzip(packed->body, 10'000'000);

  const auto early = fixture.get("/v1/jobs?stale");  // another target: nothing is kept for it
  CHECK(early.header("Transfer-Encoding") == "chunked");
  CHECK((early.body == whole));
  CHECK(early.header("X-Nomad-Index") == packed->header("X-Nomad-Index"));
  CHECK(early.header("Content-Type") == "application/json");

  for (int i = 0; i < 2; ++i) {
    const auto again = fixture.get("/v1/jobs?stale");
    CHECK(again.header("Transfer-Encoding") == "");
    CHECK((again.body == whole));
  }
  CHECK(json::parse(whole).as_array().size() == 1'200);
  CHECK(fixture.get("/v1/jobs?filter=ID+!=+x").header("Transfer-Encoding") == "");
  CHECK(fixture.get("/v1/jobs?per_page=1100").header("X-Nomad-NextToken") != "");
}

TEST_CASE("read: what an agent lacks is told to who asks for it") {
  ApiFixture fixture{[](ApiOptions& options) {
    options.client = {};
    options.metrics.registry = nullptr;
    options.state.raft = {};
  }};

  CHECK(fixture.refusal("/v1/metrics") == "500 this agent keeps no metrics");
  CHECK(fixture.refusal("/v1/client/stats") == "400 No local Node and node_id not provided");
  CHECK(fixture.refusal("/v1/client/allocation/" + uuid(1) + "/snapshot")
        == "400 node is not running a Nomad Client");
  CHECK(fixture.refusal("/v1/agent/members") == "500 No known servers");
}

TEST_CASE("read: a snapshot is not taken where there is none, or no place for it") {
  ApiFixture fixture{[](ApiOptions& options) { options.uploads.directory.clear(); }};
  CHECK(fixture.refusal("/v1/operator/snapshot")
        == "409 failed to open snapshot: nothing was applied yet that could be saved");
  CHECK(fixture.refusal("PUT", "/v1/operator/snapshot", "x")
        == "500 failed to restore from snapshot: this agent has no directory for archives");
}
