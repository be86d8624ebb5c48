// alloc pause: what it asks, and what it shows.
#include <doctest/doctest.h>

#include "cli/run.hpp"
#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

const std::string pausing_id = "aaaaaaaa-0000-0000-0000-000000000001";

struct Pausing {
  test::FakeAgent agent;

  Pausing() {
    agent.answer("GET /v1/allocations", R"([{"ID":")" + pausing_id + R"("}])");
    agent.answer("GET /v1/allocation/" + pausing_id,
                 R"({"ID":")" + pausing_id + R"(","TaskStates":{"web":{"State":"running"}}})");
  }
};

}  // namespace

TEST_CASE_FIXTURE(Pausing, "alloc pause: the task that is alone need not be named") {
  agent.answer("PUT /v1/client/allocation/" + pausing_id + "/pause", R"({"Index":0})");
  CHECK_MESSAGE(agent.run(run_alloc_pause, {"-state", "run", pausing_id}) == 0, agent.err);
  CHECK(agent.written()
        == "PUT /v1/client/allocation/" + pausing_id
               + R"(/pause {"Task":"web","ScheduleState":"run"})");
  CHECK(agent.out == "");
}

TEST_CASE_FIXTURE(Pausing, "alloc pause: with -status it shows what the node says") {
  agent.answer("GET /v1/client/allocation/" + pausing_id + "/pause",
               R"({"ScheduleState":"scheduled_pause"})");
  CHECK_MESSAGE(agent.run(run_alloc_pause, {"-status", pausing_id, "web"}) == 0, agent.err);
  CHECK(agent.asked.back().find("/pause?task=web") != std::string::npos);
  CHECK(agent.out == "Pause state: \"scheduled_pause\"\n");
}
