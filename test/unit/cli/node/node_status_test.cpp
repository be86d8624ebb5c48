// node status: what it shows of the host.
#include <doctest/doctest.h>

#include "cli/run.hpp"
#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

constexpr auto stats_node = "bbbbbbbb-0000-0000-0000-000000000001";

std::string shown_with(const std::vector<std::string>& flags) {
  test::FakeAgent agent;
  const std::string id{stats_node};
  agent.answer("GET /v1/nodes", R"([{"ID":")" + id + R"("}])");
  agent.answer("GET /v1/node/" + id, R"({"ID":")" + id + R"(","Name":"one"})");
  agent.answer("GET /v1/node/" + id + "/allocations", "[]");
  agent.answer("GET /v1/client/stats",
               R"({"CPU":[{"CPU":"cpu0","User":50,"System":25.5,"Idle":24.5},{"CPU":"cpu1"}],)"
               R"("Memory":{"Total":2097152,"Available":1048576,"Used":524288,"Free":1024},)"
               R"("DiskStats":[{"Device":"/dev/sda","Mountpoint":"/","Size":1048576,"Used":524288,)"
               R"("Available":524288,"UsedPercent":50,"InodesUsedPercent":3.876}]})");
  auto words = flags;
  words.push_back(id);
  CHECK_MESSAGE(agent.run(run_node_status, words) == 0, agent.err);
  return agent.out;
}

}  // namespace

TEST_CASE("node status: -stats shows each processor, the memory and each disk") {
  const auto shown = shown_with({"-stats"});
  CHECK(shown.find("\nCPU Stats\nCPU    = cpu0\nUser   = 50.00%\nSystem = 25.50%\nIdle   = 24.50%\n"
                   "\nCPU    = cpu1\n")
        != std::string::npos);
  CHECK(shown.find("\nMemory Stats\nTotal     = 2.0 MiB\nAvailable = 1.0 MiB\nUsed      = 512 KiB\n"
                   "Free      = 1.0 KiB\n")
        != std::string::npos);
  CHECK(shown.find("\nDisk Stats\nDevice         = /dev/sda\nMountPoint     = /\n"
                   "Size           = 1.0 MiB\nUsed           = 512 KiB\nAvailable      = 512 KiB\n"
                   "Used Percent   = 50.00%\nInodes Percent = 3.88%\n")
        != std::string::npos);
  CHECK(shown.find("Allocations\n") > shown.find("Disk Stats\n"));

  CHECK(shown_with({}).find("CPU Stats") == std::string::npos);
  CHECK(shown_with({"-stats", "-short"}).find("CPU Stats") == std::string::npos);
}
