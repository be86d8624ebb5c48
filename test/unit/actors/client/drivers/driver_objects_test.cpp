#include "actors/client/drivers/driver_objects.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::client;
using driver::DriverAnswer;

TEST_CASE("driver_objects: an answer is what was asked for, or why it is not") {
  CHECK_FALSE(driver::refusal_of(driver::done(), DriverAnswer::DONE));
  CHECK_FALSE(driver::refusal_of(driver::recovered("run"), DriverAnswer::RECOVERED));

  const auto failed
      = driver::refusal_of(driver::failed({Errc::conflict, "no"}, true), DriverAnswer::STARTED);
  REQUIRE(failed);
  CHECK(failed->error == Error{Errc::conflict, "no"});
  CHECK(failed->recoverable);
  CHECK_FALSE(
      driver::refusal_of(driver::failed({Errc::timeout, ""}), DriverAnswer::DONE)->recoverable);
  CHECK(driver::refusal_of(driver::unknown(), DriverAnswer::DONE)->error
        == Error{Errc::rejected, "this task driver cannot do that"});

  const auto other = driver::refusal_of(driver::done(), DriverAnswer::STARTED);
  REQUIRE(other);
  CHECK(other->error.code == Errc::internal);
  CHECK_FALSE(other->recoverable);
}

TEST_CASE("driver_objects: a code that this agent does not know is a refusal") {
  Draft<DriverAnswer> draft;
  draft->initFailed().setCode(200);
  const auto refusal = driver::refusal_of({draft.freeze()}, DriverAnswer::DONE);
  REQUIRE(refusal);
  CHECK(refusal->error.code == Errc::rejected);
}

TEST_CASE("driver_objects: usage and handles are read as they were written") {
  client_api::TaskUsage usage;
  usage.memory = {.rss = 1,
                  .cache = 2,
                  .swap = 3,
                  .mapped_file = 4,
                  .usage = 5,
                  .max_usage = 6,
                  .kernel_usage = 7,
                  .kernel_max_usage = 8,
                  .measured = {"RSS", "Swap"}};
  usage.cpu = {.system_mode = 1.5,
               .user_mode = 2.5,
               .total_ticks = 3,
               .percent = 4,
               .throttled_periods = 5,
               .throttled_time = 6,
               .measured = {"Percent"}};
  usage.timestamp = 9;
  usage.processes = {{.pid = 7, .memory = usage.memory, .cpu = usage.cpu}};
  const auto answer = driver::used(usage);
  const auto read = driver::read_usage(answer.answer->getUsage());
  CHECK(read.memory.kernel_max_usage == 8);
  CHECK(read.memory.measured == usage.memory.measured);
  CHECK(read.cpu.system_mode == 1.5);
  CHECK(read.cpu.measured == usage.cpu.measured);
  CHECK(read.timestamp == 9);
  REQUIRE(read.processes.size() == 1);
  CHECK(read.processes[0].pid == 7);
  CHECK(read.processes[0].memory.swap == 3);

  const workload::TaskHandle handle{.version = 2, .data = {"a\0b", 3}};
  const auto started = driver::started(handle);
  CHECK(driver::read_handle(started.answer->getStarted().getHandle()) == handle);
}

TEST_CASE(
    "driver_objects: usage that is told names its run, and a failure says whether it passes") {
  client_api::TaskUsage usage;
  usage.memory.rss = 7;
  const auto told = driver::told_usage({"alloc", "task"}, "run", usage);
  CHECK(view(told.notice->getAllocId()) == "alloc");
  CHECK(view(told.notice->getTask()) == "task");
  CHECK(view(told.notice->getRunId()) == "run");
  CHECK(driver::read_usage(told.notice->getUsage()).memory.rss == 7);

  for (const bool recoverable : {false, true}) {
    const auto failed
        = driver::usage_failed({"alloc", "task"}, "run", {Errc::timeout, "late"}, recoverable);
    CHECK(view(failed.notice->getRunId()) == "run");
    const auto why = driver::read_failure(failed.notice->getUsageFailed());
    CHECK(why.error == Error{Errc::timeout, "late"});
    CHECK(why.recoverable == recoverable);
  }
}
