#include "test/unit/actors/api/http/access_cases.hpp"

#include <fmt/format.h>

namespace nomad::api {
namespace {

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
      {"GET /v1/jobs/statuses", {"/v1/jobs/statuses" + b}},
      {"GET /v1/jobs/statuses", {"/v1/jobs/statuses?namespace=*", "", "bbb-web"}},
      {"PUT /v1/jobs/statuses", {"/v1/jobs/statuses" + b, "{}"}},
      {"PUT /v1/jobs/statuses",
       {"/v1/jobs/statuses?namespace=*", R"({"Jobs":[{"ID":"bbb-web","Namespace":"bbb"}]})",
        "bbb-web"}},
      {"PUT /v1/jobs", {"/v1/jobs", job_b}},
      {"PUT /v1/jobs", {"/v1/jobs" + b, job_a}},  // the query's counts for what is registered
      {"GET /v1/volumes", {"/v1/volumes?type=csi&namespace=bbb"}},
      {"GET /v1/volumes", {"/v1/volumes?namespace=bbb"}},
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
  for (const auto* method : {"PUT", "DELETE"})
    cases.emplace(fmt::format("{} /v1/job/*/tag", method),
                  Case{"/v1/job/bbb-web/versions/golden/tag" + b, "{}"});
  cases.emplace("GET /v1/job/*/logs", Case{"/v1/job/bbb-web/logs" + b});
  for (const auto* suffix :
       {"/allocations", "/evaluations", "/summary", "/versions", "/deployments", "/deployment",
        "/scale", "/services", "/actions", "/explain", "/capacity", ""})
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
      {"GET /v1/evaluations/count",
       {"/v1/evaluations/count" + all, "", "\"Count\":2", true, 403, true}},
      {"GET /v1/evaluation/*", {"/v1/evaluation/" + eval_b + a}},
      {"GET /v1/evaluation/*/allocations",
       {"/v1/evaluation/" + eval_b + "/allocations" + a, "", own_alloc}},
      {"GET /v1/deployments", {"/v1/deployments" + b}},
      {"GET /v1/deployments", {"/v1/deployments" + all, "", deployment_b}},
      {"GET /v1/deployment/*", {"/v1/deployment/" + deployment_b + a, "", "", true, 404}},
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
       {deployment("allocation-health", deployment_a), of_deployment(deployment_a, health), "",
        true, 403, true}},
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
  };
}

Cases volume_cases() {
  const std::string b = "?namespace=bbb";
  const std::string all = "?namespace=*";
  const std::string volume
      = R"({"Volumes":[{"ID":"bbb-volume","Namespace":"bbb","PluginID":"p","RequestedCapabilities":)"
        R"([{"AccessMode":"single-node-writer","AttachmentMode":"file-system"}]}]})";
  const std::string snapshot = R"({"Snapshots":[{"SourceVolumeID":"bbb-volume"}]})";
  return {
      {"GET /v1/volumes", {"/v1/volumes" + all + "&type=csi", "", "bbb-volume"}},
      {"PUT /v1/volumes", {"/v1/volumes?namespace=a", volume}},
      {"GET /v1/volumes/external", {"/v1/volumes/external" + b + "&plugin_id=p"}},
      {"GET /v1/volumes/snapshot", {"/v1/volumes/snapshot" + b + "&plugin_id=p"}},
      {"PUT /v1/volumes/snapshot", {"/v1/volumes/snapshot" + b, snapshot}},
      {"DELETE /v1/volumes/snapshot", {"/v1/volumes/snapshot" + b + "&plugin_id=p&snapshot_id=s"}},
      {"GET /v1/volume/csi/*", {"/v1/volume/csi/bbb-volume" + b}},
      {"PUT /v1/volume/csi/*", {"/v1/volume/csi/bbb-volume?namespace=a", volume}},
      {"DELETE /v1/volume/csi/*", {"/v1/volume/csi/bbb-volume" + b}},
      {"PUT /v1/volume/csi/*/create", {"/v1/volume/csi/bbb-volume/create?namespace=a", volume}},
      {"DELETE /v1/volume/csi/*/delete", {"/v1/volume/csi/bbb-volume/delete" + b}},
      {"DELETE /v1/volume/csi/*/detach",
       {"/v1/volume/csi/bbb-volume/detach" + b + "&node=" + own_node}},
      {"PUT /v1/search",
       {"/v1/search" + all, R"({"Prefix":"bbb","Context":"volumes"})", "bbb-volume"}},
  };
}

Cases path_and_search_cases() {
  const std::string b = "?namespace=bbb";
  const std::string all = "?namespace=*";
  return {
      {"GET /v1/vars", {"/v1/vars" + b, "", "bbb/path"}},
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
      {"PUT /v1/search/fuzzy", {"/v1/search/fuzzy" + b, R"({"Text":"bbb","Context":"jobs"})"}},
      {"PUT /v1/search/fuzzy",
       {"/v1/search/fuzzy" + all, R"({"Text":"bb-we","Context":"all"})", "bbb-web"}},
      {"PUT /v1/search/fuzzy",
       {"/v1/search/fuzzy" + all, R"({"Text":"/path","Context":"vars"})", "bbb/path"}},
      {"PUT /v1/search/fuzzy",
       {"/v1/search/fuzzy" + all, R"({"Text":"web","Context":"allocs"})", own_alloc}},
      {"GET /v1/event/stream", {"/v1/event/stream?topic=Job&namespace=bbb", "", "", false}},
      {"GET /v1/event/stream", {"/v1/event/stream?namespace=a", "", "", false}},
  };
}

Cases node_cases() {
  Cases cases;
  for (const auto* action : {"stats", "checks", "restart", "gc"})
    cases.emplace(fmt::format("ANY /v1/client/allocation/*/{}", action),
                  Case{fmt::format("/v1/client/allocation/{}/{}?namespace=a", own_alloc, action)});
  cases.emplace("GET /v1/client/allocation/*/identities",
                Case{fmt::format("/v1/client/allocation/{}/identities?namespace=a", own_alloc)});
  const auto pause = fmt::format("/v1/client/allocation/{}/pause?namespace=a", own_alloc);
  cases.emplace("GET /v1/client/allocation/*/pause", Case{pause + "&task=server"});
  cases.emplace("PUT /v1/client/allocation/*/pause",
                Case{pause, R"({"Task":"server","ScheduleState":"pause"})"});
  cases.emplace("PUT /v1/client/allocation/*/signal",
                Case{fmt::format("/v1/client/allocation/{}/signal?namespace=a", own_alloc),
                     R"({"Signal":"SIGHUP"})"});
  for (const auto* action : {"ls", "stat", "cat", "readat", "stream", "logs", "lines"})
    cases.emplace(
        fmt::format("GET /v1/client/fs/{}/*", action),
        Case{fmt::format("/v1/client/fs/{}/{}?namespace=a&path=x&offset=0&task=server&type=stdout",
                         action, own_alloc)});
  return cases;
}

}  // namespace

Cases access_cases() {
  auto cases = job_cases();
  cases.merge(object_cases());
  cases.merge(path_and_search_cases());
  cases.merge(volume_cases());
  cases.merge(node_cases());
  cases.merge(scaling_cases());
  return cases;
}

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

}  // namespace nomad::api
