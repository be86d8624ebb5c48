// Tasks under real executors: starting, ending, signals, limits and logs.

#include "runtime/host/executor_client.hpp"

#include <csignal>

#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "executor_harness.hpp"

using namespace nomad;
using namespace nomad::host;
using namespace std::chrono_literals;

namespace {

const std::string key = executor_key("5f2cbd5e-0d5c-4b0a-9d0e-000000000001", "web");

Error fail_to_start(Executors& executors, TaskCommand command) {
  Heard heard;
  executors.client().start(key, std::move(command), heard.listener());
  auto started = heard.started();
  REQUIRE(started.has_error());
  CHECK(executors.client().keys()->empty());
  return started.error();
}

}  // namespace

TEST_CASE("executor: runs a task to its end, with environment, directory and logs") {
  for (bool cgroups : {true, false}) {
    Executors executors{cgroups};

    TaskExit exit
        = executors.run(key, executors.shell("pwd; echo $GREETING; echo oops >&2; exit 3"));

    CHECK(exit.exit_code == 3);
    CHECK(exit.signal == 0);
    CHECK_FALSE(exit.oom_killed);
    CHECK(exit.finished_at > 0);
    CHECK(executors.log("web.stdout.0") == executors.task_dir() + "\nhello\n");
    CHECK(executors.log("web.stderr.0") == "oops\n");
    CHECK(executors.client().keys()->empty());
  }
}

TEST_CASE("executor: a signal's end is 128 and its number") {
  Executors executors;

  TaskExit exit = executors.run(key, executors.shell("kill -SEGV $$"));

  CHECK(exit.exit_code == 128 + SIGSEGV);
  CHECK(exit.signal == SIGSEGV);
}

TEST_CASE("executor: a command that cannot be run says why and leaves nothing") {
  Executors executors;

  TaskCommand missing = executors.shell("");
  missing.command = "no-such-program";
  CHECK(fail_to_start(executors, missing)
        == Error{Errc::not_found, "binary \"no-such-program\" could not be found"});

  TaskCommand directory = executors.shell("");
  directory.task_directory = executors.directory() / "absent";
  CHECK(fail_to_start(executors, directory).what.find("No such file") != std::string::npos);

  TaskCommand bad_id = executors.shell("", "two\nlines");
  CHECK(fail_to_start(executors, bad_id).code == Errc::invalid_argument);

  TaskCommand cut = executors.shell("true");
  cut.environment.push_back({"A=b\0c", 5});
  CHECK(fail_to_start(executors, cut).what
        == "there is a null character in the command, its arguments or its environment");
  cut = executors.shell({"true\0", 5});
  CHECK(fail_to_start(executors, cut).what.find("null character") != std::string::npos);

  TaskCommand no_logs = executors.shell("");
  no_logs.logs->alloc_root = executors.directory() / "absent";
  CHECK(fail_to_start(executors, no_logs).what.find("cannot open the log file")
        != std::string::npos);
}

TEST_CASE("executor: what is too large to be told fails the start at once") {
  Executors executors;
  for (const bool is_argument : {false, true}) {
    TaskCommand command = executors.shell("true");
    std::string large(std::size_t{10} << 20, 'x');
    if (is_argument)
      command.arguments.push_back(std::move(large));
    else
      command.environment.push_back("LARGE=" + large);
    const auto failure = fail_to_start(executors, command);
    CHECK(failure.code == Errc::too_large);
    CHECK(failure.what.starts_with("what the executor is to be told has 1048"));
    CHECK(failure.what.ends_with(
        " bytes, at most 8388608 can be sent: environment or arguments are too large"));
  }
}

TEST_CASE("executor: finds commands in local/, the task directory and the search path") {
  Executors executors;
  write_text(executors.task_dir() + "/local/tool", "#!/bin/sh\necho from local\n");
  write_text(executors.task_dir() + "/tool", "#!/bin/sh\necho from the root\n");

  TaskCommand command = executors.shell("");
  command.command = "tool";
  command.arguments = {};
  CHECK(executors.run(key, command).exit_code == 0);
  CHECK(executors.log("web.stdout.0") == "from local\n");

  std::filesystem::remove(executors.task_dir() + "/local/tool");
  command.run_id = "run-2";
  CHECK(executors.run(key, command).exit_code == 0);
  CHECK(executors.log("web.stdout.0") == "from local\nfrom the root\n");

  command.run_id = "run-3";
  command.command = "true";
  CHECK(executors.run(key, command).exit_code == 0);
}

TEST_CASE("executor: does not make files of the host executable through a link") {
  Executors executors;
  std::string target = executors.directory() / "secret";
  write_text(target, "#!/bin/sh\nexit 0\n");
  std::filesystem::permissions(target, std::filesystem::perms::owner_read);
  std::filesystem::create_symlink(target, executors.task_dir() + "/local/tool");
  TaskCommand command = executors.shell("");
  command.command = "tool";

  fail_to_start(executors, command);

  CHECK(std::filesystem::status(target).permissions() == std::filesystem::perms::owner_read);
}

TEST_CASE("executor: a task's environment and descriptors are its own") {
  Executors executors;

  executors.run(key, executors.shell("env | sort; echo; ls /proc/self/fd | tr '\\n' ' '"));

  std::string output = executors.log("web.stdout.0");
  CHECK(output.find("GREETING=hello\n") != std::string::npos);
  CHECK(output.find("HOME=") == std::string::npos);
  CHECK(output.find("0 1 2 3 \n") == std::string::npos);
  CHECK(output.substr(output.find("\n\n") + 2) == "0 1 2 3 ");  // 3: the directory that ls reads
}

TEST_CASE("executor: passes signals on to the task") {
  Executors executors;
  Heard heard;
  executors.client().start(
      key,
      executors.shell("trap 'echo got it; exit 7' USR1; echo ready; while :; do sleep 0.01; done"),
      heard.listener());
  REQUIRE_FALSE(heard.started().has_error());
  REQUIRE(executors.logs("web.stdout.0", "ready\n"));

  CHECK_FALSE(executors.signal(key, SIGUSR1).has_error());

  CHECK(heard.exited().exit_code == 7);
  CHECK(executors.log("web.stdout.0") == "ready\ngot it\n");
  CHECK(executors.signal(key, SIGUSR1).error().code == Errc::conflict);
  CHECK_FALSE(executors.acknowledge(key).has_error());
  CHECK(executors.acknowledge(key).error()
        == Error{Errc::not_found, "no task has ended as " + key});
  CHECK(executors.signal(key, SIGUSR1).error() == Error{Errc::not_found, "no task runs as " + key});
}

TEST_CASE("executor: stop signals first and kills after the grace") {
  Executors executors;
  Heard polite, stubborn;
  std::string wait = "; echo ready; while :; do sleep 0.01; done";
  executors.client().start(key, executors.shell("trap 'exit 0' INT" + wait), polite.listener());
  REQUIRE_FALSE(polite.started().has_error());
  REQUIRE(executors.logs("web.stdout.0", "ready"));
  CHECK_FALSE(executors.stop(key, SIGINT, 20s).has_error());
  CHECK(polite.exited().exit_code == 0);
  CHECK_FALSE(executors.acknowledge(key).has_error());

  std::filesystem::remove(executors.alloc_root() + "/alloc/logs/web.stdout.0");
  executors.client().start(key, executors.shell("trap '' INT TERM" + wait, "run-2"),
                           stubborn.listener());
  REQUIRE_FALSE(stubborn.started().has_error());
  REQUIRE(executors.logs("web.stdout.0", "ready"));
  auto begin = std::chrono::steady_clock::now();
  CHECK_FALSE(executors.stop(key, SIGINT, 300ms).has_error());
  CHECK(stubborn.exited().signal == SIGKILL);
  CHECK(std::chrono::steady_clock::now() - begin >= 300ms);
}

TEST_CASE("executor: no process of a task outlives it") {
  for (bool cgroups : {true, false}) {
    Executors executors{cgroups};
    // Two daemons that left session and parent behind, as far as one can.
    std::string script
        = "setsid sh -c 'echo $$ > a; exec sleep 1000' & "
          "(setsid sh -c '(trap \"\" TERM HUP; echo $$ > b; exec sleep 1000) &') & "
          "while [ ! -s a ] || [ ! -s b ]; do sleep 0.01; done; exit 0";

    TaskExit exit = executors.run(key, executors.shell(script));

    CHECK(exit.exit_code == 0);
    for (const char* name : {"/a", "/b"}) {
      pid_t pid = std::stoi(read_text(executors.task_dir() + name));
      CHECK(::kill(pid, 0) != 0);
    }
  }
}

TEST_CASE("executor: purge ends what runs") {
  Executors executors;
  Heard first, second;
  executors.client().start(key, executors.shell("sleep 1000"), first.listener());
  auto started = first.started();
  REQUIRE_FALSE(started.has_error());

  SUBCASE("known to this agent") {}
  SUBCASE("forgotten by it") {
    executors.reopen();
  }
  CHECK_FALSE(executors.purge(key).has_error());

  CHECK_FALSE(is_alive(started->process));
  CHECK(executors.client().keys()->empty());
  CHECK_FALSE(executors.purge(key).has_error());
}

TEST_CASE("executor: limits and user of the task") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: needs root");
    return;
  }
  Executors executors;
  std::filesystem::permissions(executors.directory().path(), std::filesystem::perms{0755});
  TaskCommand command = executors.shell("id -u; id -g; ulimit -n; cat /proc/self/oom_score_adj");
  auto user = TaskUser{.uid = 65534, .gid = 65534, .groups = {65534}, .name = "", .home = ""};
  command.user = user;
  command.limits = {{RLIMIT_NOFILE, 123, 456}};

  CHECK(executors.run(key, command).exit_code == 0);

  CHECK(executors.log("web.stdout.0") == "65534\n65534\n123\n0\n");
}

TEST_CASE("executor: reports a kill for memory") {
  Executors executors;
  TaskCommand command
      = executors.shell("x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo survived");
  command.cgroup_limits.memory_bytes = 32 * 1024 * 1024;
  // Memory that can be swapped out would not be missed.
  if (!executors.client().cgroups().available()) {
    MESSAGE("skipped: needs cgroups");
    return;
  }

  TaskExit exit = executors.run(key, command);

  CHECK(exit.oom_killed);
  CHECK(exit.signal == SIGKILL);
  CHECK(exit.exit_code == 137);
}

TEST_CASE("executor: says so when a shell's command was killed for memory") {
  Executors executors;
  // The kernel may choose once more before the first one's memory is free, and must not choose the
  // outer shell.
  TaskCommand command = executors.shell(
      "sh -c 'echo 1000 > /proc/self/oom_score_adj; x=$(head -c 200000000 /dev/zero | tr \"\\0\" "
      "x)';"
      " exit $?");
  command.cgroup_limits.memory_bytes = 32 * 1024 * 1024;
  if (!executors.client().cgroups().available()) {
    MESSAGE("skipped: needs cgroups");
    return;
  }

  TaskExit exit = executors.run(key, command);

  CHECK(exit.oom_killed);
  CHECK(exit.signal == 0);
  CHECK(exit.exit_code == 137);
}

TEST_CASE("executor: ends processes that never stand still") {
  for (bool cgroups : {false, true}) {
    CAPTURE(cgroups);
    Executors executors{cgroups};
    const std::string fuse = executors.directory() / "fuse";  // ends them, should this fail
    write_text(fuse, "");
    // Each starts the next one and ends, so that whoever was listed is gone when it is killed.
    TaskCommand command
        = executors.shell("f() { if [ -e $FUSE ]; then echo f; f & fi; }; f; f; f; f; sleep 1000");
    command.environment.push_back("FUSE=" + fuse);
    Heard heard;
    executors.client().start(key, command, heard.listener());
    REQUIRE(heard.started().has_value());
    REQUIRE(test::eventually_in(executors.alloc_root() + "/alloc/logs",
                                [&] { return executors.log("web.stdout.0").size() > 200; }));

    executors.client().stop(key, SIGKILL, 0ms, {});
    heard.exited();

    bool has_left = false;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc"})
      has_left = has_left || read_text(entry.path() / "environ").find(fuse) != std::string::npos;
    std::filesystem::remove(fuse);
    CHECK_FALSE(has_left);
  }
}

TEST_CASE("executor: a full disk costs output, and neither the task nor its end") {
  TempDir small;
  if (::mount("tmpfs", small.path().c_str(), "tmpfs", 0, "size=256k") != 0) {
    MESSAGE("skipped: needs the right to mount");
    return;
  }
  {
    Executors executors;
    std::filesystem::create_directories(small / "alloc/logs");
    TaskCommand command
        = executors.shell("head -c 1000000 /dev/zero | tr '\\0' x; rm $JUNK; echo; echo end");
    command.environment.push_back("JUNK=" + (small / "junk"));
    command.logs->alloc_root = small.path();
    // Its room is more than what is still on its way to the log when it goes.
    write_text(small / "junk", std::string(160'000, 'x'));

    CHECK(executors.run(key, command).exit_code == 0);

    std::string log = read_text(small / "alloc/logs/web.stdout.0");
    CHECK(log.size() < 256 * 1024);
    CHECK(log.substr(log.size() - 5) == "\nend\n");
  }
  ::umount(small.path().c_str());
}

TEST_CASE("executor: rotates the logs of a task that writes much") {
  Executors executors;
  TaskCommand command
      = executors.shell("i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done");
  command.logs->max_files = 3;
  command.logs->max_file_bytes = 4096;

  CHECK(executors.run(key, command).exit_code == 0);

  std::string kept;
  int files = 0;
  for (int index = 0; index < 100; ++index) {
    std::string part = executors.log("web.stdout." + std::to_string(index));
    CHECK(part.size() <= 4096);
    files += part.empty() ? 0 : 1;
    kept += part;
  }
  CHECK(files == 3);
  CHECK(kept.size() > 8192);
  CHECK(kept.substr(kept.size() - 10) == "line 4999\n");
  CHECK(kept.substr(0, 5) == "line ");
}

TEST_CASE("executor_key: distinct tasks have distinct names that are safe as a file's") {
  CHECK(executor_key("a-1", "web") == "a-1.web");
  CHECK(executor_key("a-1", "../web") != executor_key("a-1", ".._web"));
  for (const char* task : {"", "..", "a/b", "a.b", "ä", "with space"}) {
    std::string name = executor_key("a-1", task);
    CHECK(name.find('/') == std::string::npos);
    CHECK(name.substr(0, 5) == "a-1..");
  }
  CHECK(executor_key("a-1", std::string(300, 'x')).size() < 60);
}
