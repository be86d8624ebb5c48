#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include <unistd.h>

#include <doctest/doctest.h>
#include <nomadctl/plugin/test_kit.hpp>

using namespace nomad;
using namespace nomad::plugin;
using namespace std::chrono_literals;

void describe(Plugin& plugin);

namespace {

void fill_id(schema::plugin::TaskId::Builder id) {
  id.setAllocId("a");
  id.setTask("t");
}

/// Where an allocation would be.
struct AllocRoot {
  std::filesystem::path path = "/tmp/naps-" + std::to_string(getpid());

  AllocRoot() { create_directories(path / "alloc/logs"); }

  ~AllocRoot() { remove_all(path); }

  std::string logs() const {
    std::ifstream file{path / "alloc/logs/t.stdout.0"};
    return {std::istreambuf_iterator<char>{file}, {}};
  }
};

const AllocRoot& alloc_root() {
  static const AllocRoot made;
  return made;
}

std::string start_nap(TestAgent& agent, const char* config) {
  std::string handle;
  const auto outcome = agent.ask_driver(
      "naps",
      [&](auto request) {
        auto task = request.initStartTask();
        fill_id(task.initId());
        task.setRunId("run-1");
        task.setAllocRoot(alloc_root().path.string());
        task.setConfig(config);
      },
      [&](auto answer) {
        const auto data = answer.getStarted().getHandle().getData();
        handle.assign(reinterpret_cast<const char*>(data.begin()), data.size());
      });
  CHECK(outcome);
  return handle;
}

/// The driver looks each 200 ms, by the clock of the agent; the naps are real.
bool ends(TestAgent& agent) {
  for (int tries = 0; tries < 500 && agent.exits().empty(); ++tries) {
    std::this_thread::sleep_for(10ms);
    CHECK(agent.advance(1s));
  }
  return agent.exits() == std::vector<std::string>{"run-1"};
}

}  // namespace

TEST_CASE("a nap ends, and its end is told") {
  TestAgent agent{describe};
  REQUIRE(agent.configure("{}", {.data_dir = "/tmp"}));
  CHECK_FALSE(start_nap(agent, R"({"length":"0s"})").empty());
  CHECK(ends(agent));
  for (int tries = 0; tries < 500 && alloc_root().logs().empty(); ++tries)
    std::this_thread::sleep_for(10ms);
  CHECK(alloc_root().logs() == "slept for 0 s\n");
}

TEST_CASE("a nap is found again by another process of the plugin, and can be ended") {
  std::string handle;
  {
    TestAgent agent{describe};
    REQUIRE(agent.configure("{}", {.data_dir = "/tmp"}));
    handle = start_nap(agent, R"({"length":600000000000})");
  }
  TestAgent agent{describe};
  REQUIRE(agent.configure("{}", {.data_dir = "/tmp"}));
  std::string run;
  REQUIRE(agent.ask_driver(
      "naps",
      [&](auto request) {
        auto order = request.initRecoverTask();
        fill_id(order.initId());
        order.initHandle().setData(
            {reinterpret_cast<const kj::byte*>(handle.data()), handle.size()});
      },
      [&](auto answer) { run = copy(answer.getRecovered()); }));
  CHECK(run == "run-1");
  CHECK(agent.advance(1s));
  CHECK(agent.exits().empty());

  REQUIRE(agent.ask_driver("naps", [](auto request) { fill_id(request.initStopTask().initId()); }));

  CHECK(ends(agent));
}
