// A task's environment and the interpolation of texts with it.
#include "runtime/workload/task_env.hpp"

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace nomad;
using namespace nomad::workload;

namespace {

void set_entries(capnp::List<schema::TextEntry>::Builder to,
                 std::initializer_list<std::pair<const char*, const char*>> from) {
  unsigned at = 0;
  for (const auto& [key, value] : from) {
    to[at].setKey(key);
    to[at++].setValue(value);
  }
}

struct Sample {
  Draft<schema::Job> job;
  Draft<schema::Allocation> alloc;
  Draft<schema::Node> node;

  Sample() {
    node->setId("node-1");
    node->setDatacenter("dc1");
    set_entries(node->initAttributes(1), {{"kernel.name", "linux"}});
    set_entries(node->initMeta(1), {{"rack", "r1"}});

    job->setId("web");
    job->setName("the web");
    set_entries(job->initMeta(2), {{"owner", "job"}, {"tier", "gold"}});
    auto group = job->initTaskGroups(1)[0];
    group.setName("api");
    set_entries(group.initMeta(1), {{"owner", "group"}});
    auto task = group.initTasks(1)[0];
    task.setName("server");
    set_entries(task.initEnv(4), {{"ADDR", "${NOMAD_ADDR_http}"},
                                  {"META", "${NOMAD_META_owner}-${attr.kernel.name}"},
                                  {"PATH", "/task"},
                                  {"UNKNOWN", "${node.pool} ${} ${a b} $ {x}"}});

    alloc->setId("12345678-aaaa-bbbb-cccc-1234567890ab");
    alloc->setName("web.api[3]");
    alloc->setNamespace("default");
    alloc->setTaskGroup("api");
    auto resources = alloc->initAllocatedResources();
    auto entry = resources.initTasks(1)[0];
    entry.setKey("server");
    entry.initValue().initCpu().setCpuShares(500);
    entry.getValue().initMemory().setMemoryMb(256);
    auto port = resources.initShared().initPorts(1)[0];
    port.setLabel("http");
    port.setValue(23456);
    port.setTo(8080);
    port.setHostIp("10.0.0.1");
  }

  TaskEnvInput input() {
    return {.alloc = alloc.reader(),
            .job = job.reader(),
            .task = "server",
            .region = "global",
            .datacenter = "dc1",
            .cgroup_parent = "",
            .node = node_variables(node.reader(), "global"),
            .task_paths = {.alloc_dir = "/alloc", .local_dir = "/local", .secrets_dir = "/secrets"},
            .client_paths = {.alloc_dir = "/d/a/alloc",
                             .local_dir = "/d/a/server/local",
                             .secrets_dir = "/d/a/server/secrets"},
            .client_task_dir = "/d/a/server",
            .host = {{"PATH", "/usr/bin"}, {"HOME", "/root"}},
            .hooks = {{"first", {{"A", "1"}, {"B", "1"}}}, {"second", {{"B", "${NOMAD_DC}"}}}},
            .templates = {{"RAW", "${NOMAD_DC}"}},
            .network = {}};
  }
};

std::string value(const TaskEnv& env, std::string_view name) {
  const auto found = env.variables().find(name);
  return found == env.variables().end() ? "<none>" : found->second;
}

}  // namespace

TEST_CASE("task_env: what the task is, where, and with what") {
  Sample sample;
  const auto env = TaskEnv::build(sample.input());
  CHECK(value(env, "NOMAD_ALLOC_ID") == "12345678-aaaa-bbbb-cccc-1234567890ab");
  CHECK(value(env, "NOMAD_SHORT_ALLOC_ID") == "12345678");
  CHECK(value(env, "NOMAD_ALLOC_INDEX") == "3");
  CHECK(value(env, "NOMAD_JOB_NAME") == "the web");
  CHECK(value(env, "NOMAD_GROUP_NAME") == "api");
  CHECK(value(env, "NOMAD_CPU_LIMIT") == "500");
  CHECK(value(env, "NOMAD_MEMORY_LIMIT") == "256");
  CHECK(value(env, "NOMAD_MEMORY_MAX_LIMIT") == "<none>");
  CHECK(value(env, "NOMAD_TASK_DIR") == "/local");
  CHECK(value(env, "NOMAD_REGION") == "global");
}

TEST_CASE("task_env: ports inside and outside") {
  Sample sample;
  const auto env = TaskEnv::build(sample.input());
  CHECK(value(env, "NOMAD_PORT_http") == "8080");
  CHECK(value(env, "NOMAD_ALLOC_PORT_http") == "8080");
  CHECK(value(env, "NOMAD_HOST_PORT_http") == "23456");
  CHECK(value(env, "NOMAD_ADDR_http") == "10.0.0.1:23456");
  CHECK(value(env, "NOMAD_HOST_IP_http") == "10.0.0.1");
}

TEST_CASE("task_env: the inner meta wins, as given and in upper case") {
  Sample sample;
  const auto env = TaskEnv::build(sample.input());
  CHECK(value(env, "NOMAD_META_owner") == "group");
  CHECK(value(env, "NOMAD_META_OWNER") == "group");
  CHECK(value(env, "NOMAD_META_TIER") == "gold");
}

TEST_CASE("task_env: values refer to variables and to the node; what is unknown stays") {
  Sample sample;
  const auto env = TaskEnv::build(sample.input());
  CHECK(value(env, "ADDR") == "10.0.0.1:23456");
  CHECK(value(env, "META") == "group-linux");
  CHECK(value(env, "UNKNOWN") == "${node.pool} ${} ${a b} $ {x}");
  CHECK(env.replace("${meta.rack}/${node.unique.id}/${ADDR}") == "r1/node-1/10.0.0.1:23456");
}

TEST_CASE("task_env: precedence from the host to templates") {
  Sample sample;
  const auto env = TaskEnv::build(sample.input());
  CHECK(value(env, "HOME") == "/root");
  CHECK(value(env, "PATH") == "/task");
  CHECK(value(env, "A") == "1");
  CHECK(value(env, "B") == "dc1");
  CHECK(value(env, "RAW") == "${NOMAD_DC}");
}

TEST_CASE("task_env: names made from labels and keys are cleaned") {
  Sample sample;
  sample.alloc->getAllocatedResources().getShared().getPorts()[0].setLabel("my-port");
  set_entries(sample.job->initMeta(1), {{"a.b", "x"}});
  const auto env = TaskEnv::build(sample.input());
  CHECK(value(env, "NOMAD_PORT_my_port") == "8080");
  CHECK(value(env, "NOMAD_META_a.b") == "x");
}

TEST_CASE("task_env: paths on this machine, and those that lead outside") {
  Sample sample;
  const auto env = TaskEnv::build(sample.input());
  const auto path = [&env](std::string_view raw, bool join) {
    const auto resolved = env.client_path(raw, join);
    return resolved.path + (resolved.escapes ? " escapes" : "");
  };
  CHECK(path("local/x", true) == "/d/a/server/local/x");
  CHECK(path("${NOMAD_TASK_DIR}/x", false) == "/d/a/server/local/x");
  CHECK(path("${NOMAD_ALLOC_DIR}/data/x", false) == "/d/a/alloc/data/x");
  CHECK(path("/local/x", true) == "/d/a/server/local/x");
  CHECK(path("/alloc/data/x", true) == "/d/a/alloc/data/x");
  CHECK(path("alloc", false) == "/d/a/alloc");
  CHECK(path("/allocated/x", true) == "/d/a/server/allocated/x");
  CHECK(path("/etc/passwd", false) == "/etc/passwd escapes");
  CHECK(path("../../../etc/passwd", true) == "/etc/passwd escapes");
  CHECK(path("../server2/x", true) == "/d/a/server2/x escapes");
}

TEST_CASE("task_env: a task in the host's root has a directory of that name of its own") {
  Sample sample;
  auto input = sample.input();
  input.task_paths = input.client_paths;
  CHECK(TaskEnv::build(input).client_path("/alloc/x", true).path == "/d/a/server/alloc/x");
}

TEST_CASE("task_env: allocation index") {
  CHECK(alloc_index("job.group[12]") == 12);
  CHECK(alloc_index("job.group") == -1);
  CHECK(alloc_index("job.group[x]") == -1);
}

TEST_CASE("task_env: a port that leads to no other is the same inside") {
  Sample sample;
  sample.alloc->getAllocatedResources().getShared().getPorts()[0].setTo(0);
  CHECK(value(TaskEnv::build(sample.input()), "NOMAD_PORT_http") == "23456");
  sample.alloc->getAllocatedResources().getShared().getPorts()[0].setTo(-1);
  CHECK(value(TaskEnv::build(sample.input()), "NOMAD_ALLOC_PORT_http") == "23456");
  sample.alloc->getAllocatedResources().getShared().getPorts()[0].setTo(1);
  CHECK(value(TaskEnv::build(sample.input()), "NOMAD_PORT_http") == "1");
}

TEST_CASE("task_env: ports of the group's network lead inside, too") {
  Sample sample;
  auto network = sample.alloc->getAllocatedResources().getShared().initNetworks(1)[0];
  auto reserved = network.initReservedPorts(2);
  reserved[0].setLabel("same");
  reserved[0].setValue(8080);
  reserved[1].setLabel("other");
  reserved[1].setValue(8081);
  reserved[1].setTo(1);
  auto dynamic = network.initDynamicPorts(1)[0];
  dynamic.setLabel("drawn");
  dynamic.setValue(20001);
  dynamic.setTo(-1);
  const auto env = TaskEnv::build(sample.input());
  CHECK(value(env, "NOMAD_PORT_same") == "8080");
  CHECK(value(env, "NOMAD_PORT_other") == "1");
  CHECK(value(env, "NOMAD_HOST_PORT_other") == "8081");
  CHECK(value(env, "NOMAD_PORT_drawn") == "20001");
}

TEST_CASE(
    "task_env: ports of a task by what its driver made of them, and of the others as they are") {
  Sample sample;
  const auto add
      = [](schema::AllocatedResources::TaskEntry::Builder entry, const char* task, int first) {
          entry.setKey(task);
          auto network = entry.initValue().initNetworks(1)[0];
          network.setIp("10.0.0.2");
          auto ports = network.initDynamicPorts(3);
          for (unsigned at = 0; at < 3; ++at) {
            ports[at].setLabel(std::string{"p"} + std::to_string(at));
            ports[at].setValue(first + static_cast<int>(at));
          }
        };
  auto tasks = sample.alloc->getAllocatedResources().initTasks(2);
  add(tasks[0], "server", 100);
  add(tasks[1], "helper", 200);
  auto input = sample.input();
  input.network.port_map = {{"p0", 80}, {"p1", 0}};
  const auto env = TaskEnv::build(input);
  CHECK(value(env, "NOMAD_PORT_p0") == "80");
  CHECK(value(env, "NOMAD_PORT_p1") == "101");
  CHECK(value(env, "NOMAD_PORT_p2") == "102");
  CHECK(value(env, "NOMAD_HOST_PORT_p0") == "100");
  CHECK(value(env, "NOMAD_PORT_helper_p0") == "200");
  CHECK(value(env, "NOMAD_ADDR_helper_p1") == "10.0.0.2:201");
  CHECK(value(env, "NOMAD_PORT_server_p0") == "<none>");
}

TEST_CASE("task_env: what has no limit says none, and what has one of 1 does") {
  Sample sample;
  auto resources = sample.alloc->getAllocatedResources().getTasks()[0].getValue();
  resources.getMemory().setMemoryMb(1);
  resources.getCpu().setCpuShares(1);
  auto env = TaskEnv::build(sample.input());
  CHECK(value(env, "NOMAD_MEMORY_LIMIT") == "1");
  CHECK(value(env, "NOMAD_CPU_LIMIT") == "1");
  resources.getMemory().setMemoryMb(0);
  resources.getCpu().setCpuShares(0);
  env = TaskEnv::build(sample.input());
  CHECK(value(env, "NOMAD_MEMORY_LIMIT") == "<none>");
  CHECK(value(env, "NOMAD_CPU_LIMIT") == "<none>");
}

TEST_CASE("task_env: the first of a group has the index 0, and a name without one none") {
  Sample sample;
  sample.alloc->setName("web.api[0]");
  CHECK(value(TaskEnv::build(sample.input()), "NOMAD_ALLOC_INDEX") == "0");
  sample.alloc->setName("web.api");
  CHECK(value(TaskEnv::build(sample.input()), "NOMAD_ALLOC_INDEX") == "<none>");
  CHECK(alloc_index("web.api[3") == -1);
  CHECK(alloc_index("web.api3]") == -1);
  CHECK(alloc_index("web.api[3x]") == -1);
  CHECK(alloc_index("web.api[]") == -1);
  CHECK(alloc_index("web.api[12]") == 12);
}

TEST_CASE("task_env: keys of meta data in upper case are so from a to z") {
  Sample sample;
  set_entries(sample.job->initMeta(1), {{"a_Z9-z{`", "value"}});
  const auto env = TaskEnv::build(sample.input());
  CHECK(value(env, "NOMAD_META_A_Z9_Z__") == "value");
}

TEST_CASE("task_env: a node that no region is named for has none") {
  Sample sample;
  CHECK_FALSE(node_variables(sample.node.reader(), "")->contains("node.region"));
  CHECK(node_variables(sample.node.reader(), "global")->contains("node.region"));
}

TEST_CASE("task_env: a directory beside the task's, of a longer name, is outside") {
  Sample sample;
  const auto env = TaskEnv::build(sample.input());
  CHECK(env.client_path("/d/a/server2/x", false).escapes);
  CHECK(env.client_path("/d/a/serve", false).escapes);
  CHECK_FALSE(env.client_path("/d/a/server", false).escapes);
  CHECK_FALSE(env.client_path("/d/a/server/x", false).escapes);
}

TEST_CASE("a driver's network is empty when the driver found nothing out") {
  CHECK(DriverNetwork{}.is_empty());
  CHECK_FALSE(DriverNetwork{.port_map = {{"http", 80}}, .ip = {}}.is_empty());
  CHECK_FALSE(DriverNetwork{.port_map = {}, .ip = "10.0.0.1"}.is_empty());
  CHECK_FALSE(DriverNetwork{.port_map = {}, .ip = {}, .auto_advertise = true}.is_empty());
}
