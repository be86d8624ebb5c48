// The hand-written stub of allocations against the generic codec, and its speed's reason.
#include "actors/api/allocs/alloc_json.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "actors/api/http/json_out.hpp"

using namespace nomad;
using namespace nomad::api;
namespace json = boost::json;

namespace {

Object<schema::Allocation> full_alloc() {
  Draft<schema::Allocation> draft;
  draft->setId("11111111-2222-3333-4444-555555555555");
  draft->setNamespace("default");
  draft->setEvalId("e");
  draft->setName("web.api[0] \"quoted\"\n");
  draft->setNodeId("n");
  draft->setNodeName("vm");
  draft->setJobId("web");
  draft->setTaskGroup("api");
  draft->setDesiredStatus(schema::DesiredStatus::STOP);
  draft->setDesiredDescription("why");
  draft->setClientStatus(schema::ClientStatus::FAILED);
  draft->setClientDescription("because");
  draft->setDeploymentId("d");
  draft->setFollowupEvalId("f");
  draft->setNextAllocation("next");
  draft->setPreemptedByAllocation("p");
  draft->setPreemptedAllocations({"a", "b"});
  draft->setCreateIndex(1);
  draft->setModifyIndex(2);
  draft->setCreateTime(3);
  draft->setModifyTime(4);
  draft->initDesiredTransition().getMigrate().setValue(true);
  auto status = draft->initDeploymentStatus();
  status.getHealthy().setValue(false);
  status.setTimestamp(1'700'000'000'123'456'789);
  auto tracker = draft->initRescheduleTracker().initEvents(1);
  tracker[0].setPrevAllocId("prev");
  auto resources = draft->initAllocatedResources();
  resources.initTasks(1)[0].setKey("t");
  resources.getTasks()[0].initValue().initCpu().setCpuShares(5);
  resources.initShared().setDiskMb(6);
  auto states = draft->initTaskStates(2);
  states[0].setKey("a");
  auto state = states[0].initValue();
  state.setState(schema::TaskRunState::DEAD);
  state.setFailed(true);
  state.setRestarts(2);
  state.setPaused(schema::TaskScheduleState::SCHEDULED_PAUSE);
  state.setStartedAt(1'700'000'000'000'000'000);
  auto events = state.initEvents(2);
  events[0].setType("Terminated");
  events[0].setExitCode(-7);
  events[0].setDisplayMessage("Exit Code: \t7");
  events[0].setTime(99);
  auto details = events[0].initDetails(1);
  details[0].setKey("exit \"code\"");
  details[0].setValue("7");
  events[1].initDetails(0);
  events[1].setFailsTask(true);
  events[1].setKillTimeout(5);
  auto handle = state.initTaskHandle();
  handle.setVersion(1);
  states[1].setKey("b");
  states[1].initValue();
  return draft.freeze();
}

/// The stub's members as the generic codec writes them.
json::object generic_stub(const Object<schema::Allocation>& alloc) {
  std::string text = "{";
  append_json_members(text, alloc.reader());
  auto members = json::parse(text + '}').as_object();
  // What the whole object leaves out when zero, a stub always has.
  for (const auto* name : {"DesiredDescription", "ClientDescription", "FollowupEvalID",
                           "NextAllocation", "PreemptedByAllocation", "NodeName", "EvalID"})
    if (!members.contains(name)) members[name] = "";
  for (const auto* name :
       {"DeploymentStatus", "RescheduleTracker", "PreemptedAllocations", "TaskStates"})
    if (!members.contains(name)) members[name] = nullptr;
  if (!members.contains("DesiredTransition"))
    members["DesiredTransition"] = {{"ForceReschedule", nullptr},
                                    {"Migrate", nullptr},
                                    {"NoShutdownDelay", nullptr},
                                    {"Reschedule", nullptr}};
  return members;
}

void check_equal(const Object<schema::Allocation>& alloc) {
  state::AllocRow row;
  row.alloc = alloc;
  std::string text;
  append_alloc_stub(text, row, {.resources = true, .task_states = true});
  const auto stub = json::parse(text).as_object();
  const auto generic = generic_stub(alloc);
  for (const auto& [name, value] : stub) {
    const std::string key{name};
    CAPTURE(key);
    if (key == "JobType" || key == "JobVersion") continue;  // of the joined job; hidden
    if (!generic.contains(name)) {                          // zero: left out by the whole object
      CHECK((value == 0 || value == ""));
      continue;
    }
    CHECK(value == generic.at(name));
  }
}

}  // namespace

TEST_CASE("alloc_json: the stub says what the generic codec says") {
  check_equal(full_alloc());
  Draft<schema::Allocation> empty;
  check_equal(empty.freeze());
}

TEST_CASE("alloc_json: options leave out and add") {
  state::AllocRow row;
  row.alloc = full_alloc();
  std::string text;
  append_alloc_stub(text, row, {.resources = false, .task_states = false});
  const auto stub = json::parse(text).as_object();
  CHECK(stub.at("TaskStates").is_null());
  CHECK_FALSE(stub.contains("AllocatedResources"));
  CHECK(stub.size() == 26);
}
