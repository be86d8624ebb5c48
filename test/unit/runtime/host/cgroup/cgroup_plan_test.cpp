#include "runtime/host/cgroup/cgroup_plan.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "runtime/host/process/process_id.hpp"
#include "test/unit/runtime/host/temp_dir.hpp"

using namespace nomad;
using namespace nomad::host;

namespace {

const CgroupLimits wanted_limits{
    .memory_bytes = 4096, .memory_soft_bytes = 1024, .cpu_shares = 500, .pids = 30};

}  // namespace

TEST_CASE("cgroup plan: of version 1, each controller has a directory and files of its own") {
  CgroupScope scope;
  scope.memory = "/m/t";
  scope.shares = "/c/t";
  scope.pids = "/p/t";

  CHECK(plan_limits(scope, wanted_limits).value()
        == std::vector<GroupFile>{{"/m/t/memory.limit_in_bytes", "4096"},
                                  {"/m/t/memory.soft_limit_in_bytes", "1024"},
                                  {"/m/t/memory.swappiness", "0", true},
                                  {"/c/t/cpu.shares", "500"},
                                  {"/p/t/pids.max", "30"}});
  CHECK(plan_limits(scope, {}).value().empty());
}

TEST_CASE("cgroup plan: of version 2, all is in one directory, and shares are a weight") {
  CgroupScope scope;
  scope.memory = scope.shares = scope.pids = "/u/t.scope";
  scope.memory_is_v2 = scope.shares_are_weights = true;

  CHECK(plan_limits(scope, wanted_limits).value()
        == std::vector<GroupFile>{{"/u/t.scope/memory.low", "1024"},
                                  {"/u/t.scope/memory.max", "4096"},
                                  {"/u/t.scope/cpu.weight", "19"},
                                  {"/u/t.scope/pids.max", "30"}});
}

TEST_CASE("cgroup plan: a limit without its controller is refused, by the controller's name") {
  for (const auto& [limits, controller] : {std::pair{CgroupLimits{.memory_bytes = 1}, "memory"},
                                           std::pair{CgroupLimits{.cpu_shares = 2}, "cpu"},
                                           std::pair{CgroupLimits{.pids = 1}, "pids"}}) {
    const auto refused = plan_limits({}, limits);
    REQUIRE(refused.has_error());
    CHECK(refused.error()
          == Error{Errc::unavailable,
                   "the task's limits can't be kept: there is no control group with the controller "
                       + std::string{controller}});
  }
}

TEST_CASE("cgroup plan: shares become weights as everywhere") {
  CHECK(weight_of_shares(0) == 1);
  CHECK(weight_of_shares(2) == 1);
  CHECK(weight_of_shares(1024) == 39);
  CHECK(weight_of_shares(262144) == 10000);
  CHECK(weight_of_shares(1'000'000) == 10000);
}

TEST_CASE(
    "cgroup plan: a scope of version 2 gets its limits, on a tree of files like the kernel's") {
  TempDir temp;
  const std::string scope = temp / "nomad.slice/key.scope";
  std::filesystem::create_directories(scope);
  write_text(temp / "mountinfo", "30 22 0:26 / " + (temp / "") + " rw - cgroup2 cgroup2 rw\n");
  for (const char* file : {"cgroup.procs", "nomad.slice/cgroup.procs"})
    write_text(temp / file, "");
  for (const char* file : {"cgroup.controllers", "nomad.slice/cgroup.controllers"})
    write_text(temp / file, "cpu memory pids\n");
  for (const char* file :
       {"/memory.current", "/memory.max", "/memory.low", "/cpu.weight", "/pids.max"})
    write_text(scope + file, "");
  const auto cgroups = Cgroups::open({.mountinfo = temp / "mountinfo", .limits = true});

  const auto made = cgroups.create("key", wanted_limits);

  REQUIRE_MESSAGE(made.has_value(), made.error().what);
  CHECK(cgroups.lacking().empty());
  CHECK(read_proc_file(scope + "/memory.max") == "4096");
  CHECK(read_proc_file(scope + "/memory.low") == "1024");
  CHECK(read_proc_file(scope + "/cpu.weight") == "19");
  CHECK(read_proc_file(scope + "/pids.max") == "30");

  write_text(temp / "nomad.slice/cgroup.controllers", "cpu\n");
  CHECK(Cgroups::open({.mountinfo = temp / "mountinfo", .limits = true}).lacking()
        == "memory, pids");
}
