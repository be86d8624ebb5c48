#include "test/unit/cli/why/why_fixture.hpp"

using namespace nomad;
using namespace nomad::cli;
using namespace nomad::cli::why;
using boost::json::parse;

namespace {

/// The job could not be placed for this metric.
Facts unplaced(const std::string& metric) {
  auto facts = test::facts_of_web();
  facts.evaluations = parse(R"([{"ID":"e","Status":"complete","CreateIndex":3,"ModifyIndex":4,)"
                            R"("FailedTGAllocs":{"g":)"
                            + metric + R"(}},{"ID":"b","Status":"blocked","ModifyIndex":5}])");
  return facts;
}

std::string node(const std::string& more) {
  return R"({"ID":"bbbbbbbb-1","Name":"node1","Status":"ready","SchedulingEligibility":"eligible",)"
         R"("Datacenter":"dc1","NodePool":"default","Drivers":{"raw_exec":{"Detected":true,)"
         R"("Healthy":true}},"NodeResources":{"Cpu":{"CpuShares":2000},"Memory":{"MemoryMB":600},)"
         R"("Disk":{"DiskMB":1000}},"ReservedResources":{"Memory":{"MemoryMB":50}})"
         + more + "}";
}

}  // namespace

TEST_CASE("why: what keeps a group from a node") {
  const auto facts = test::facts_of_web();
  const View job{facts.job};

  struct Row {
    const char* more;  ///< The last of several members of one name counts.
    const char* why;
  };

  for (
      const auto& row : {
          Row{"", ""},
          Row{R"(,"Status":"down")", "it is down"},
          Row{R"(,"Drain":true,"SchedulingEligibility":"ineligible")", "it is being drained"},
          Row{R"(,"SchedulingEligibility":"ineligible")", "it is not eligible"},
          Row{R"(,"NodePool":"gpu")", "it is of node pool \"gpu\", the job of \"default\""},
          Row{R"(,"Datacenter":"dc2")", "it is in datacenter \"dc2\", which the job does not name"},
          Row{R"(,"Drivers":{"docker":{"Detected":true}})", "driver \"raw_exec\" is not there"},
          Row{R"(,"Drivers":{"raw_exec":{"Detected":true,"HealthDescription":"broken"}})",
              "driver \"raw_exec\" is not healthy: broken"},
          Row{R"(,"ReservedResources":{"Memory":{"MemoryMB":89}})",
              "512 MiB of memory are asked for, the node has 511"},
          Row{R"(,"ReservedResources":{"Memory":{"MemoryMB":88}})", ""},
          Row{R"(,"NodeResources":{"Cpu":{"CpuShares":99},"Memory":{"MemoryMB":9999},"Disk":{"DiskMB":999}})",
              "100 MHz of processor time are asked for, the node has 99"},
          Row{R"(,"NodeResources":{"Cpu":{"CpuShares":100},"Memory":{"MemoryMB":9999},"Disk":{"DiskMB":9}})",
              "300 MiB of disk are asked for, the node has 9"},
          Row{R"(,"NodeResources":null)", ""},
      }) {
    const auto& more = row.more;
    const auto& why = row.why;
    CAPTURE(more);
    const auto stub = parse(node(more));
    CHECK(obstacle(job, group_of_job(facts, "g"), View{stub}) == why);
  }
}

TEST_CASE("why: datacenters of jobs may be patterns, and pool all is any") {
  auto facts = test::facts_of_web();
  facts.job.as_object()["Datacenters"] = boost::json::array{"x", "eu-*"};
  facts.job.as_object()["NodePool"] = "all";
  const auto stub = parse(node(R"(,"Datacenter":"eu-1","NodePool":"gpu")"));
  CHECK(obstacle(View{facts.job}, group_of_job(facts, "g"), View{stub}).empty());
}

TEST_CASE("why: a prestart task does not run beside the others") {
  auto facts = test::facts_of_web();
  auto& tasks = facts.job.as_object()["TaskGroups"].as_array()[0].as_object()["Tasks"].as_array();
  const auto add = [&](const char* lifecycle) {
    auto task = parse(R"({"Name":"i","Driver":"raw_exec","Resources":{"CPU":1,"MemoryMB":500}})");
    task.as_object()["Lifecycle"] = parse(lifecycle);
    tasks.push_back(task);
  };
  const auto stub = parse(node(""));
  add(R"({"Hook":"prestart"})");
  CHECK(obstacle(View{facts.job}, group_of_job(facts, "g"), View{stub}).empty());
  add(R"({"Hook":"prestart","Sidecar":true})");
  CHECK(obstacle(View{facts.job}, group_of_job(facts, "g"), View{stub})
        == "1012 MiB of memory are asked for, the node has 550");
}

TEST_CASE("why: no node is large enough") {
  auto facts = unplaced(R"({"NodesEvaluated":1,"NodesExhausted":1,"CoalescedFailures":1,)"
                        R"("DimensionExhausted":{"memory":1}})");
  facts.nodes = parse("[" + node(R"(,"ReservedResources":{"Memory":{"MemoryMB":100}})") + "]");
  CHECK(test::told(diagnose(facts))
        == "! Group \"g\": 2 allocations can't be placed\n"
           "  * Resources exhausted on 1 nodes\n"
           "  * Dimension \"memory\" exhausted on 1 nodes\n"
           "  Node bbbbbbbb (node1): 512 MiB of memory are asked for, the node has 500\n"
           "  $ nomadctl node status -verbose bbbbbbbb\n"
           "  $ nomadctl job inspect web\n");
}

TEST_CASE("why: a quota is to blame, and no node") {
  auto facts = unplaced(
      R"({"NodesEvaluated":1,"NodesExhausted":1,"QuotaExhausted":["memory exhausted"]})");
  facts.nodes = parse("[" + node(R"(,"Status":"down")") + "]");
  const std::string why
      = "! Group \"g\": 1 allocation can't be placed\n"
        "  * Resources exhausted on 1 nodes\n"
        "  * Quota limit hit \"memory exhausted\"\n";
  CHECK(test::told(diagnose(facts)) == why + "  $ nomadctl quota list\n");
  facts.ns = parse(R"({"Name":"ops","Quota":"small"})");
  CHECK(test::told(diagnose(facts))
        == why + "  $ nomadctl quota status small\n  $ nomadctl job status -namespace=ops\n");
}

TEST_CASE("why: without a node there is a list of them to look at") {
  CHECK(test::told(diagnose(unplaced(R"({"NodesEvaluated":0,"NodesAvailable":{"dc1":0}})")))
        == "! Group \"g\": 1 allocation can't be placed\n"
           "  * No nodes were eligible for evaluation\n"
           "  * No nodes are available in datacenter \"dc1\"\n"
           "  $ nomadctl node status\n");
}

TEST_CASE("why: of many nodes ten are named") {
  auto facts = unplaced(R"({"NodesEvaluated":12})");
  for (int i = 0; i < 12; ++i)
    facts.nodes.as_array().push_back(parse(node(R"(,"Status":"down")")));
  const auto found = diagnose(facts);
  REQUIRE(found.size() == 1);
  CHECK(found[0].details.size() == 11);
  CHECK(found[0].details.back() == "2 other nodes do not fit either");
}

TEST_CASE("why: what was placed later is no matter, while something is blocked it is") {
  auto facts = unplaced(R"({"NodesEvaluated":1})");
  facts.evaluations.as_array().push_back(
      parse(R"({"ID":"n","Status":"complete","ModifyIndex":9})"));
  CHECK(diagnose(facts).size() == 1);
  facts.evaluations.as_array()[1].as_object()["Status"] = "complete";
  CHECK(diagnose(facts).empty());
}

TEST_CASE("why: nothing is wanted of a stopped job") {
  auto facts = unplaced(R"({"NodesEvaluated":1})");
  facts.job.as_object()["Stop"] = true;
  CHECK(test::told(diagnose(facts)).starts_with(". Job \"web\" was stopped\n"));
  CHECK(diagnose(facts).size() == 1);
}
