#include "runtime/host/cgroup.hpp"

#include <thread>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "temp_dir.hpp"
#include "test/support/child_process.hpp"

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

  for (const std::string& directory : scope->directories)
    ::rmdir(std::filesystem::path{directory}.parent_path().c_str());
}
