#include "actors/roles/node_replies.hpp"

#include <doctest/doctest.h>

#include "runtime/object/json_codec.hpp"

using namespace nomad;
using namespace nomad::client;

namespace {

host::TaskUsage task_usage(std::uint64_t rss, double percent, std::int64_t timestamp) {
  host::TaskUsage usage;
  usage.memory.rss = rss;
  usage.memory.measured = {"RSS"};
  usage.cpu.percent = percent;
  usage.timestamp = timestamp;
  return usage;
}

const std::string nothing_of_cpu
    = R"("CpuStats":{"Measured":null,"Percent":0.0,"SystemMode":0.0,"ThrottledPeriods":0,)"
      R"("ThrottledTime":0,"TotalTicks":0.0,"UserMode":0.0})";

}  // namespace

TEST_CASE("node_replies: usage of an allocation is its tasks', and their sum") {
  client_api::AllocUsage usage;
  usage.tasks.emplace_back("db", task_usage(10, 1.5, 77));
  usage.tasks.emplace_back("web", task_usage(32, 2, 76));
  usage.tasks[1].second.memory.measured = {"Cache", "RSS"};

  const auto reply = usage_reply(usage);

  const auto all = reply->getAllocUsage();
  CHECK(all.getTimestamp() == 77);
  CHECK(all.getResourceUsage().getMemoryStats().getRss() == 42);
  CHECK(all.getResourceUsage().getCpuStats().getPercent() == 3.5);
  const auto measured = all.getResourceUsage().getMemoryStats().getMeasured();
  REQUIRE(measured.size() == 2);
  CHECK(view(measured[0]) == "RSS");
  CHECK(view(measured[1]) == "Cache");
  REQUIRE(all.getTasks().size() == 2);
  CHECK(view(all.getTasks()[1].getKey()) == "web");
  CHECK(all.getTasks()[1].getValue().getTimestamp() == 76);
}

TEST_CASE("node_replies: usage of a task looks as Nomad's, with its processes if it has any") {
  client_api::AllocUsage usage;
  usage.tasks.emplace_back("web", task_usage(32, 0, 76));
  const std::string memory
      = R"("MemoryStats":{"Cache":0,"KernelMaxUsage":0,"KernelUsage":0,"MappedFile":0,"MaxUsage":0,)"
        R"("Measured":["RSS"],"RSS":32,"Swap":0,"Usage":0})";
  const auto resources = '{' + nothing_of_cpu + R"(,"DeviceStats":null,)" + memory + '}';
  const auto shown = [&usage] {
    const auto reply = usage_reply(usage);
    return to_json(reply->getAllocUsage().getTasks()[0].getValue());
  };

  CHECK(shown() == R"({"Pids":null,"ResourceUsage":)" + resources + R"(,"Timestamp":76})");

  usage.tasks[0].second.processes.push_back({7, usage.tasks[0].second.memory, {}});
  CHECK(shown()
        == R"({"Pids":{"7":)" + resources + R"(},"ResourceUsage":)" + resources
               + R"(,"Timestamp":76})");
}

TEST_CASE("node_replies: usage of the machine looks as Nomad's") {
  host::HostUsage usage;
  usage.memory = {.total = 4, .available = 3, .used = 2, .free = 1};
  usage.cpu = {{"cpu0", 1, 2, 97, 3}, {"cpu1", 0, 1, 99, 1}};
  usage.disks = {{"/dev/x", "/", 100, 40, 60, 40.5, 1}};
  usage.cpu_ticks_consumed = 800;
  usage.uptime_seconds = 9;
  usage.timestamp = 8;
  const std::string disk
      = R"({"Available":60,"Device":"/dev/x","InodesUsedPercent":1.0,"Mountpoint":"/","Size":100,)"
        R"("Used":40,"UsedPercent":40.5})";

  const auto reply = usage_reply(usage);

  CHECK(
      to_json(reply->getHostUsage())
      == R"({"AllocDirStats":{"Available":0,"Device":"","InodesUsedPercent":0.0,)"
         R"("Mountpoint":"","Size":0,"Used":0,"UsedPercent":0.0},)"
         R"("CPU":[{"CPU":"cpu0","Idle":97.0,"System":2.0,"TotalPercent":3.0,)"
         R"("TotalTicks":600.0,"User":1.0},)"
         R"({"CPU":"cpu1","Idle":99.0,"System":1.0,"TotalPercent":1.0,)"
         R"("TotalTicks":200.0,"User":0.0}],)"
         R"("CPUTicksConsumed":800.0,"DeviceStats":null,"DiskStats":[)"
             + disk
             + R"(],"Memory":{"Available":3,"Free":1,"Total":4,"Used":2},"Timestamp":8,"Uptime":9})");
}

TEST_CASE("node_replies: checks come in the job's order, without what they do not have") {
  const auto reply = checks_reply({{{.id = "b", .check = "up", .status = "pending"},
                                    {.id = "a", .task = "web", .status_code = 503}}});

  const auto checks = reply->getChecks();
  REQUIRE(checks.size() == 2);
  CHECK(to_json(checks[0])
        == R"({"Check":"up","Group":"","ID":"b","Mode":"","Output":"","Service":"",)"
           R"("Status":"pending","Timestamp":0})");
  CHECK(to_json(checks[1])
        == R"({"Check":"","Group":"","ID":"a","Mode":"","Output":"","Service":"","Status":"",)"
           R"("StatusCode":503,"Task":"web","Timestamp":0})");
}
