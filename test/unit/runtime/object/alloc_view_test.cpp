#include "runtime/object/alloc_view.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using schema::ClientStatus;
using schema::DesiredStatus;

TEST_CASE("AllocView: what an allocation lacks is empty, and it is to run") {
  const auto empty = Draft<schema::Allocation>{}.freeze();
  CHECK(empty->id().empty());
  CHECK(empty->previous().empty());
  CHECK(empty->ports().size() == 0);
  CHECK(empty->reschedule_events().size() == 0);
  CHECK_FALSE(empty->resources("web"));
  CHECK_FALSE(empty->health());
  CHECK_FALSE(empty->is_canary());
  CHECK_FALSE(empty->is_terminal());
  CHECK_FALSE(empty->wants_migration());
}

TEST_CASE("AllocView: what ends on the client is not what the servers end") {
  Draft<schema::Allocation> draft;
  for (const auto status : {ClientStatus::COMPLETE, ClientStatus::FAILED, ClientStatus::LOST}) {
    draft->setClientStatus(status);
    CHECK(AllocView{draft.reader()}.is_client_terminal());
    CHECK_FALSE(AllocView{draft.reader()}.is_server_terminal());
    CHECK(AllocView{draft.reader()}.is_terminal());
  }
  for (const auto status : {ClientStatus::PENDING, ClientStatus::RUNNING, ClientStatus::UNKNOWN}) {
    draft->setClientStatus(status);
    CHECK_FALSE(AllocView{draft.reader()}.is_terminal());
  }
  for (const auto status : {DesiredStatus::STOP, DesiredStatus::EVICT}) {
    draft->setDesiredStatus(status);
    CHECK(AllocView{draft.reader()}.is_server_terminal());
    CHECK_FALSE(AllocView{draft.reader()}.is_client_terminal());
    CHECK(AllocView{draft.reader()}.is_terminal());
  }
}

TEST_CASE("AllocView: a transition that was asked for and taken back is not wanted") {
  Draft<schema::Allocation> draft;
  const auto alloc = [&] { return AllocView{draft.reader()}; };
  auto transition = draft->initDesiredTransition();
  transition.getMigrate().setValue(false);
  CHECK_FALSE(alloc().wants_migration());
  transition.getMigrate().setValue(true);
  CHECK(alloc().wants_migration());
  CHECK_FALSE(alloc().wants_reschedule());
  transition.getReschedule().setValue(true);
  CHECK(alloc().wants_reschedule());
  CHECK_FALSE(alloc().forces_reschedule());
  transition.getForceReschedule().setValue(true);
  CHECK(alloc().forces_reschedule());
  CHECK_FALSE(alloc().skips_shutdown_delay());
  transition.getNoShutdownDelay().setValue(true);
  CHECK(alloc().skips_shutdown_delay());
}

TEST_CASE("AllocView: health is told once somebody has judged") {
  Draft<schema::Allocation> draft;
  auto status = draft->initDeploymentStatus();
  status.setCanary(true);
  CHECK(AllocView{draft.reader()}.is_canary());
  CHECK_FALSE(AllocView{draft.reader()}.health());
  status.getHealthy().setValue(false);
  CHECK(AllocView{draft.reader()}.health() == false);
  status.getHealthy().setValue(true);
  CHECK(AllocView{draft.reader()}.health() == true);
}

TEST_CASE("AllocView: resources are those of the task that is asked for") {
  Draft<schema::Allocation> draft;
  auto tasks = draft->initAllocatedResources().initTasks(2);
  tasks[0].setKey("api");
  tasks[0].initValue().initCpu().setCpuShares(100);
  tasks[1].setKey("web");
  tasks[1].initValue().initCpu().setCpuShares(200);
  const auto alloc = draft.freeze();
  CHECK(alloc->resources("web")->getCpu().getCpuShares() == 200);
  CHECK_FALSE(alloc->resources("we"));
}
