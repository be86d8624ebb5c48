// Isolated tasks under real executors. What needs root is skipped without.

#include "runtime/host/isolation/isolation.hpp"

#include <filesystem>

#include <unistd.h>

#include <doctest/doctest.h>

#include "runtime/host/alloc_dir.hpp"
#include "runtime/host/isolation/system_calls.hpp"
#include "test/unit/runtime/host/exec_harness.hpp"

using namespace nomad;
using namespace nomad::host;

namespace {

const std::string isolated_key = executor_key("5f2cbd5e-0d5c-4b0a-9d0e-000000000003", "web");

bool can_isolate() {
  const auto missing = missing_for_isolation();
  if (!missing.empty()) MESSAGE("skipped: " << missing);
  return missing.empty();
}

/// Executors with a task directory as the client makes it.
struct Location {
  Executors executors;

  Location() {
    std::filesystem::permissions(executors.directory().path(), std::filesystem::perms{0755});
    const AllocDir dir{executors.alloc_root()};
    REQUIRE_FALSE(dir.build().has_error());
    REQUIRE_FALSE(dir.build_task("web").has_error());
  }

  ~Location() {
    const auto keys = executors.client().keys();
    for (const auto& key : *keys)
      if (executors.purge(key).has_error()) std::abort();
    if (AllocDir{executors.alloc_root()}.destroy().has_error()) std::abort();
  }

  TaskCommand command(const std::string& script) {
    auto command = executors.shell(script);
    command.user = *find_user("nobody");
    command.search_path = "/usr/local/bin:/usr/bin:/bin";
    MountInput mounts{.task_directory = executors.task_dir(),
                      .alloc_directory = executors.alloc_root() + "/alloc",
                      .work_directory = executors.alloc_root() + "/.overlays/web",
                      .chroot = look_at_chroot(default_chroot_env(), executors.task_dir()).value(),
                      .hidden = {executors.directory().path()}};
    command.isolation = Isolation{.root = executors.task_dir(),
                                  .mounts = plan_mounts(mounts).value(),
                                  .root_attributes = root_attributes(false),
                                  .programs = program_locations("/bin/sh"),
                                  .capabilities = default_capabilities(),
                                  .filter = make_call_filter(default_capabilities()).value()};
    return command;
  }

  /// What a script wrote; it has to succeed.
  std::string run(TaskCommand command) {
    Heard heard;
    executors.client().start(isolated_key, std::move(command), heard.listener());
    const auto started = heard.started();
    REQUIRE_MESSAGE(!started.has_error(), started.error().what);
    const auto exit = heard.exited();
    CHECK(exit.exit_code == 0);
    CHECK_FALSE(executors.acknowledge(isolated_key).has_error());
    CHECK(executors.log("web.stderr.0") == "");
    return executors.log("web.stdout.0");
  }

  Error fail(TaskCommand command) {
    Heard heard;
    executors.client().start(isolated_key, std::move(command), heard.listener());
    const auto started = heard.started();
    REQUIRE(started.has_error());
    return started.error();
  }
};

}  // namespace

TEST_CASE("isolation: modes are private, host, or what the agent says") {
  CHECK(is_private("pid_mode", "private", false).value());
  CHECK_FALSE(is_private("pid_mode", "host", true).value());
  CHECK_FALSE(is_private("pid_mode", "", false).value());
  CHECK(is_private("ipc_mode", "shared", true).error().what
        == "ipc_mode must be \"private\" or \"host\", got \"shared\"");
}

TEST_CASE("isolation: chroot_env is looked up on the host and in the task's directory") {
  TempDir temp;
  for (const char* path : {"/host/usr/bin", "/task/etc"})
    std::filesystem::create_directories(temp / "" + path);
  std::filesystem::create_symlink("usr/bin", temp / "host/bin");
  write_text(temp / "host/file", "");

  const auto entries = look_at_chroot({{temp / "host/bin", "bin"},
                                       {temp / "host/file", "/etc/file"},
                                       {temp / "host/none", "/none"},
                                       {temp / "host/usr", "/etc"}},
                                      temp / "task")
                           .value();

  REQUIRE(entries.size() == 4);
  CHECK(entries[0].target == "/bin");
  CHECK(entries[0].kind == ChrootEntry::Kind::directory);
  CHECK(entries[0].real == temp / "host/usr/bin");
  CHECK_FALSE(entries[0].is_taken);
  CHECK(entries[1].kind == ChrootEntry::Kind::file);
  CHECK(entries[2].kind == ChrootEntry::Kind::absent);
  CHECK(entries[3].is_taken);
  CHECK(look_at_chroot({{"/srv", "/"}}, temp / "task").error()
        == Error{
            Errc::invalid_argument,
            "chroot_env: \"/srv\" can't be all that tasks see; give it a directory in the task"});
}

TEST_CASE("isolation: a task sees its own files, processes and devices, and is nobody") {
  if (!can_isolate()) return;
  Location location;

  const auto out = location.run(location.command(
      "pwd; echo $$; id -u; ls /; cat /etc/hostname >/dev/null; ls /proc | grep -c '^[0-9]'; ls "
      "/dev; "
      "grep -E 'NoNewPrivs|Seccomp:|CapEff|CapBnd' /proc/self/status; ls /private; "
      "echo mine > /local/mine; test -w /alloc && test -w /secrets && test -w /tmp && echo "
      "writable; "
      "cat /local/mine; mknod /dev/disk b 254 0 && ! cat /dev/disk 2>/dev/null && echo no disk"));

  CHECK(out.starts_with("/\n1\n65534\n"));
  CHECK(out.find("alloc\nbin\ndev\netc\nlib\n") != std::string::npos);
  CHECK(out.find("\nNoNewPrivs:\t1\nSeccomp:\t2\n") != std::string::npos);
  CHECK(out.find("CapEff:\t00000000a80405fb\nCapBnd:\t00000000a80405fb\n") != std::string::npos);
  CHECK(out.find("fd\nfull\nmqueue\nnull\nptmx\npts\nrandom\nshm\nstderr\nstdin\nstdout\ntty\nurand"
                 "om\nzero\n")
        != std::string::npos);
  CHECK(out.ends_with("writable\nmine\nno disk\n"));
  CHECK(read_text(location.executors.task_dir() + "/local/mine") == "mine\n");
}

TEST_CASE("isolation: what a task writes where the host's files show stays in its directory") {
  if (!can_isolate()) return;
  Location location;
  std::filesystem::create_directories(location.executors.task_dir() + "/etc");
  write_text(location.executors.task_dir() + "/etc/app.conf", "from a template");

  const auto out = location.run(location.command(
      "cat /etc/app.conf; echo; echo changed > /etc/passwd; echo new > /etc/new; cat /etc/passwd"));

  CHECK(out == "from a template\nchanged\n");
  CHECK(read_text("/etc/passwd").find("root") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists("/etc/new"));
  CHECK(read_text(location.executors.task_dir() + "/etc/new") == "new\n");
}

TEST_CASE(
    "isolation: a command that is not there is told by its name, one of no permission by the "
    "system") {
  if (!can_isolate()) return;
  Location location;
  auto command = location.command("");
  command.command = "no-such";
  command.isolation->programs = program_locations("no-such");
  CHECK(location.fail(command) == Error{Errc::not_found, "file no-such not found under path"});

  command = location.command("");
  command.isolation->mounts.push_back(
      {.kind = PlannedMount::Kind::bind, .target = "/data", .source = "/no/such/volume"});
  CHECK(location.fail(command).what.find("opening /no/such/volume") != std::string::npos);
}

TEST_CASE("isolation: the host's processes and the old way of changing the root can be had") {
  if (!can_isolate()) return;
  Location location;
  auto command = location.command(
      "test $$ != 1 && test -d /proc/$PPID && ls / | tr '\\n' ' '; echo ../../..; ls /../../../ | "
      "grep -c boot");
  command.isolation->private_pids = false;
  command.isolation->private_ipc = false;
  command.isolation->pivot = false;
  command.arguments.back() += " || true";

  const auto out = location.run(command);

  CHECK(out.find("alloc bin dev etc") == 0);
  CHECK(out.ends_with("\n0\n"));
}

TEST_CASE("isolation: a command beside a task is in its place, with its terminal and its rights") {
  if (!can_isolate()) return;
  Location location;
  Heard heard;
  location.executors.client().start(
      isolated_key, location.command("echo $$ > /local/pid; sleep 1000"), heard.listener());
  REQUIRE_FALSE(heard.started().has_error());

  auto session
      = exec(location.executors, isolated_key,
             {"sh", "-c",
              "cat /proc/1/comm; readlink /proc/self/ns/pid /proc/self/ns/mnt /proc/self/ns/ipc; "
              "readlink /proc/1/ns/pid /proc/1/ns/mnt /proc/1/ns/ipc; id -u; "
              "grep -E 'NoNewPrivs|Seccomp:|CapEff' /proc/self/status"});
  REQUIRE_MESSAGE(!session.has_error(), session.error().what);
  RunningCommand running{std::move(*session)};
  CHECK(running.exited().exit_code == 0);
  CHECK_MESSAGE(running.out().starts_with("sh\n"), running.err());
  CHECK(running.out().find("65534\nCapEff:") != std::string::npos);
  CHECK(running.out().find("NoNewPrivs:\t1\nSeccomp:\t2\n") != std::string::npos);

  auto on_terminal = exec(location.executors, isolated_key, {"tty"}, true);
  REQUIRE_FALSE(on_terminal.has_error());
  RunningCommand terminal{std::move(*on_terminal)};
  CHECK(terminal.exited().exit_code == 0);
  CHECK(terminal.out() == "/dev/pts/0\r\n");

  auto missing = exec(location.executors, isolated_key, {"no-such"});
  REQUIRE(missing.has_error());
  CHECK(missing.error().what
        == "failed to start command: exec: \"no-such\": executable file not found in $PATH");
}
