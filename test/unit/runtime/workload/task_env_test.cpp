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
  CHECK(value(env, "NOMAD_META_a_b") == "x");
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
  CHECK(path("/etc/passwd", false) == "/etc/passwd escapes");
  CHECK(path("../../../etc/passwd", true) == "/etc/passwd escapes");
  CHECK(path("../server2/x", true) == "/d/a/server2/x escapes");
}

TEST_CASE("task_env: allocation index and core lists") {
  CHECK(alloc_index("job.group[12]") == 12);
  CHECK(alloc_index("job.group") == -1);
  CHECK(alloc_index("job.group[x]") == -1);
  Draft<schema::AllocatedTaskResources> draft;
  auto cores = draft->initCpu().initReservedCores(5);
  for (unsigned i = 0; i < 5; ++i)
    cores.set(i, std::array<std::uint16_t, 5>{7, 1, 0, 2, 9}[i]);
  CHECK(core_list(cores.asReader()) == "0-2,7,9");
}
