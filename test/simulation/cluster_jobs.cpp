#include "test/simulation/cluster_jobs.hpp"

#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

#include "runtime/object/draft.hpp"

namespace nomad::test {

using namespace std::chrono_literals;

namespace {

std::int64_t nanoseconds(std::chrono::nanoseconds time) {
  return time.count();
}

void fill_job(schema::Job::Builder job, const std::string& id, const char* type) {
  job.setId(text(id));
  job.setName(text(id));
  job.setNamespace("default");
  job.setRegion("global");
  job.setType(type);
  job.setPriority(50);
  job.setNodePool("default");
  job.initDatacenters(1).set(0, "*");
}

void fill_group(schema::TaskGroup::Builder group, std::int64_t count, const std::string& config) {
  group.setName("group");
  group.setCount(count);
  group.initEphemeralDisk().setSizeMb(10);
  auto restart = group.initRestartPolicy();
  restart.setAttempts(2);
  restart.setInterval(nanoseconds(10s));
  restart.setDelay(nanoseconds(500ms));
  restart.setMode("fail");
  auto reschedule = group.initReschedulePolicy();
  reschedule.setDelay(nanoseconds(5s));
  reschedule.setDelayFunction("constant");
  reschedule.setMaxDelay(nanoseconds(10s));
  reschedule.setUnlimited(true);
  auto task = group.initTasks(1)[0];
  task.setName("task");
  task.setDriver("sim");
  task.setConfig(text(config));
  task.setKillTimeout(nanoseconds(3s));
  auto resources = task.initResources();
  resources.setCpu(200);
  resources.setMemoryMb(100);
}

}  // namespace

Object<schema::Job> register_job(const std::string& id, std::uint64_t value) {
  Draft<schema::Job> draft;
  fill_job(*draft, id, "batch");
  draft->initParameterizedJob().setPayload("optional");
  auto meta = draft->initMeta(1)[0];
  meta.setKey("value");
  meta.setValue(text(std::to_string(value)));
  auto group = draft->initTaskGroups(1)[0];
  fill_group(group, 1, "{}");
  group.getEphemeralDisk().setSizeMb(300);  // the API wants room for the logs
  return draft.freeze();
}

std::uint64_t register_value(schema::Job::Reader job) {
  for (const auto entry : job.getMeta())
    if (view(entry.getKey()) == "value")
      return std::strtoull(copy(entry.getValue()).c_str(), nullptr, 10);
  return 0;
}

Object<schema::Job> service_job(const std::string& id, Random& random) {
  Draft<schema::Job> draft;
  fill_job(*draft, id, "service");
  const bool fails = random.chance(0.2);
  const auto config
      = fails ? fmt::format(R"({{"run_for":{},"exit":1}})", 1'000 + random.below(20'000))
              : fmt::format(R"({{"version":{}}})", random.below(3));
  auto group = draft->initTaskGroups(1)[0];
  fill_group(group, static_cast<std::int64_t>(random.below(5)), config);
  auto migrate = group.initMigrate();
  migrate.setMaxParallel(static_cast<std::int64_t>(random.below(3)));
  migrate.setHealthCheck("task_states");
  migrate.setMinHealthyTime(nanoseconds(500ms));
  migrate.setHealthyDeadline(nanoseconds(10s));
  if (random.chance(0.5)) {
    auto update = group.initUpdate();
    update.setStagger(nanoseconds(1s));
    update.setMaxParallel(1 + static_cast<std::int64_t>(random.below(2)));
    update.setHealthCheck("task_states");
    update.setMinHealthyTime(nanoseconds(500ms));
    update.setHealthyDeadline(nanoseconds(10s));
    update.setProgressDeadline(nanoseconds(20s));
    update.setAutoRevert(random.chance(0.3));
  }
  return draft.freeze();
}

Object<schema::Job> batch_job(const std::string& id, Random& random) {
  Draft<schema::Job> draft;
  fill_job(*draft, id, "batch");
  auto group = draft->initTaskGroups(1)[0];
  fill_group(group, 1 + static_cast<std::int64_t>(random.below(3)),
             fmt::format(R"({{"run_for":{},"exit":{}}})", 200 + random.below(8'000),
                         random.chance(0.2) ? 1 : 0));
  auto reschedule = group.getReschedulePolicy();
  reschedule.setUnlimited(false);
  reschedule.setAttempts(1);
  reschedule.setInterval(nanoseconds(1h));
  return draft.freeze();
}

}  // namespace nomad::test
