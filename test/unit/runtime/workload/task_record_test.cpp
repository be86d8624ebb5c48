#include "runtime/workload/task_record.hpp"

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace nomad;
using namespace nomad::workload;

TEST_CASE("task_record: what is read back is what was saved") {
  TaskRecord record;
  record.add(task_event::make(task_event::started, 5));
  record.enter(TaskRunState::RUNNING, 6);
  record.run_id = "alloc/web/1";
  record.has_handle = true;
  record.handle = {.version = 1, .data = {"pid\0007", 5}};
  record.run_complete = true;
  record.schedule_order = nomad::schema::TaskScheduleOrder::PAUSE;
  record.set_paused(TaskScheduleState::FORCE_PAUSE);
  record.leave("task_dir", {.done = true,
                            .data = {{"is_done", "true"}},
                            .env = {{"A", "b"}},
                            .mounts = {{"/in", "/out", true, "private"}},
                            .devices = {{"/dev/a", "/dev/b", "rw"}}});
  record.hook("validate");
  record.network = {.port_map = {{"http", 80}}, .ip = "10.0.0.1", .auto_advertise = true};

  const auto read = to_task_record(*to_object(record));

  CHECK(*read.state == *record.state);
  CHECK(read.run_id == "alloc/web/1");
  CHECK(read.has_handle);
  CHECK(read.handle == record.handle);
  CHECK(read.run_complete);
  CHECK(read.schedule_order == nomad::schema::TaskScheduleOrder::PAUSE);
  CHECK(read.state->paused == TaskScheduleState::FORCE_PAUSE);
  CHECK(read.hooks == record.hooks);
  CHECK(read.network.port_map == record.network.port_map);
  CHECK(read.network.ip == "10.0.0.1");
  CHECK(read.network.auto_advertise);
}

TEST_CASE("task_record: the handle of an agent that knew no versions is read") {
  Draft<schema::LocalTask> draft;
  draft->setHasHandle(true);
  draft->setHandle("pid 7");

  CHECK(to_task_record(*draft.freeze()).handle == TaskHandle{.version = 0, .data = "pid 7"});
}

TEST_CASE("task_record: a state that somebody holds does not change") {
  TaskRecord record;
  const auto held = record.state;
  record.add(task_event::make(task_event::received, 1));
  record.enter(TaskRunState::DEAD, 2);
  CHECK(held->events.empty());
  CHECK(held->state == TaskRunState::PENDING);

  const auto dead = record.state;
  record.enter(TaskRunState::DEAD, 3);
  CHECK(record.state == dead);
}

TEST_CASE("task_record: a hook has one record") {
  TaskRecord record;
  record.leave("one", {.done = true});
  record.hook("two");
  CHECK(record.hook("one").done);
  CHECK_FALSE(record.hook("two").done);
  CHECK(record.hooks.size() == 2);

  record.leave("two", {.data = {{"is_done", "true"}}});
  CHECK(record.data_of("two").at("is_done") == "true");
  CHECK(record.data_of("one").empty());
  CHECK(record.data_of("three").empty());
}
