#include "runtime/host/isolation/mount_plan.hpp"

#include <algorithm>

#include <sys/mount.h>

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::host;

namespace {

using Step = PlannedMount::Kind;
using Found = ChrootEntry::Kind;

constexpr std::uint64_t safe = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

MountInput input() {
  return {.task_directory = "/allocs/1/web",
          .alloc_directory = "/allocs/1/alloc",
          .work_directory = "/allocs/1/.overlays/web",
          .hidden = {"/allocs"}};
}

ChrootEntry directory(const std::string& path, const std::string& real = {}) {
  return {
      .source = path, .target = path, .kind = Found::directory, .real = real.empty() ? path : real};
}

/// The last step at a place of the task; a step at "" when there is none.
PlannedMount at(const std::vector<PlannedMount>& steps, const std::string& target) {
  PlannedMount found;
  for (const auto& step : steps)
    if (step.target == target) found = step;
  return found;
}

std::size_t index_of(const std::vector<PlannedMount>& steps, const std::string& target) {
  return static_cast<std::size_t>(std::ranges::find(steps, target, &PlannedMount::target)
                                  - steps.begin());
}

}  // namespace

TEST_CASE("mount plan: what chroot_env names is the host's directory below the task's own") {
  auto wanted = input();
  wanted.chroot = {directory("/usr"), directory("/etc")};

  const auto steps = plan_mounts(wanted).value();

  const auto etc = at(steps, "/etc");
  CHECK(etc.kind == Step::overlay);
  CHECK(etc.source == "/etc");
  CHECK(etc.attributes == safe);
  CHECK(etc.work.starts_with("/allocs/1/.overlays/web/"));
  CHECK(at(steps, "/usr").kind == Step::overlay);
  CHECK(at(steps, "/usr").work != etc.work);
}

TEST_CASE("mount plan: a link of the host into what the task sees is a link for it, too") {
  auto wanted = input();
  wanted.chroot = {directory("/bin", "/usr/bin"), directory("/usr"), directory("/lib", "/opt/lib")};

  auto steps = plan_mounts(wanted).value();
  CHECK(at(steps, "/bin").kind == Step::link);
  CHECK(at(steps, "/bin").source == "usr/bin");
  CHECK(at(steps, "/lib").kind == Step::overlay);  // it leads to what the task does not see

  wanted.chroot[0].is_taken = true;  // by a template that was put there
  steps = plan_mounts(wanted).value();
  CHECK(at(steps, "/bin").kind == Step::overlay);
}

TEST_CASE(
    "mount plan: files, paths that overlays can't have, and machines without overlays are "
    "read-only") {
  auto wanted = input();
  wanted.chroot
      = {{.source = "/srv/app.conf",
          .target = "/etc/app.conf",
          .kind = Found::file,
          .real = "/srv/app.conf"},
         directory("/srv/a:b"),
         {.source = "/absent", .target = "/absent", .kind = Found::absent, .real = "/absent"}};

  auto steps = plan_mounts(wanted).value();
  for (const char* target : {"/etc/app.conf", "/srv/a:b"}) {
    CHECK(at(steps, target).kind == Step::bind);
    CHECK(at(steps, target).attributes == (safe | MOUNT_ATTR_RDONLY));
  }
  CHECK(at(steps, "/absent").target.empty());

  wanted.chroot = {directory("/usr")};
  wanted.use_overlays = false;
  steps = plan_mounts(wanted).value();
  CHECK(at(steps, "/usr").kind == Step::bind);
  CHECK(at(steps, "/usr").attributes == (safe | MOUNT_ATTR_RDONLY));
}

TEST_CASE("mount plan: no task sees the directories of others, whatever chroot_env names") {
  auto wanted = input();
  wanted.hidden = {"/var/lib/nomad/alloc", "/opt/state"};
  wanted.chroot = {directory("/var"), directory("/var/lib/nomad/alloc/2"), directory("/opt/state")};
  wanted.chroot[0].target = "/host/var";

  const auto steps = plan_mounts(wanted).value();

  CHECK(at(steps, "/host/var").kind == Step::bind);
  CHECK(at(steps, "/host/var/lib/nomad/alloc").kind == Step::mask);
  CHECK(index_of(steps, "/host/var") < index_of(steps, "/host/var/lib/nomad/alloc"));
  CHECK(at(steps, "/var/lib/nomad/alloc/2").target.empty());
  CHECK(at(steps, "/opt/state").target.empty());
}

TEST_CASE("mount plan: devices are single nodes in a directory where no other can be used") {
  const auto steps = plan_mounts(input()).value();

  const auto dev = at(steps, "/dev");
  CHECK(dev.kind == Step::fresh);
  CHECK((dev.attributes & MOUNT_ATTR_NODEV) != 0);
  for (const char* node :
       {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}) {
    CHECK(at(steps, node).kind == Step::bind);
    CHECK((at(steps, node).attributes & MOUNT_ATTR_NODEV) == 0);
    CHECK(index_of(steps, "/dev") < index_of(steps, node));
  }
  for (const char* path : {"/dev/pts", "/dev/shm", "/dev/mqueue", "/proc", "/sys"})
    CHECK(at(steps, path).kind == Step::fresh);
  CHECK((at(steps, "/sys").attributes & MOUNT_ATTR_RDONLY) != 0);
  CHECK(at(steps, "/alloc").source == "/allocs/1/alloc");
  CHECK(at(steps, "/private").kind == Step::mask);
  CHECK(at(steps, "/proc/kcore").kind == Step::mask);
  CHECK(at(steps, "/proc/sys").kind == Step::read_only);
  CHECK(index_of(steps, "/proc") < index_of(steps, "/proc/sys"));
}

TEST_CASE("mount plan: volumes are read-only and propagate as they are told, and hold no devices") {
  auto wanted = input();
  wanted.volumes = {{.task_path = "/data", .host_path = "/srv/data", .read_only = true},
                    {.task_path = "srv/../more", .host_path = "/m", .propagation = "bidirectional"},
                    {.task_path = "/slave", .host_path = "/s", .propagation = "host-to-task"}};

  const auto steps = plan_mounts(wanted).value();

  CHECK(at(steps, "/data")
        == PlannedMount{.kind = Step::bind,
                        .target = "/data",
                        .source = "/srv/data",
                        .attributes = safe | MOUNT_ATTR_RDONLY,
                        .propagation = MS_PRIVATE});
  CHECK(at(steps, "/more").propagation == MS_SHARED);
  CHECK(at(steps, "/slave").propagation == MS_SLAVE);

  wanted.volumes = {{.task_path = "/x", .host_path = "/y", .propagation = "sideways"}};
  CHECK(plan_mounts(wanted).error()
        == Error{Errc::invalid_argument,
                 "propagation mode \"sideways\" is not \"private\", \"host-to-task\" or "
                 "\"bidirectional\""});
}

TEST_CASE("mount plan: programs run as their owner only where that is allowed") {
  auto wanted = input();
  wanted.chroot = {directory("/usr")};
  CHECK(root_attributes(false) == safe);
  CHECK(root_attributes(true) == MOUNT_ATTR_NODEV);
  wanted.allow_set_user_id = true;
  CHECK(at(plan_mounts(wanted).value(), "/usr").attributes == MOUNT_ATTR_NODEV);
}

TEST_CASE("mount plan: a command is looked for as Nomad does") {
  CHECK(program_locations("web")
        == std::vector<std::string>{"/local/web", "/web", "/usr/local/bin/web", "/usr/bin/web",
                                    "/bin/web"});
  CHECK(program_locations("/usr/bin/env")
        == std::vector<std::string>{"/local/usr/bin/env", "/usr/bin/env"});
  CHECK(program_locations("bin/web") == std::vector<std::string>{"/local/bin/web", "/bin/web"});
  CHECK(program_locations("../../web") == std::vector<std::string>{"/web", "/web"});
  CHECK(program_locations("").empty());
}

TEST_CASE("mount plan: paths of tasks stay below their root") {
  CHECK(task_path("a/b/") == "/a/b");
  CHECK(task_path("//a//b") == "/a/b");
  CHECK(task_path("../..") == "/");
  CHECK(task_path("") == "/");
}
