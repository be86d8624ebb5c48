#include "runtime/host/cgroup/cgroup.hpp"

#include <thread>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "runtime/host/process/process_id.hpp"
#include "test/support/cgroup_parents.hpp"
#include "test/support/child_process.hpp"
#include "test/unit/runtime/host/temp_dir.hpp"

using namespace nomad;
using namespace nomad::host;

TEST_CASE("cgroup: tells the versions by what is mounted") {
  std::string v2 = "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
  std::string v1
      = "31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "32 30 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "33 30 0:29 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n";
  std::string unified = "34 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
  using Version = CgroupMounts::Version;

  CHECK(parse_cgroup_mounts("").version == Version::none);
  CHECK(parse_cgroup_mounts("1 2 3\nx - cgroup2\n - \n").version == Version::none);
  CHECK(parse_cgroup_mounts(v2).version == Version::v2);
  CHECK(parse_cgroup_mounts(v2).first == "/sys/fs/cgroup");
  CgroupMounts mounts = parse_cgroup_mounts(v1);
  CHECK(mounts.version == Version::v1);
  CHECK(mounts.first == "/sys/fs/cgroup/cpu,cpuacct");
  CHECK(mounts.controllers.size() == 3);
  mounts = parse_cgroup_mounts(v1 + unified);
  CHECK(mounts.version == Version::hybrid);
  CHECK(mounts.unified == "/sys/fs/cgroup/unified");
}

TEST_CASE("cgroup: without permission scopes are empty and nothing fails") {
  TempDir temp;
  write_text(temp / "mountinfo",
             "30 22 0:26 / " + (temp / "absent") + " rw - cgroup2 cgroup2 rw\n");
  Cgroups refused = Cgroups::open({.mountinfo = temp / "mountinfo"});
  Cgroups disabled = Cgroups::open({.enabled = false});

  for (const Cgroups* cgroups : {&refused, &disabled}) {
    CHECK_FALSE(cgroups->available());
    auto scope = cgroups->create("key");
    REQUIRE_FALSE(scope.has_error());
    CHECK_FALSE(*scope);
    Cgroups::kill(*scope);
    CHECK(Cgroups::processes(*scope).empty());
    CHECK_FALSE(Cgroups::remove(*scope).has_error());
  }
}

TEST_CASE("cgroup: a scope holds, kills and releases processes") {
  std::string parent = "nomad-test-scope-" + std::to_string(::getpid());
  Cgroups cgroups = Cgroups::open({.parent = parent});
  if (!cgroups.available()) {
    MESSAGE("skipped: needs permission to make cgroups");
    return;
  }
  auto scope = cgroups.create("key");
  REQUIRE_FALSE(scope.has_error());
  CHECK(cgroups.create("key")->directories == scope->directories);
  CHECK(cgroups.find("key").directories == scope->directories);
  CHECK_FALSE(cgroups.find("other"));
  nomad::test::ChildProcess child{{"/bin/sleep", "1000"}};
  const pid_t pid = child.pid();
  for (const std::string& directory : scope->directories)
    write_text(directory + "/cgroup.procs", std::to_string(pid));

  CHECK(Cgroups::processes(*scope) == std::vector<pid_t>{pid});
  CHECK(Cgroups::remove(*scope).error().code == Errc::conflict);
  Cgroups::kill(*scope);
  const int status = child.wait();
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGKILL);
  CHECK(Cgroups::processes(*scope).empty());
  CHECK_FALSE(Cgroups::remove(*scope).has_error());
  CHECK_FALSE(Cgroups::remove(*scope).has_error());
  CHECK_FALSE(cgroups.find("key"));

  test::remove_cgroup_parents(cgroups.mounts(), parent);
}

TEST_CASE(
    "cgroup: of version 2, a scope is in the slice of those that share or of those that do not") {
  TempDir temp;
  const std::string parent = temp / "nomad.slice";
  const auto make = [&](const std::string& path, const char* file, const char* text) {
    std::filesystem::create_directories(path);
    write_text(path + '/' + file, text);
  };
  write_text(temp / "mountinfo", "30 22 0:26 / " + (temp / "") + " rw - cgroup2 cgroup2 rw\n");
  for (const std::string& path :
       {temp / "", parent, parent + "/share.slice", parent + "/reserve.slice"}) {
    make(path, "cgroup.controllers", "cpuset cpu io memory pids\n");
    make(path, "cgroup.procs", "");
  }
  make(parent + "/reserve.slice/own.scope", "cpuset.cpus", "");
  make(parent + "/older.scope", "cgroup.procs", "");
  const Cgroups cgroups = Cgroups::open({.mountinfo = temp / "mountinfo"});

  const auto shares = cgroups.create("shares");
  const auto own = cgroups.create("own", {.cpus = "0,2"});
  REQUIRE(shares.has_value());
  REQUIRE_MESSAGE(own.has_value(), own.error().what);
  const auto in = [](const CgroupScope& scope, std::string_view end) {
    return scope.unified.ends_with(end) && scope.shared.empty()
           && scope.directories == std::vector{scope.unified};
  };
  CHECK(in(*shares, "/nomad.slice/share.slice/shares.scope"));
  CHECK(in(*own, "/nomad.slice/reserve.slice/own.scope"));
  CHECK(read_proc_file(own->unified + "/cpuset.cpus") == "0,2");
  CHECK(in(cgroups.find("own"), "/nomad.slice/reserve.slice/own.scope"));
  CHECK(in(cgroups.find("older"), "/nomad.slice/older.scope"));
}

TEST_CASE("cgroup: without the controller cpuset wanted processors are passed over") {
  TempDir temp;
  write_text(temp / "mountinfo", "30 22 0:26 / " + (temp / "") + " rw - cgroup2 cgroup2 rw\n");
  write_text(temp / "cgroup.controllers", "cpu memory\n");
  std::filesystem::create_directories(temp / "nomad.slice");
  for (const char* file : {"cgroup.procs", "nomad.slice/cgroup.procs"})
    write_text(temp / file, "");
  const auto made = Cgroups::open({.mountinfo = temp / "mountinfo"}).create("key", {.cpus = "1"});
  REQUIRE_MESSAGE(made.has_value(), made.error().what);
  CHECK(made->unified.ends_with("/nomad.slice/key.scope"));
}
