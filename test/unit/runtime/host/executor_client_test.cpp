// Tasks under real executors: starting, ending, signals, restarts of the agent, and what happens
// when either side is killed.

#include "runtime/host/executor_client.hpp"

#include <csignal>

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "executor_harness.hpp"
#include "runtime/host/executor/protocol.hpp"
#include "runtime/host/executor_place.hpp"

using namespace nomad;
using namespace nomad::host;
using namespace std::chrono_literals;

namespace {

const std::string key = executor_key("5f2cbd5e-0d5c-4b0a-9d0e-000000000001", "web");

// Runs a script to its end and acknowledges it.
TaskExit run(Executors& executors, TaskCommand command) {
  Heard heard;
  executors.client().start(key, std::move(command), heard.listener());
  auto started = heard.started();
  REQUIRE_MESSAGE(!started.has_error(), started.error().what);
  TaskExit exit = heard.exited();
  CHECK_FALSE(executors.acknowledge(key).has_error());
  return exit;
}

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

    TaskExit exit = run(executors, executors.shell("pwd; echo $GREETING; echo oops >&2; exit 3"));

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

  TaskExit exit = run(executors, executors.shell("kill -SEGV $$"));

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

  TaskCommand bad_id = executors.shell("", "with space");
  CHECK(fail_to_start(executors, bad_id).code == Errc::invalid_argument);

  TaskCommand no_logs = executors.shell("");
  no_logs.logs->alloc_root = executors.directory() / "absent";
  CHECK(fail_to_start(executors, no_logs).what.find("cannot open the log file")
        != std::string::npos);
}

TEST_CASE("executor: finds commands in local/, the task directory and the search path") {
  Executors executors;
  write_text(executors.task_dir() + "/local/tool", "#!/bin/sh\necho from local\n");
  write_text(executors.task_dir() + "/tool", "#!/bin/sh\necho from the root\n");

  TaskCommand command = executors.shell("");
  command.command = "tool";
  command.arguments = {};
  CHECK(run(executors, command).exit_code == 0);
  CHECK(executors.log("web.stdout.0") == "from local\n");

  std::filesystem::remove(executors.task_dir() + "/local/tool");
  command.run_id = "run-2";
  CHECK(run(executors, command).exit_code == 0);
  CHECK(executors.log("web.stdout.0") == "from local\nfrom the root\n");

  command.run_id = "run-3";
  command.command = "true";
  CHECK(run(executors, command).exit_code == 0);
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

  run(executors, executors.shell("env | sort; echo; ls /proc/self/fd | tr '\\n' ' '"));

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
  REQUIRE(eventually([&] { return executors.log("web.stdout.0") == "ready\n"; }));

  CHECK_FALSE(executors.signal(key, SIGUSR1).has_error());

  CHECK(heard.exited().exit_code == 7);
  CHECK(executors.log("web.stdout.0") == "ready\ngot it\n");
  CHECK(executors.signal(key, SIGUSR1).error().code == Errc::conflict);
  CHECK_FALSE(executors.acknowledge(key).has_error());
  CHECK(executors.signal(key, SIGUSR1).error().code == Errc::not_found);
}

TEST_CASE("executor: stop signals first and kills after the grace") {
  Executors executors;
  Heard polite, stubborn;
  auto is_ready = [&] { return executors.log("web.stdout.0").find("ready") != std::string::npos; };
  std::string wait = "; echo ready; while :; do sleep 0.01; done";
  executors.client().start(key, executors.shell("trap 'exit 0' INT" + wait), polite.listener());
  REQUIRE_FALSE(polite.started().has_error());
  REQUIRE(eventually(is_ready));
  CHECK_FALSE(executors.stop(key, SIGINT, 20s).has_error());
  CHECK(polite.exited().exit_code == 0);
  CHECK_FALSE(executors.acknowledge(key).has_error());

  std::filesystem::remove(executors.alloc_root() + "/alloc/logs/web.stdout.0");
  executors.client().start(key, executors.shell("trap '' INT TERM" + wait, "run-2"),
                           stubborn.listener());
  REQUIRE_FALSE(stubborn.started().has_error());
  REQUIRE(eventually(is_ready));
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

    TaskExit exit = run(executors, executors.shell(script));

    CHECK(exit.exit_code == 0);
    for (const char* name : {"/a", "/b"}) {
      pid_t pid = std::stoi(read_text(executors.task_dir() + name));
      CHECK(::kill(pid, 0) != 0);
    }
  }
}

TEST_CASE("executor: a new agent finds the task running, and its end") {
  Executors executors;
  Heard first, second;
  executors.client().start(key, executors.shell("echo one; sleep 0.3; echo two; exit 5"),
                           first.listener());
  auto started = first.started();
  REQUIRE_FALSE(started.has_error());
  CHECK_FALSE(started->reattached);

  executors.reopen();
  executors.client().attach(key, "run-1", second.listener());

  auto found = second.started();
  REQUIRE_FALSE(found.has_error());
  CHECK(found->reattached);
  CHECK(found->process == started->process);
  CHECK(found->executor_pid == started->executor_pid);
  CHECK(found->started_at == started->started_at);
  CHECK(second.exited().exit_code == 5);
  CHECK(executors.log("web.stdout.0") == "one\ntwo\n");
  CHECK_FALSE(executors.acknowledge(key).has_error());
}

TEST_CASE("executor: an end while no agent is there is told to the next") {
  Executors executors;
  Heard first, second;
  executors.client().start(key, executors.shell("sleep 0.1; exit 9"), first.listener());
  auto started = first.started();
  REQUIRE_FALSE(started.has_error());
  const auto is_noted
      = [&] { return executors.state_of(key).find("\nexit 9 ") != std::string::npos; };

  SUBCASE("by the executor") {
    executors.reopen();
    REQUIRE(eventually(is_noted));
  }
  SUBCASE("by the state file, when the executor was killed after the end") {
    executors.reopen();
    REQUIRE(eventually(is_noted));
    ::kill(started->executor_pid, SIGKILL);
    REQUIRE(eventually([&] { return !is_alive(identify(started->executor_pid)); }));
  }
  executors.client().attach(key, "run-1", second.listener());

  CHECK_FALSE(second.started().has_error());
  CHECK(second.exited().exit_code == 9);
  CHECK_FALSE(executors.acknowledge(key).has_error());
  CHECK(executors.client().keys()->empty());
}

TEST_CASE("executor: the same run is never started twice") {
  Executors executors;
  Heard first, second, other;
  TaskCommand command = executors.shell("echo started; sleep 1000");
  executors.client().start(key, command, first.listener());
  auto started = first.started();
  REQUIRE_FALSE(started.has_error());
  Heard twice;
  executors.client().start(key, command, twice.listener());
  CHECK(twice.started().error().code == Errc::conflict);

  executors.reopen();
  executors.client().start(key, executors.shell("echo other; sleep 1000", "run-2"),
                           other.listener());
  CHECK(other.started().error().code == Errc::conflict);
  executors.client().start(key, command, second.listener());

  auto found = second.started();
  REQUIRE_FALSE(found.has_error());
  CHECK(found->reattached);
  CHECK(found->process == started->process);
  CHECK(eventually([&] { return executors.log("web.stdout.0") == "started\n"; }));
}

TEST_CASE("executor: a finished run that nobody acknowledged makes room for the next") {
  Executors executors;
  Heard first, second, third;
  executors.client().start(key, executors.shell("exit 1"), first.listener());
  CHECK(first.exited().exit_code == 1);

  executors.client().start(key, executors.shell("exit 2", "run-2"), second.listener());
  CHECK(second.exited().exit_code == 2);
  executors.reopen();
  executors.client().start(key, executors.shell("exit 3", "run-3"), third.listener());

  auto started = third.started();
  REQUIRE_FALSE(started.has_error());
  CHECK_FALSE(started->reattached);
  CHECK(third.exited().exit_code == 3);
}

TEST_CASE("executor: a killed executor is reported lost, and takes its task with it") {
  for (bool cgroups : {true, false}) {
    Executors executors{cgroups};
    Heard heard, after;
    executors.client().start(
        key, executors.shell("sh -c 'echo $$ > child; exec sleep 1000' & wait"), heard.listener());
    auto started = heard.started();
    REQUIRE_FALSE(started.has_error());
    REQUIRE(eventually([&] { return !read_text(executors.task_dir() + "/child").empty(); }));
    pid_t child = std::stoi(read_text(executors.task_dir() + "/child"));

    ::kill(started->executor_pid, SIGKILL);

    CHECK(heard.lost().code == Errc::unavailable);
    CHECK_FALSE(is_alive(started->process));
    CHECK(eventually([&] { return ::kill(child, 0) != 0 || !is_alive(identify(child)); }));
    CHECK(executors.client().keys()->empty());
    executors.client().attach(key, "run-1", after.listener());
    CHECK(after.started().error().code == Errc::not_found);
  }
}

TEST_CASE("executor: one killed while no agent was there is an error of attach") {
  Executors executors;
  Heard first, second;
  executors.client().start(key, executors.shell("sleep 1000"), first.listener());
  auto started = first.started();
  REQUIRE_FALSE(started.has_error());
  executors.reopen();
  ::kill(started->executor_pid, SIGKILL);
  REQUIRE(eventually([&] { return !is_alive(identify(started->executor_pid)); }));

  executors.client().attach(key, "", second.listener());

  CHECK(second.started().error().code == Errc::unavailable);
  CHECK_FALSE(is_alive(started->process));
}

TEST_CASE("executor: attaching to another run, or to nothing, fails") {
  Executors executors;
  Heard first, other, none;
  executors.client().attach(key, "run-1", none.listener());
  CHECK(none.started().error().code == Errc::not_found);
  executors.client().start(key, executors.shell("sleep 1000"), first.listener());
  REQUIRE_FALSE(first.started().has_error());
  executors.reopen();

  executors.client().attach(key, "run-2", other.listener());

  CHECK(other.started().error().code == Errc::conflict);
}

TEST_CASE("executor: leftovers of a crashed start do not hinder the next") {
  Executors executors;
  std::string place = executors.state_dir() + '/' + key;

  SUBCASE("an empty directory") {
    std::filesystem::create_directory(place);
  }
  SUBCASE("a socket without a listener and a half-written state") {
    std::filesystem::create_directory(place);
    write_text(place + "/socket", "");
    write_text(place + "/state.new", "nomadctl-exec");
  }
  SUBCASE("an executor that never got its start message") {
    std::filesystem::create_directory(place);
    int state = ::open(executors.state_dir().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto spawned = spawn_executor(executor_program(), std::move(*make_place(state, key)));
    REQUIRE_FALSE(spawned.has_error());
    ::close(state);
  }

  CHECK(run(executors, executors.shell("exit 4")).exit_code == 4);
}

TEST_CASE("executor: a damaged state file is reported once, not guessed about") {
  Executors executors;
  std::string place = executors.state_dir() + '/' + key;
  std::filesystem::create_directory(place);
  write_text(place + "/state", "nomadctl-executor 1\nrun ru");
  Heard heard;

  SUBCASE("by a start") {
    executors.client().start(key, executors.shell("exit 0"), heard.listener());
    CHECK(heard.started().error().code == Errc::corrupt);
  }
  SUBCASE("by an attach") {
    executors.client().attach(key, "run-1", heard.listener());
    CHECK(heard.started().error().code == Errc::corrupt);
  }
  SUBCASE("and not by a purge") {
    CHECK_FALSE(executors.purge(key).has_error());
  }
  CHECK_FALSE(std::filesystem::exists(place));
  CHECK(run(executors, executors.shell("exit 4")).exit_code == 4);
}

TEST_CASE("executor: after a reboot a task is lost, and who has its number now is left alone") {
  Executors executors;
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    ::setsid();
    ::pause();
    ::_exit(0);
  }
  REQUIRE(eventually([&] { return ::getsid(stranger) == stranger; }));
  executor::RunState state{.run_id = "run-1", .process = identify(stranger)};
  state.process.boot_id = "another-boot";
  const std::string place = executors.state_dir() + '/' + key;
  std::filesystem::create_directory(place);
  write_text(place + "/state", executor::to_text(state));
  Heard heard;

  executors.client().attach(key, "run-1", heard.listener());

  CHECK(heard.started().error().code == Errc::unavailable);
  CHECK(is_alive(identify(stranger)));
  CHECK_FALSE(std::filesystem::exists(place));
  ::kill(stranger, SIGKILL);
  ::waitpid(stranger, nullptr, 0);
}

TEST_CASE("executor: one that loses its directory ends, and its task with it") {
  Executors executors;
  const std::string place = executors.state_dir() + '/' + key;
  Heard heard;
  const auto delete_place = [&] {  // The executor may be writing its state.
    CHECK(eventually([&] {
      std::error_code failure;
      std::filesystem::remove_all(place, failure);
      return !std::filesystem::exists(place, failure);
    }));
  };
  SUBCASE("while the task runs and the agent is there") {
    executors.client().start(key, executors.shell("sleep 1000"), heard.listener());
    const auto started = heard.started();
    REQUIRE_FALSE(started.has_error());
    const auto executor = identify(started->executor_pid);
    delete_place();
    const auto exit = heard.exited();
    CHECK(exit.signal == SIGKILL);
    CHECK(exit.reason == "its executor's directory was deleted");
    CHECK_FALSE(is_alive(started->process));
    CHECK(eventually([&] { return !is_alive(executor); }));
  }
  SUBCASE("while the task runs and nobody is there") {
    executors.client().start(key, executors.shell("trap '' TERM INT; sleep 1000 & wait"),
                             heard.listener());
    const auto started = heard.started();
    REQUIRE_FALSE(started.has_error());
    const auto executor = identify(started->executor_pid);
    executors.reopen();
    delete_place();
    CHECK(eventually([&] { return !is_alive(started->process); }));
    CHECK(eventually([&] { return !is_alive(executor); }));
  }
  SUBCASE("after the task has ended") {
    executors.client().start(key, executors.shell("exit 3"), heard.listener());
    const auto started = heard.started();
    REQUIRE_FALSE(started.has_error());
    const auto executor = identify(started->executor_pid);
    CHECK(heard.exited().exit_code == 3);
    executors.reopen();
    delete_place();
    CHECK(eventually([&] { return !is_alive(executor); }));
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

  CHECK(run(executors, command).exit_code == 0);

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

  TaskExit exit = run(executors, command);

  CHECK(exit.oom_killed);
  CHECK(exit.signal == SIGKILL);
  CHECK(exit.exit_code == 137);
}

TEST_CASE("executor: says so when a shell's command was killed for memory") {
  Executors executors;
  TaskCommand command
      = executors.shell("sh -c 'x=$(head -c 200000000 /dev/zero | tr \"\\0\" x)'; exit $?");
  command.cgroup_limits.memory_bytes = 32 * 1024 * 1024;
  if (!executors.client().cgroups().available()) {
    MESSAGE("skipped: needs cgroups");
    return;
  }

  TaskExit exit = run(executors, command);

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
        = executors.shell("f() { if [ -e $FUSE ]; then f & fi; }; f; f; f; f; sleep 1000");
    command.environment.push_back("FUSE=" + fuse);
    Heard heard;
    executors.client().start(key, command, heard.listener());
    REQUIRE(heard.started().has_value());
    std::this_thread::sleep_for(200ms);

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
  if (::mount("tmpfs", small.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
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
    write_text(small / "junk", std::string(30000, 'x'));

    CHECK(run(executors, command).exit_code == 0);

    std::string log = read_text(small / "alloc/logs/web.stdout.0");
    CHECK(log.size() < 64 * 1024);
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

  CHECK(run(executors, command).exit_code == 0);

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

TEST_CASE("executor: strangers and nonsense on its socket do not disturb the task") {
  Executors executors;
  Heard heard;
  executors.client().start(key, executors.shell("sleep 1000"), heard.listener());
  auto started = heard.started();
  REQUIRE_FALSE(started.has_error());
  int state = ::open(executors.state_dir().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  std::vector<FoundPlace> connections;
  // More than the executor keeps.
  for (int i = 0; i < 20; ++i) {
    FoundPlace found;
    REQUIRE(eventually([&] {  // its backlog may be full for a moment
      found = std::move(*look_for_executor(state, key));
      return found.kind == FoundPlace::Kind::alive;
    }));
    std::string bytes = i % 2 == 0 ? std::string(64, '\xff') : std::string(7, '\x08');
    CHECK(::send(found.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0);
    connections.push_back(std::move(found));
  }
  ::close(state);

  // The client's own connection may have been the oldest; it comes back.
  CHECK(eventually([&] { return !executors.signal(key, 0).has_error(); }));
  CHECK(is_alive(started->process));
  connections.clear();
  CHECK_FALSE(executors.stop(key, SIGKILL, 0ms).has_error());
  CHECK(heard.exited().signal == SIGKILL);
}

TEST_CASE("executor: agents of other releases hear the newest common version, or are turned away") {
  Executors executors;
  Heard heard;
  executors.client().start(key, executors.shell("sleep 1000"), heard.listener());
  REQUIRE_FALSE(heard.started().has_error());
  std::uint16_t min = 1;
  std::uint16_t max = 1;
  int wanted = 1;
  SUBCASE("the first release") {}
  SUBCASE("a later one that knows us") {
    max = 9;
    wanted = executor::protocol_version;
  }
  SUBCASE("a later one that does not") {
    min = executor::protocol_version + 1;
    max = 9;
    wanted = 0;
  }
  int state = ::open(executors.state_dir().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  auto found = look_for_executor(state, key);
  ::close(state);
  REQUIRE(found->kind == FoundPlace::Kind::alive);
  std::string hello = executor::frame(1, [&](executor::Message::Builder message) {
    auto hello = message.initHello();
    hello.setMinVersion(min);
    hello.setMaxVersion(max);
  });
  REQUIRE(::send(found->socket.get(), hello.data(), hello.size(), MSG_NOSIGNAL) > 0);

  executor::FrameReader reader;
  int version = -1;
  bool closed = false;
  CHECK(eventually([&] {
    char buffer[512];
    ssize_t got = ::recv(found->socket.get(), buffer, sizeof buffer, 0);
    if (got > 0) reader.append({buffer, static_cast<std::size_t>(got)});
    reader.next(
        [&](executor::Message::Reader message) { version = message.getWelcome().getVersion(); });
    closed = got == 0;
    return closed || version > 0;
  }));

  CHECK(closed == (wanted == 0));
  CHECK(version == wanted);
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
