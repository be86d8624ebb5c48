#include "cli/output/api_shape.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

using namespace nomad::cli;
namespace json = boost::json;

namespace {

json::value printed(ApiShape shape, const char* answer) {
  return as_printed(shape, json::parse(answer));
}

}  // namespace

TEST_CASE("api_shape: a job has what the structures have besides, and no empty plugin of volumes") {
  CHECK(printed(ApiShape::job, R"({"ID":"a","TaskGroups":[{"Tasks":[{"CSIPluginConfig":null,
            "LogConfig":{"MaxFiles":1}}]}]})")
        == json::parse(R"({"ID":"a","Migrate":null,"Reschedule":null,"TaskGroups":[{"Tasks":[
            {"LogConfig":{"Enabled":null,"MaxFiles":1}}]}]})"));
  CHECK(printed(ApiShape::job, R"({"TaskGroups":[{"Tasks":[{"CSIPluginConfig":{"ID":"x"}}]}]})")
            .at("TaskGroups")
            .at(0)
            .at("Tasks")
            .at(0)
            .as_object()
            .contains("CSIPluginConfig"));
  CHECK(printed(ApiShape::job, "null").is_null());
}

TEST_CASE("api_shape: networks, services and scaling of a job have what its file may say") {
  CHECK(printed(ApiShape::job, R"({"TaskGroups":[{"Networks":[{"IP":""}],"Scaling":{"Min":1},
            "Services":[{"Name":"s","Namespace":"default","Checks":[{"Type":"http"}]}],
            "Tasks":[{"Resources":{"Networks":[{"IP":""}]},"Services":[{"Name":"t","Checks":null}]}]}]})")
        == json::parse(R"({"Migrate":null,"Reschedule":null,"TaskGroups":[{
            "Networks":[{"Hostname":"","IP":""}],"Scaling":{"Min":1,"Namespace":""},
            "Services":[{"CheckRestart":null,"Name":"s",
              "Checks":[{"Advertise":"","CheckRestart":null,"Type":"http"}]}],
            "Tasks":[{"Resources":{"Networks":[{"Hostname":"","IP":""}]},
              "Services":[{"CheckRestart":null,"Checks":null,"Name":"t"}]}]}]})"));
  CHECK(printed(ApiShape::alloc, R"({"AllocatedResources":{"Shared":{"Networks":[{"IP":"::1"}]}}})")
            .at("AllocatedResources")
            .at("Shared")
            .at("Networks")
            .at(0)
            .at("Hostname")
        == "");
}

TEST_CASE("api_shape: an allocation, alone and in a list") {
  const auto alone = printed(ApiShape::alloc, R"({"AllocatedResources":{"TaskLifecycles":{},
      "Tasks":{"t":{"Cpu":{"CpuShares":5,"ReservedCores":null}}}},"SharedResources":{},
      "DesiredTransition":{"ForceReschedule":null,"Migrate":true,"NoShutdownDelay":null},
      "Job":{"ID":"a"},"TaskStates":{"t":{"Events":[{"Type":"Started"}]}}})");
  CHECK(alone == json::parse(R"({"AllocatedResources":{"Tasks":{"t":{"Cpu":{"CpuShares":5}}}},
      "DesiredDescription":"","DesiredTransition":{"Migrate":true,"Reschedule":null},
      "FollowupEvalID":"","Job":{"ID":"a","Migrate":null,"Reschedule":null},"NextAllocation":"",
      "PreemptedAllocations":null,"PreemptedByAllocation":"","PreviousAllocation":"",
      "RescheduleTracker":null,"Services":null,
      "TaskStates":{"t":{"Events":[{"DiskSize":0,"Type":"Started"}]}}})"));
  CHECK(printed(ApiShape::alloc, R"({"SigningKeyID":"k"})").at("DesiredTransition")
        == json::parse(R"({"Migrate":null,"Reschedule":null})"));
  CHECK(printed(ApiShape::alloc_stub, R"([{"ID":"a","DesiredTransition":{},"TaskStates":null}])")
        == json::parse(R"([{"ID":"a","TaskStates":null}])"));
}

TEST_CASE("api_shape: a node without what only servers use") {
  CHECK(printed(ApiShape::node, R"({"ID":"n","ComputedClass":"v1:1","LastAllocUpdateIndex":1,
            "LastMissedHeartbeatIndex":0,"SecretID":"",
            "NodeResources":{"NodeNetworks":[],"Networks":[{"IP":"::1"}]},
            "ReservedResources":{"Cpu":{"CpuShares":0,"ReservedCpuCores":null}}})")
        == json::parse(R"({"ID":"n","NodeResources":{"Networks":[{"Hostname":"","IP":"::1"}]},
            "ReservedResources":{"Cpu":{"CpuShares":0}}})"));
  CHECK(printed(ApiShape::node_stub, R"([{"ID":"n","HostVolumes":null}])")
        == json::parse(R"([{"ID":"n"}])"));
}
