// node pool apply, delete, info, init, jobs, list, nodes: what is asked, refused and printed.
#include <fstream>
#include <iterator>

#include "test/support/temp_dir.hpp"
#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

const std::string gpu_pool
    = R"({"Name":"gpu","Description":"GPU","Hash":"aGFzaA==","Meta":{"rack":"r1"},)"
      R"("SchedulerConfiguration":{"SchedulerAlgorithm":"spread",)"
      R"("MemoryOversubscriptionEnabled":true}})";

const std::string plain_pool
    = R"({"Name":"gpu-old","Description":"","SchedulerConfiguration":null})";

struct NodePools : test::FakeAgent {
  NodePools() {
    answer("GET /v1/node/pools", "[" + gpu_pool + "]");
    answer("PUT /v1/node/pools", "");
  }

  test::TempDir dir;

  std::string file(const std::string& name, const std::string& text) const {
    const auto path = dir.path() + "/" + name;
    std::ofstream{path} << text;
    return path;
  }

  static std::string read(const std::string& path) {
    std::ifstream in{path};
    return {std::istreambuf_iterator<char>{in}, {}};
  }
};

}  // namespace

TEST_CASE_FIXTURE(NodePools, "node pool list: a table, page by page") {
  CHECK(run(run_node_pool_list, {}) == 0);
  CHECK(out == "Name  Description\ngpu   GPU\n");
  next_token("gpu-old");
  CHECK(run(run_node_pool_list, {"-filter", "Name == \"gpu\"", "-per-page", "1"}) == 0);
  CHECK(asked.at(0).find("per_page=1") != std::string::npos);
  CHECK(asked.at(0).find("filter=Name") != std::string::npos);
  CHECK(out.find(" -per-page 1 -page-token gpu-old\n") != std::string::npos);
  CHECK(run(run_node_pool_list, {"-json"}) == 0);
  CHECK(out.find("Hash") == std::string::npos);
  CHECK(run(run_node_pool_list, {"-per-page", "x"}) == 1);
  CHECK(run(run_node_pool_list, {"extra"}) == 1);
}

TEST_CASE_FIXTURE(NodePools, "node pool info: of a prefix the only one, of a name that one") {
  CHECK(run(run_node_pool_info, {"g"}) == 0);
  CHECK(asked.at(0) == "GET /v1/node/pools?prefix=g");
  CHECK(out
        == "Name        = gpu\nDescription = GPU\n\nMetadata\nrack = r1\n\n"
           "Scheduler Configuration\nScheduler Algorithm             = spread\n"
           "Memory Oversubscription Enabled = true\n");
  answer("GET /v1/node/pools", "[" + gpu_pool + "," + plain_pool + "]");
  CHECK(run(run_node_pool_info, {"g"}) == 1);
  CHECK(err.starts_with("Prefix matched multiple node pools\n\nName     Description\n"));
  CHECK(run(run_node_pool_info, {"gpu-old"}) == 0);
  CHECK(out
        == "Name        = gpu-old\nDescription = <none>\n\nMetadata\nNo metadata\n\n"
           "Scheduler Configuration\nNo scheduler configuration\n");
  answer("GET /v1/node/pools", "[]");
  CHECK(run(run_node_pool_info, {"x"}) == 1);
  CHECK(err == "Error retrieving node pool: No node pool with prefix \"x\" found");
}

TEST_CASE_FIXTURE(NodePools, "node pool apply: files of HCL and JSON") {
  const auto hcl = file("pool.hcl", R"(node_pool "gpu" {
  description = "GPU"
  meta {
    rack = 1
  }
  scheduler_config {
    scheduler_algorithm             = "spread"
    memory_oversubscription_enabled = true
  }
})");
  CHECK(run(run_node_pool_apply, {hcl}) == 0);
  CHECK(out == "Successfully applied node pool \"gpu\"!\n");
  CHECK(written()
        == R"(PUT /v1/node/pools {"Description":"GPU","Meta":{"rack":"1"},)"
           R"("SchedulerConfiguration":{"SchedulerAlgorithm":"spread",)"
           R"("MemoryOversubscriptionEnabled":true},"Name":"gpu"})");
  CHECK(run(run_node_pool_apply, {"-json", file("pool.json", R"({"Name":"two"})")}) == 0);
  CHECK(written() == R"(PUT /v1/node/pools {"Name":"two"})");
}

TEST_CASE_FIXTURE(NodePools, "node pool apply: what can't be is said, and nothing is written") {
  const std::string bad = "Failed to parse input content: ";
  for (const auto& [arguments, complaint] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{file("a.hcl", "name = \"x\"\n")}, bad + "expected one block, node_pool"},
           {{file("b.hcl", "node_pool \"a\" {\n  nope = 1\n}\n")}, bad + "invalid key: nope"},
           {{dir.path() + "/missing.hcl"}, "Failed to read file"},
           {{}, "This command takes one argument: <input>"}}) {
    const auto& shown = complaint;
    CAPTURE(shown);
    CHECK(run(run_node_pool_apply, arguments) == 1);
    CHECK(err.starts_with(complaint));
    CHECK(written().empty());
  }
}

TEST_CASE_FIXTURE(NodePools, "node pool delete: one by its name") {
  answer("DELETE /v1/node/pool/gpu", "");
  CHECK(run(run_node_pool_delete, {"gpu"}) == 0);
  CHECK(out == "Successfully deleted node pool \"gpu\"!\n");
  answer("DELETE /v1/node/pool/all", "1 error occurred:\n\t* it has nodes\n\n", 400);
  CHECK(run(run_node_pool_delete, {"all"}) == 1);
  CHECK(err
        == "Error deleting node pool: Unexpected response code: 400 (1 error occurred:\n\t* it has "
           "nodes)");
}

TEST_CASE_FIXTURE(NodePools, "node pool nodes and jobs: what is in the pool") {
  answer("GET /v1/node/pool/gpu/nodes",
         R"([{"ID":"11111111-2222-3333-4444-555555555555","Datacenter":"dc1","Name":"n1",)"
         R"("NodeClass":"","Drain":false,"SchedulingEligibility":"eligible","Status":"ready"}])");
  CHECK(run(run_node_pool_nodes, {"gpu"}) == 0);
  CHECK(out
        == "ID        DC   Name  Class   Drain  Eligibility  Status\n"
           "11111111  dc1  n1    <none>  false  eligible     ready\n");
  CHECK(run(run_node_pool_nodes, {"-verbose", "gpu"}) == 0);
  CHECK(out.find("\n11111111-2222-3333-4444-555555555555  dc1") != std::string::npos);
  answer("GET /v1/node/pool/gpu/jobs", "[]");
  CHECK(run(run_node_pool_jobs, {"gpu"}) == 0);
  CHECK(out == "No jobs\n");
  answer("GET /v1/node/pool/gpu/jobs",
         R"([{"ID":"web","Name":"web","Type":"service","Priority":50,"Status":"running",)"
         R"("SubmitTime":0}])");
  CHECK(run(run_node_pool_jobs, {"-filter", "Name == \"web\"", "gpu"}) == 0);
  CHECK(asked.back().find("filter=Name") != std::string::npos);
  CHECK(out.starts_with("ID   Type     Priority  Status   Submit Date\nweb  service  50"));
  CHECK(run(run_node_pool_jobs, {}) == 1);
  CHECK(err.starts_with("This command takes one argument: <node-pool>"));
}

TEST_CASE_FIXTURE(NodePools, "node pool init: an example, in place of no other file") {
  const auto path = dir.path() + "/pool.hcl";
  CHECK(run(run_node_pool_init, {path}) == 1);  // -address is no flag of it
  const test::Capture printed;
  CHECK(run_node_pool_init({path}).value() == 0);
  CHECK(printed.out() == "Example node pool specification written to " + path + "\n");
  CHECK(read(path).starts_with("node_pool \"example\" {"));
  CHECK(run_node_pool_init({path}).error().what == "File \"" + path + "\" already exists");
  const auto json = dir.path() + "/pool.json";
  CHECK(run_node_pool_init({"-out", "json", "-quiet", json}).value() == 0);
  CHECK(read(json).starts_with("{\n  \"Name\": \"example\""));
  CHECK(run_node_pool_init({"-out", "yaml"}).has_error());
  CHECK(run_node_pool_init({"a", "b"}).value() == 1);
}
