#include "runtime/host/cgroup/cpuset_groups.hpp"

#include <filesystem>

#include <unistd.h>

#include <doctest/doctest.h>
#include <sched.h>

#include "runtime/base/text.hpp"
#include "runtime/host/cgroup/cgroup.hpp"
#include "runtime/host/fingerprint/parse.hpp"
#include "runtime/host/process/process_id.hpp"
#include "test/support/cgroup_parents.hpp"
#include "test/support/child_process.hpp"
#include "test/unit/runtime/host/temp_dir.hpp"

using namespace nomad;
using namespace nomad::host;

namespace {

/// A parent of the test's own in the real hierarchies.
struct OwnParent {
  std::string name;
  CgroupMounts mounts = parse_cgroup_mounts(read_proc_file("/proc/self/mountinfo"));
  std::vector<std::uint16_t> cores = parse_cpu_list(allowed(::getpid()));

  explicit OwnParent(const std::string& test)
      : name("nomad-test-" + test + std::to_string(::getpid())) {}

  ~OwnParent() { test::remove_cgroup_parents(mounts, name); }

  /// The processors that the kernel lets the process run on: "0-1".
  static std::string allowed(pid_t pid) {
    const auto status = read_proc_file("/proc/" + std::to_string(pid) + "/status");
    for (const auto line : split(status, '\n'))
      if (constexpr std::string_view key = "Cpus_allowed_list:"; line.starts_with(key))
        return std::string{trim(line.substr(key.size()))};
    return {};
  }

  bool usable() const {
    const bool may = check_cpuset(mounts) && cores.size() >= 2;
    if (!may) MESSAGE("skipped: needs a cpuset controller that may be written, and two processors");
    return may;
  }

  static void join(const std::string& directory, pid_t pid) {
    write_text(directory + "/cgroup.procs", std::to_string(pid));
  }
};

}  // namespace

TEST_CASE("cpuset groups: the parent is the configured one or of the version's name") {
  CHECK(parent_group("", true) == "nomad.slice");
  CHECK(parent_group("", false) == "nomad");
  CHECK(parent_group("/a/b", true) == "a/b");
  CHECK(parent_group("a", false) == "a");
}

TEST_CASE("cpuset groups: says why tasks can't be held to processors") {
  TempDir temp;
  CgroupMounts v1{.version = CgroupMounts::Version::hybrid,
                  .first = "/cpuset",
                  .unified = "/unified",
                  .controllers = {{"cpuset", "/cpuset"}}};
  CgroupMounts v2{.version = CgroupMounts::Version::v2, .first = "/u", .unified = "/u"};
  const auto why = [&](const CgroupMounts& mounts) {
    const auto may = check_cpuset(mounts, temp / "");
    return may ? std::string{} : may.error().what;
  };

  CHECK(why({}) == "the controller cpuset is not there");
  CHECK(why(v1).starts_with("writing below /cpuset"));
  CHECK(why(v2) == "the controller cpuset is not there");
  std::filesystem::create_directories(temp / "cpuset");
  std::filesystem::create_directories(temp / "u");
  for (const char* file : {"cpuset/cgroup.procs", "u/cgroup.procs"})
    write_text(temp / file, "");
  write_text(temp / "u/cgroup.controllers", "cpu io memory\n");
  CHECK(why(v1).empty());
  CHECK(why(v2) == "the controller cpuset is not there");
  write_text(temp / "u/cgroup.controllers", "cpuset cpu io memory\n");
  CHECK(why(v2).empty());
}

TEST_CASE("cpuset groups: scopes with processors keep to them, the others to what is shared") {
  OwnParent parent{"cores-"};
  if (!parent.usable()) return;
  const auto all = OwnParent::allowed(::getpid());
  const auto first = std::to_string(parent.cores[0]);
  const auto second = std::to_string(parent.cores[1]);
  const auto cgroups = Cgroups::open({.parent = parent.name});
  const auto pinned = cgroups.create("pinned", {.cpus = first});
  const auto sharing = cgroups.create("sharing");
  REQUIRE_MESSAGE(pinned.has_value(), pinned.error().what);
  REQUIRE(sharing.has_value());
  CHECK(pinned->shared.empty());
  test::ChildProcess has_own{{"/bin/sleep", "1000"}};
  test::ChildProcess shares{{"/bin/sleep", "1000"}};
  for (const auto& directory : pinned->directories)
    OwnParent::join(directory, has_own.pid());
  for (const auto& directory : sharing->directories)
    OwnParent::join(directory, shares.pid());
  if (!sharing->shared.empty()) OwnParent::join(sharing->shared, shares.pid());

  CHECK(OwnParent::allowed(has_own.pid()) == first);
  CHECK(OwnParent::allowed(shares.pid()) == all);
  REQUIRE(share_cpus(parent.name, second));
  CHECK(OwnParent::allowed(shares.pid()) == second);
  CHECK(OwnParent::allowed(has_own.pid()) == first);
  CHECK_FALSE(share_cpus(parent.name, "4095"));
  CHECK(OwnParent::allowed(shares.pid()) == second);

  // Another agent finds both as they are, and ends each alone.
  const auto next = Cgroups::open({.parent = parent.name});
  CHECK(OwnParent::allowed(shares.pid()) == second);
  CHECK(next.find("pinned").directories == pinned->directories);
  Cgroups::kill(next.find("pinned"));
  has_own.wait();
  CHECK_FALSE(Cgroups::remove(next.find("pinned")).has_error());
  CHECK_FALSE(next.find("pinned"));
  CHECK(Cgroups::processes(next.find("sharing")) == std::vector<pid_t>{shares.pid()});
  REQUIRE(share_cpus(parent.name, all));
  CHECK(OwnParent::allowed(shares.pid()) == all);
  Cgroups::kill(next.find("sharing"));
  shares.wait();
  CHECK_FALSE(Cgroups::remove(next.find("sharing")).has_error());
}

TEST_CASE("cpuset groups: processors that are not there are an error that names the file") {
  OwnParent parent{"absent-"};
  if (!parent.usable()) return;
  const auto cgroups = Cgroups::open({.parent = parent.name});
  const auto made = cgroups.create("key", {.cpus = "4095"});
  REQUIRE(made.has_error());
  CHECK(made.error().what.find("cpuset.cpus") != std::string::npos);
  CHECK_FALSE(Cgroups::remove(cgroups.find("key")).has_error());
}
