// migrate check: what works of a cluster, by the tables by which requests and files are read.
#include "cli/migrate/judge.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

using namespace nomad::cli;
using namespace nomad::cli::migrate;

namespace {

boost::json::value judged_json(std::string_view text) {
  return boost::json::parse(text);
}

/// A job as Nomad answers it, with `more` in its only task and `of_group` in its group.
boost::json::value judged_job(const std::string& more = "", const std::string& of_group = "") {
  return judged_json(
      R"({"ID":"web","Name":"web","Namespace":"default","Region":"global","Type":"service",)"
      R"("Priority":50,"Datacenters":["dc1"],"NodePool":"default","Stable":true,"Version":3,)"
      R"("CreateIndex":7,"Constraints":null,"ConsulToken":"","TaskGroups":[{"Name":"web",)"
      R"("Count":1,)"
      + of_group + R"("Tasks":[{"Name":"t","Driver":"raw_exec",)" + more
      + R"("Config":{"command":"sleep"},"Resources":{"CPU":50,"MemoryMB":64}}]}]})");
}

/// "verdict: text" of each, one a line.
std::string told(const std::vector<Remark>& remarks) {
  std::string out;
  for (const auto& remark : remarks)
    out += std::string{name_of(remark.verdict)} + ": " + remark.text + '\n';
  return out;
}

/// An agent of Nomad with these settings.
std::string told_of_agent(const std::string& config) {
  const auto self = judged_json(R"({"config":)" + config + "}");
  return told(judge_agent(View{self}));
}

}  // namespace

TEST_CASE("judge: a job that works here has nothing to be said of") {
  CHECK(told(judge_job(judged_job())).empty());
}

TEST_CASE("judge: what would be refused is an error in the words of the refusal") {
  CHECK(told(judge_job(judged_job(R"("Vault":{"Policies":["web"]},)")))
        == "error: group \"web\", task \"t\": vault is not supported yet: there is no Vault; keep secrets "
           "as Nomad variables\n");
}

TEST_CASE("judge: a job that can't be read is an error") {
  CHECK(told(judge_job(judged_json(R"({"ID":7})")))
        == "error: json: cannot unmarshal number into Go struct field Job.Job.ID of type string\n");
  CHECK(told(judge_job(judged_json("[]"))) == "error: it is no JSON object\n");
}

TEST_CASE("judge: fields of later releases are told of, once, and never what they are set to") {
  const auto text = told(
      judge_job(judged_job(R"("Frobnicate":{"key":"s3cret"},"Empty":{"a":[]},)", R"("Zap":1,)")));
  CHECK(text
        == "warning: group > Zap is not known here, and is ignored\n"
           "warning: group > task > Frobnicate is not known here, and is ignored\n");
}

TEST_CASE("judge: drivers that are not built in need a plugin") {
  auto podman = judged_job();
  podman.at("TaskGroups").at(0).at("Tasks").at(0).as_object()["Driver"] = "podman";
  CHECK(told(judge_job(podman))
        == "warning: driver \"podman\" is not built in: nodes need a plugin that brings it\n");
}

TEST_CASE("judge: services of Consul work partly, those of Nomad do") {
  const auto service = [](std::string_view provider) {
    return judged_job("", R"("Services":[{"Name":"web","PortLabel":"","Provider":")"
                              + std::string{provider} + R"("}],)");
  };
  CHECK(told(judge_job(service("nomad"))).empty());
  CHECK(told(judge_job(service("consul")))
        == "partly: group > service > provider: \"nomad\", or one that a plugin brings; with "
           "\"consul\" the group is not placed\n");
}

TEST_CASE("judge: an agent's settings without effect are told of by their keys") {
  CHECK(told_of_agent(R"({"Telemetry":{"StatsdAddr":"10.0.0.1:8125"},"EnableSyslog":true})")
        == "warning: enable_syslog has no effect yet: logs go to stderr and log_file; systemd-cat "
           "passes them on\n"
           "warning: telemetry.statsd_address has no effect yet: metrics are not sent: ask "
           "/v1/metrics\n");
  CHECK(told_of_agent(R"({"TLSConfig":{"TLSCipherSuites":"TLS_RSA"}})")
            .starts_with("error: tls.tls_cipher_suites is not supported yet: "));
}

TEST_CASE("judge: what Nomad fills in by itself is not set") {
  CHECK(told_of_agent(
            R"({"Consul":{"Addr":"127.0.0.1:8500","AutoAdvertise":true,"Timeout":5000000000},)"
            R"("Vault":{"Addr":"https://vault.service.consul:8200","Enabled":null},)"
            R"("SyslogFacility":"LOCAL0","Limits":{"HTTPSHandshakeTimeout":"5s"},)"
            R"("Client":{"Enabled":true,"ServerJoin":{"RetryInterval":30000000000}},)"
            R"("UI":{"ContentSecurityPolicy":{"ConnectSrc":["*"]}}})")
            .empty());
  CHECK(told_of_agent(R"({"Consul":{"Addr":"consul.example:8500"}})")
        == "warning: consul has no effect yet: there is no Consul: name servers in server_join, "
           "and services are not registered\n");
  CHECK(told_of_agent(R"({"Consuls":[{"Name":"default","Addr":"127.0.0.1:8500"}]})").empty());
  CHECK_FALSE(told_of_agent(R"({"Vaults":[{"Enabled":true}]})").empty());
}

TEST_CASE("judge: what Nomad has on by itself says something when it is off") {
  CHECK(told_of_agent(R"({"Server":{"Enabled":true,"EnableEventBroker":true},)"
                      R"("Client":{"Enabled":true,"NoHostUUID":true},)"
                      R"("Telemetry":{"FilterDefault":null}})")
            .empty());
  CHECK(told_of_agent(R"({"Server":{"Enabled":true,"EnableEventBroker":false},)"
                      R"("Client":{"Enabled":true,"NoHostUUID":false},)"
                      R"("Telemetry":{"FilterDefault":false}})")
        == "warning: server.enable_event_broker has no effect yet: events are always kept\n"
           "warning: client.no_host_uuid has no effect yet: the id of a node is always random\n"
           "warning: telemetry.filter_default has no effect yet: all metrics are shown\n");
}

TEST_CASE("judge: blocks of plugins are looked at by their labels") {
  CHECK(told_of_agent(R"({"Plugins":[{"Name":"raw_exec","Args":null,"Config":{"enabled":true}},)"
                      R"({"Name":"docker","Config":{"nvidia_runtime":"nvidia"}}]})")
            .empty());
  CHECK(told_of_agent(R"({"Plugins":[{"Name":"docker","Args":null,"Config":{)"
                      R"("nvidia_runtime":"other","tls":[{"cert":"/a.pem"}]}},)"
                      R"({"Name":"podman","Args":null,"Config":{"socket_path":"unix:///x"}}]})")
        == "warning: plugin.docker.config.tls.cert has no effect yet: the engine is asked by its "
           "Unix socket\n"
           "warning: plugin.docker.config.nvidia_runtime has no effect yet: plugins of devices say "
           "themselves what their devices need\n"
           "warning: plugin \"podman\" is not built in: put it into plugin_dir\n");
}

TEST_CASE("judge: settings of a server count for servers alone") {
  const std::string said = R"("RejoinAfterLeave":false,"RedundancyZone":"a")";
  CHECK(told_of_agent(R"({"Server":{"Enabled":false,)" + said + "}}").empty());
  CHECK(told_of_agent(R"({"Server":{"Enabled":true,)" + said + "}}")
        == "warning: server.redundancy_zone has no effect yet: of Nomad Enterprise\n");
}

TEST_CASE("judge: policies, namespaces and node pools") {
  CHECK(
      told(judge_policy(judged_json(R"({"Rules":"namespace \"default\" { policy = \"read\" }"})")))
          .empty());
  CHECK(
      told(judge_policy(judged_json(R"({"Rules":"namespace \"default\" { policy = \"rule\" }"})")))
          .starts_with("error: "));
  CHECK(told(judge_policy(judged_json(R"({"Rules":"node { policy = \"read\" polcy = \"deny\" }"})")))
        == "error: Failed to parse ACL Policy: \"polcy\" is not known (line 1, column 24). Did you "
           "mean \"policy\"?\n");
  CHECK(told(judge_namespace(
            judged_json(R"({"Name":"a","Meta":{"x":"y"},"VaultConfiguration":{"Default":"v"}})")))
        == "warning: VaultConfiguration is not known here, and is ignored\n");
  CHECK(told(judge_node_pool(judged_json(R"({"Name":"gpu","Description":"","NodeIdentityTTL":5})")))
        == "warning: NodeIdentityTTL is not known here, and is ignored\n");
}

TEST_CASE("judge: whether tasks may use more memory is asked of the jobs' own cluster") {
  Cluster cluster;
  cluster.agent_unread = "no";
  auto job = judged_job();
  job.at("TaskGroups").at(0).at("Tasks").at(0).at("Resources").as_object()["MemoryMaxMB"] = 128;
  cluster.jobs.objects = {job};
  CHECK(told(judge(cluster).at(0).remarks)
            .starts_with("warning: Memory oversubscription is not enabled; "));
  cluster.scheduler = judged_json(R"({"MemoryOversubscriptionEnabled":true,"Frobnicate":"x"})");
  const auto all = judge(cluster);
  REQUIRE(all.size() == 2);
  CHECK(all[0].kind == "settings");
  CHECK(all[0].name == "scheduler");
  CHECK(told(all[0].remarks) == "warning: Frobnicate is not known here, and is ignored\n");
  CHECK(told(all[1].remarks).empty());
}

TEST_CASE("judge: a variable whose namespace does not exist would be refused") {
  Cluster cluster;
  cluster.agent_unread = "no";
  cluster.variables.objects = {judged_json(R"({"Namespace":"gone","Path":"a"})")};
  CHECK(told(judge(cluster).at(0).remarks)
        == "error: namespace \"gone\" does not exist, and variables need one here\n");
  cluster.namespaces.unread = "Unexpected response code: 500 (no)";
  CHECK(told(judge(cluster).at(0).remarks).empty());
}

TEST_CASE("judge: what lists leave out by themselves is told of") {
  Cluster cluster;
  cluster.left_out = "why";
  cluster.scheduler_unread = "other";
  CHECK(unread_of(cluster)
        == std::vector<std::string>{"what the token may not read: why",
                                    "settings of the scheduler: other"});
}

TEST_CASE("judge: all that was read is judged, and CSI volumes are an error") {
  Cluster cluster;
  cluster.agent = judged_json(R"({"member":{"Name":"s1.global"},"config":{}})");
  cluster.namespaces.objects = {judged_json(R"({"Name":"default"})")};
  cluster.variables.objects = {judged_json(R"({"Namespace":"default","Path":"a/b"})")};
  cluster.volumes.objects = {judged_json(R"({"Namespace":"default","ID":"disk"})")};
  cluster.policies.unread = "Unexpected response code: 403 (Permission denied)";
  cluster.jobs.objects = {judged_job()};
  const auto all = judge(cluster);
  REQUIRE(all.size() == 5);
  CHECK(all[0].kind == "agent");
  CHECK(all[0].name == "s1.global");
  CHECK(all[2].kind == "variable");
  CHECK(all[2].name == "a/b");
  CHECK(all[3].verdict() == Verdict::error);
  CHECK(told(all[3].remarks) == "error: there are no CSI volumes\n");
  CHECK(all[4].ns == "default");
  CHECK(all[4].verdict() == Verdict::works);
  const auto unread = unread_of(cluster);
  REQUIRE(unread.size() == 1);
  CHECK(unread[0] == "ACL policies: Unexpected response code: 403 (Permission denied)");
}

TEST_CASE("judge: what has several lines is one line, and changes no terminal") {
  CHECK(without_breaks("2 errors occurred:\n\t* a\n\t* b\x1b[2J\n\n")
        == "2 errors occurred: * a * b\\x1b[2J");
}
