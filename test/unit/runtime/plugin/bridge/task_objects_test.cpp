#include "runtime/plugin/bridge/task_objects.hpp"

#include <capnp/message.h>
#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::plugin;
using namespace nomad::plugin::bridge;

TEST_CASE("task objects: a task as Nomad's drivers get it") {
  capnp::MallocMessageBuilder message;
  auto from = message.initRoot<schema::plugin::TaskConfig>();
  from.initId().setAllocId("alloc");
  from.getId().setTask("web");
  from.setRunId("12345678-9abc-def0");
  auto environment = from.initEnvironment(3);
  environment.set(0, "A=b=c");
  environment.set(1, "EMPTY=");
  environment.set(2, "nothing");
  from.setUser("nobody");
  from.setAllocRoot("/allocs/alloc");
  auto resources = from.initResources();
  resources.setMemoryBytes(std::uint64_t{64} << 20);
  resources.setMemoryMaxBytes(std::uint64_t{128} << 20);
  resources.setCpuShares(500);
  resources.setNodeCpuShares(2000);
  resources.setCpuset("0-1");
  auto port = from.initPorts(1)[0];
  port.setLabel("http");
  port.setValue(20000);
  port.setTo(80);
  port.setHostIp("10.0.0.1");
  auto origin = from.initOrigin();
  origin.setNamespace("default");
  origin.setJobId("job");
  origin.setJobName("Job");
  origin.setGroup("group");
  origin.setNodeName("node");
  origin.setNodeId("id");

  const auto to = task_config(from.asReader(), "packed", {"/logs/out", "/logs/err"});

  CHECK(to.id() == "alloc/web/12345678");
  CHECK(to.name() == "web");
  CHECK(to.alloc_id() == "alloc");
  CHECK(to.msgpack_driver_config() == "packed");
  CHECK(to.env().size() == 2);
  CHECK(to.env().at("A") == "b=c");
  CHECK(to.env().at("EMPTY").empty());
  CHECK(to.user() == "nobody");
  CHECK(to.alloc_dir() == "/allocs/alloc");
  CHECK(to.stdout_path() == "/logs/out");
  CHECK(to.stderr_path() == "/logs/err");
  CHECK(to.resources().allocated_resources().memory().memory_mb() == 64);
  CHECK(to.resources().allocated_resources().memory().memory_max_mb() == 128);
  CHECK(to.resources().linux_resources().memory_limit_bytes() == std::int64_t{128} << 20);
  CHECK(to.resources().linux_resources().percentticks() == 0.25);
  CHECK(to.resources().linux_resources().cpuset_cpus() == "0-1");
  REQUIRE(to.resources().ports_size() == 1);
  CHECK(to.resources().ports(0).to() == 80);
  CHECK(to.resources().ports(0).host_ip() == "10.0.0.1");
  CHECK(to.job_name() == "Job");
  CHECK(to.namespace_() == "default");
}

TEST_CASE("task objects: what a task sees of the host") {
  capnp::MallocMessageBuilder message;
  auto from = message.initRoot<schema::plugin::TaskConfig>();
  from.initId();
  auto mount = from.initMounts(1)[0];
  mount.setTaskPath("/data");
  mount.setHostPath("/srv/data");
  mount.setReadOnly(true);
  mount.setPropagation("private");
  auto device = from.initDevices(1)[0];
  device.setTaskPath("/dev/a");
  device.setHostPath("/dev/b");
  device.setPermissions("rw");
  from.setNetworkNamespace("/run/netns/alloc");
  from.setHostname("web-1");
  from.initDns().initServers(1).set(0, "10.0.0.2");

  const auto to = task_config(from.asReader(), {}, {});

  REQUIRE(to.mounts_size() == 1);
  CHECK(to.mounts(0).readonly());
  CHECK(to.mounts(0).propagation_mode() == "private");
  REQUIRE(to.devices_size() == 1);
  CHECK(to.devices(0).cgroup_permissions() == "rw");
  CHECK(to.network_isolation_spec().mode() == drivers::NetworkIsolationSpec::GROUP);
  CHECK(to.network_isolation_spec().path() == "/run/netns/alloc");
  CHECK(to.network_isolation_spec().hostsconfig().hostname() == "web-1");
  CHECK(to.dns().servers(0) == "10.0.0.2");
}

TEST_CASE("task objects: without a network of the group's there is none, nor names") {
  capnp::MallocMessageBuilder message;
  auto from = message.initRoot<schema::plugin::TaskConfig>();
  from.initId();
  const auto to = task_config(from.asReader(), {}, {});
  CHECK_FALSE(to.has_network_isolation_spec());
  CHECK_FALSE(to.has_dns());
  CHECK(to.stdout_path() == "/dev/null");
  CHECK(to.resources().linux_resources().percentticks() == 0);
}

TEST_CASE("task objects: usage, health and ends as the agent reads them") {
  drivers::TaskStats stats;
  stats.mutable_timestamp()->set_seconds(5);
  stats.mutable_timestamp()->set_nanos(7);
  auto& memory = *stats.mutable_agg_resource_usage()->mutable_memory();
  memory.set_rss(10);
  memory.add_measured_fields(drivers::MemoryUsage::RSS);
  stats.mutable_agg_resource_usage()->mutable_cpu()->set_percent(2.5);
  (*stats.mutable_resource_usage_by_pid())["42"].mutable_memory()->set_rss(3);
  (*stats.mutable_resource_usage_by_pid())["x"].mutable_memory()->set_rss(4);
  capnp::MallocMessageBuilder message;
  auto usage = message.initRoot<schema::plugin::TaskUsage>();
  fill_usage(usage, stats);
  CHECK(usage.getTimestamp() == 5'000'000'007);
  CHECK(usage.getMemory().getRss() == 10);
  REQUIRE(usage.getMemory().getMeasured().size() == 1);
  CHECK(copy(usage.getMemory().getMeasured()[0]) == "RSS");
  CHECK(usage.getCpu().getPercent() == 2.5);
  REQUIRE(usage.getProcesses().size() == 1);
  CHECK(usage.getProcesses()[0].getPid() == 42);

  drivers::FingerprintResponse health;
  health.set_health(drivers::FingerprintResponse::UNHEALTHY);
  health.set_health_description("ill");
  (*health.mutable_attributes())["a"].set_int_val(7);
  (*health.mutable_attributes())["a"].set_unit("GiB");
  (*health.mutable_attributes())["b"].set_bool_val(false);
  (*health.mutable_attributes())["c"].set_float_val(1.5);
  capnp::MallocMessageBuilder other;
  auto feels = other.initRoot<schema::plugin::Fingerprint>();
  fill_fingerprint(feels, health);
  CHECK(feels.getDetected());
  CHECK_FALSE(feels.getHealthy());
  REQUIRE(feels.getAttributes().size() == 3);
  CHECK(copy(feels.getAttributes()[0].getValue()) == "7GiB");
  CHECK(copy(feels.getAttributes()[1].getValue()) == "false");
  CHECK(copy(feels.getAttributes()[2].getValue()) == "1.5");

  drivers::WaitTaskResponse end;
  end.mutable_result()->set_exit_code(3);
  end.mutable_result()->set_oom_killed(true);
  end.set_err("why");
  CHECK(run_end(end).code == 3);
  CHECK(run_end(end).oom_killed);
  CHECK(run_end(end).error == "why");
}
