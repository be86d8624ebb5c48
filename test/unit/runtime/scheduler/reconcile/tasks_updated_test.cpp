#include "runtime/scheduler/reconcile/tasks_updated.hpp"

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;

TEST_CASE_FIXTURE(Harness, "which changes need new allocations") {
  const auto before = make_job(1);
  const auto needs = [&](const EditJob& edit) {
    const auto after = make_job(1, edit);
    return tasks_updated(*before, *after, "api");
  };
  CHECK_FALSE(needs([](schema::Job::Builder) {}));
  const auto group = [](schema::Job::Builder job) { return job.getTaskGroups()[0]; };
  const auto task = [&](schema::Job::Builder job) { return group(job).getTasks()[0]; };
  // In place.
  CHECK_FALSE(needs([&](auto job) { task(job).setKillTimeout(9); }));
  CHECK_FALSE(needs([&](auto job) { task(job).initLogConfig().setMaxFiles(3); }));
  CHECK_FALSE(needs([&](auto job) { task(job).setLeader(true); }));
  CHECK_FALSE(needs([&](auto job) { task(job).initLifecycle().setHook("prestart"); }));
  CHECK_FALSE(needs([&](auto job) { group(job).setCount(7); }));
  CHECK_FALSE(needs([&](auto job) { group(job).initUpdate().setMaxParallel(2); }));
  CHECK_FALSE(needs([&](auto job) { task(job).initServices(1)[0].setName("s"); }));
  CHECK_FALSE(needs([&](auto job) { job.initConstraints(1)[0].setOperand("is_set"); }));
  CHECK_FALSE(needs([&](auto job) { job.setPriority(70); }));
  // Destructive.
  CHECK(needs([&](auto job) { task(job).setDriver("exec"); }));
  CHECK(needs([&](auto job) { task(job).setUser("nobody"); }));
  CHECK(needs([&](auto job) { task(job).setConfig("{}"); }));
  CHECK(needs([&](auto job) { task(job).setName("other"); }));
  CHECK(needs([&](auto job) { task(job).getResources().setCpu(501); }));
  CHECK(needs([&](auto job) { task(job).initLogConfig().setDisabled(true); }));
  CHECK(needs([&](auto job) { task(job).initIdentity().setEnv(true); }));
  CHECK(needs([&](auto job) { task(job).initTemplates(1)[0].setDestPath("x"); }));
  CHECK(needs([&](auto job) { group(job).getEphemeralDisk().setSticky(true); }));
  CHECK(needs([&](auto job) { job.initAffinities(1)[0].setWeight(5); }));
  CHECK(needs([&](auto job) { group(job).initSpreads(1)[0].setWeight(5); }));
  CHECK(needs([&](auto job) { group(job).initNetworks(1)[0].setMode("bridge"); }));
  CHECK(needs([&](auto job) { job.initMeta(1)[0].setKey("k"); }));
}

TEST_CASE_FIXTURE(Harness, "a key that moves between levels of meta changes nothing") {
  const auto with_meta = [this](bool on_job) {
    return make_job(1, [on_job](schema::Job::Builder job) {
      auto task = job.getTaskGroups()[0].getTasks()[0];
      auto meta = on_job ? job.initMeta(1)[0] : task.initMeta(1)[0];
      meta.setKey("k");
      meta.setValue("v");
    });
  };
  CHECK_FALSE(tasks_updated(*with_meta(true), *with_meta(false), "api"));
}

TEST_CASE_FIXTURE(Harness, "ports: values of dynamic ones do not count, labels do") {
  const auto with_port = [this](const char* label, int value) {
    return make_job(1, [&](schema::Job::Builder job) {
      auto port = job.getTaskGroups()[0].initNetworks(1)[0].initDynamicPorts(1)[0];
      port.setLabel(label);
      port.setValue(value);
    });
  };
  CHECK_FALSE(tasks_updated(*with_port("a", 1), *with_port("a", 2), "api"));
  CHECK(tasks_updated(*with_port("a", 1), *with_port("b", 1), "api"));
}
