// Tasks under real executors: restarts of the agent, what happens when either side is killed, and
// who else may come to an executor's socket.

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
#include "runtime/host/executor_client.hpp"
#include "runtime/host/found_executor.hpp"
#include "test/support/child_process.hpp"

using namespace nomad;
using namespace nomad::host;
using namespace std::chrono_literals;

namespace {

const std::string kept_key = executor_key("5f2cbd5e-0d5c-4b0a-9d0e-000000000003", "web");

}  // namespace

TEST_CASE("executor: a new agent finds the task running, and its end") {
  Executors executors;
  Heard first, second;
  executors.client().start(kept_key, executors.shell("echo one; sleep 0.3; echo two; exit 5"),
                           first.listener());
  auto started = first.started();
  REQUIRE_FALSE(started.has_error());
  CHECK_FALSE(started->reattached);

  executors.reopen();
  executors.client().attach(kept_key, "run-1", second.listener());

  auto found = second.started();
  REQUIRE_FALSE(found.has_error());
  CHECK(found->reattached);
  CHECK(found->process == started->process);
  CHECK(found->executor_pid == started->executor_pid);
  CHECK(found->started_at == started->started_at);
  CHECK(second.exited().exit_code == 5);
  CHECK(executors.log("web.stdout.0") == "one\ntwo\n");
  CHECK_FALSE(executors.acknowledge(kept_key).has_error());
}

TEST_CASE("executor: an end while no agent is there is told to the next") {
  Executors executors;
  Heard first, second;
  executors.client().start(kept_key, executors.shell("sleep 0.1; exit 9"), first.listener());
  auto started = first.started();
  REQUIRE_FALSE(started.has_error());

  SUBCASE("by the executor") {
    executors.reopen();
    REQUIRE(executors.records(kept_key, "\nexit 9 "));
  }
  SUBCASE("by the state file, when the executor was killed after the end") {
    executors.reopen();
    REQUIRE(executors.records(kept_key, "\nexit 9 "));
    ::kill(started->executor_pid, SIGKILL);
    REQUIRE(test::has_ended(started->executor_pid));
  }
  executors.client().attach(kept_key, "run-1", second.listener());

  CHECK_FALSE(second.started().has_error());
  CHECK(second.exited().exit_code == 9);
  CHECK_FALSE(executors.acknowledge(kept_key).has_error());
  CHECK(executors.client().keys()->empty());
}

TEST_CASE("executor: the same run is never started twice") {
  Executors executors;
  Heard first, second, other;
  TaskCommand command = executors.shell("echo started; sleep 1000");
  executors.client().start(kept_key, command, first.listener());
  auto started = first.started();
  REQUIRE_FALSE(started.has_error());
  Heard twice;
  executors.client().start(kept_key, command, twice.listener());
  CHECK(twice.started().error().code == Errc::conflict);

  executors.reopen();
  executors.client().start(kept_key, executors.shell("echo other; sleep 1000", "run-2"),
                           other.listener());
  CHECK(other.started().error()
        == Error{Errc::conflict, "executor " + kept_key + " runs another run, run-1"});
  executors.client().start(kept_key, command, second.listener());

  auto found = second.started();
  REQUIRE_FALSE(found.has_error());
  CHECK(found->reattached);
  CHECK(found->process == started->process);
  CHECK(executors.logs("web.stdout.0", "started\n"));
  CHECK(executors.log("web.stdout.0") == "started\n");
}

TEST_CASE("executor: a finished run that nobody acknowledged makes room for the next") {
  Executors executors;
  Heard first, second, third;
  executors.client().start(kept_key, executors.shell("exit 1"), first.listener());
  CHECK(first.exited().exit_code == 1);

  executors.client().start(kept_key, executors.shell("exit 2", "run-2"), second.listener());
  CHECK(second.exited().exit_code == 2);
  executors.reopen();
  executors.client().start(kept_key, executors.shell("exit 3", "run-3"), third.listener());

  auto started = third.started();
  REQUIRE_FALSE(started.has_error());
  CHECK_FALSE(started->reattached);
  CHECK(third.exited().exit_code == 3);
}

TEST_CASE("executor: a killed executor is reported lost, and takes its task with it") {
  for (bool cgroups : {true, false}) {
    Executors executors{cgroups};
    Heard heard, after;
    executors.client().start(kept_key,
                             executors.shell("sh -c 'echo $$ > child; exec sleep 1000' & wait"),
                             heard.listener());
    auto started = heard.started();
    REQUIRE_FALSE(started.has_error());
    REQUIRE(test::eventually_in(executors.task_dir(), [&] {
      return read_text(executors.task_dir() + "/child").ends_with('\n');
    }));
    pid_t child = std::stoi(read_text(executors.task_dir() + "/child"));

    ::kill(started->executor_pid, SIGKILL);

    const auto lost = heard.lost();
    CHECK(lost.code == Errc::unavailable);
    CHECK(lost.what.starts_with("executor " + kept_key + " vanished without an exit status"));
    CHECK_FALSE(is_alive(started->process));
    CHECK(test::has_ended(child));
    CHECK(executors.client().keys()->empty());
    executors.client().attach(kept_key, "run-1", after.listener());
    CHECK(after.started().error().code == Errc::not_found);
  }
}

TEST_CASE("executor: one killed while no agent was there is an error of attach") {
  Executors executors;
  Heard first, second;
  executors.client().start(kept_key, executors.shell("sleep 1000"), first.listener());
  auto started = first.started();
  REQUIRE_FALSE(started.has_error());
  executors.reopen();
  ::kill(started->executor_pid, SIGKILL);
  REQUIRE(test::has_ended(started->executor_pid));

  executors.client().attach(kept_key, "", second.listener());

  CHECK(second.started().error().code == Errc::unavailable);
  CHECK_FALSE(is_alive(started->process));
}

TEST_CASE("executor: attaching to another run, or to nothing, fails") {
  Executors executors;
  Heard first, other, none;
  executors.client().attach(kept_key, "run-1", none.listener());
  CHECK(none.started().error().code == Errc::not_found);
  executors.client().start(kept_key, executors.shell("sleep 1000"), first.listener());
  REQUIRE_FALSE(first.started().has_error());
  executors.reopen();

  executors.client().attach(kept_key, "run-2", other.listener());

  CHECK(other.started().error()
        == Error{Errc::conflict, "executor " + kept_key + " runs another run, run-1"});
}

TEST_CASE("executor: leftovers of a crashed start do not hinder the next") {
  Executors executors;
  std::string location = executors.state_dir() + '/' + kept_key;

  SUBCASE("an empty directory") {
    std::filesystem::create_directory(location);
  }
  SUBCASE("a socket without a listener and a half-written state") {
    std::filesystem::create_directory(location);
    write_text(location + "/socket", "");
    write_text(location + "/state.new", "nomadctl-exec");
  }
  SUBCASE("an executor that never got its start message") {
    std::filesystem::create_directory(location);
    int state = ::open(executors.state_dir().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto spawned = spawn_executor(executor_program(), std::move(*make_location(state, kept_key)));
    REQUIRE_FALSE(spawned.has_error());
    ::close(state);
  }

  CHECK(executors.run(kept_key, executors.shell("exit 4")).exit_code == 4);
}

TEST_CASE("executor: a damaged state file is reported once, not guessed about") {
  Executors executors;
  std::string location = executors.state_dir() + '/' + kept_key;
  std::filesystem::create_directory(location);
  write_text(location + "/state", "nomadctl-executor 1\nrun ru");
  Heard heard;

  SUBCASE("by a start") {
    executors.client().start(kept_key, executors.shell("exit 0"), heard.listener());
    CHECK(heard.started().error().code == Errc::corrupt);
  }
  SUBCASE("by an attach") {
    executors.client().attach(kept_key, "run-1", heard.listener());
    CHECK(heard.started().error()
          == Error{Errc::corrupt, "executor " + kept_key + ": its state file cannot be read"});
  }
  SUBCASE("and not by a purge") {
    CHECK_FALSE(executors.purge(kept_key).has_error());
  }
  CHECK_FALSE(std::filesystem::exists(location));
  CHECK(executors.run(kept_key, executors.shell("exit 4")).exit_code == 4);
}

TEST_CASE("executor: after a reboot a task is lost, and who has its number now is left alone") {
  Executors executors;
  test::ChildProcess child{{"/usr/bin/setsid", "/bin/sh", "-c", "echo; exec sleep 1000"}};
  REQUIRE(child.wrote_line());
  const pid_t stranger = child.pid();
  REQUIRE(::getsid(stranger) == stranger);
  executor::RunState state{.run_id = "run-1", .process = identify(stranger)};
  state.process.boot_id = "another-boot";
  const std::string location = executors.state_dir() + '/' + kept_key;
  std::filesystem::create_directory(location);
  write_text(location + "/state", executor::to_text(state));
  Heard heard;

  executors.client().attach(kept_key, "run-1", heard.listener());

  CHECK(heard.started().error().code == Errc::unavailable);
  CHECK(is_alive(identify(stranger)));
  CHECK_FALSE(std::filesystem::exists(location));
}

TEST_CASE("executor: one that loses its directory ends, and its task with it") {
  Executors executors;
  const std::string location = executors.state_dir() + '/' + kept_key;
  Heard heard;
  const auto delete_location = [&] {  // The executor may be writing its state.
    CHECK(test::eventually_in(location, [&] {
      std::error_code failure;
      std::filesystem::remove_all(location, failure);
      return !std::filesystem::exists(location, failure);
    }));
  };
  SUBCASE("while the task runs and the agent is there") {
    executors.client().start(kept_key, executors.shell("sleep 1000"), heard.listener());
    const auto started = heard.started();
    REQUIRE_FALSE(started.has_error());
    const auto executor = identify(started->executor_pid);
    delete_location();
    const auto exit = heard.exited();
    CHECK(exit.signal == SIGKILL);
    CHECK(exit.reason == "its executor's directory was deleted");
    CHECK_FALSE(is_alive(started->process));
    CHECK(test::has_ended(executor.pid));
  }
  SUBCASE("while the task runs and nobody is there") {
    executors.client().start(kept_key, executors.shell("trap '' TERM INT; sleep 1000 & wait"),
                             heard.listener());
    const auto started = heard.started();
    REQUIRE_FALSE(started.has_error());
    const auto executor = identify(started->executor_pid);
    executors.reopen();
    delete_location();
    CHECK(test::has_ended(started->process.pid));
    CHECK(test::has_ended(executor.pid));
  }
  SUBCASE("after the task has ended") {
    executors.client().start(kept_key, executors.shell("exit 3"), heard.listener());
    const auto started = heard.started();
    REQUIRE_FALSE(started.has_error());
    const auto executor = identify(started->executor_pid);
    CHECK(heard.exited().exit_code == 3);
    executors.reopen();
    delete_location();
    CHECK(test::has_ended(executor.pid));
  }
}

TEST_CASE("executor: strangers and nonsense on its socket do not disturb the task") {
  Executors executors;
  Heard heard;
  executors.client().start(kept_key, executors.shell("sleep 1000"), heard.listener());
  auto started = heard.started();
  REQUIRE_FALSE(started.has_error());
  int state = ::open(executors.state_dir().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  std::vector<FoundExecutor> connections;
  // More than the executor keeps.
  for (int i = 0; i < 20; ++i) {
    FoundExecutor found;
    REQUIRE(test::succeeds([&] {  // its backlog may be full for a moment
      found = std::move(*look_for_executor(state, kept_key));
      return found.kind == FoundExecutor::Kind::alive;
    }));
    std::string bytes = i % 2 == 0 ? std::string(64, '\xff') : std::string(7, '\x08');
    CHECK(::send(found.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0);
    connections.push_back(std::move(found));
  }
  ::close(state);

  // The client's own connection may have been the oldest; it comes back.
  CHECK(test::succeeds([&] { return !executors.signal(kept_key, 0).has_error(); }));
  CHECK(is_alive(started->process));
  connections.clear();
  CHECK_FALSE(executors.stop(kept_key, SIGKILL, 0ms).has_error());
  CHECK(heard.exited().signal == SIGKILL);
}

TEST_CASE("executor: agents of other releases hear the newest common version, or are turned away") {
  Executors executors;
  Heard heard;
  executors.client().start(kept_key, executors.shell("sleep 1000"), heard.listener());
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
  auto found = look_for_executor(state, kept_key);
  ::close(state);
  REQUIRE(found->kind == FoundExecutor::Kind::alive);
  std::string hello = executor::frame(1, [&](executor::Message::Builder message) {
    auto hello = message.initHello();
    hello.setMinVersion(min);
    hello.setMaxVersion(max);
  });
  REQUIRE(::send(found->socket.get(), hello.data(), hello.size(), MSG_NOSIGNAL) > 0);

  executor::FrameReader reader;
  int version = -1;
  bool closed = false;
  while (!closed && version <= 0) {
    char buffer[512];
    REQUIRE(test::is_readable(found->socket.get()));
    ssize_t got = ::recv(found->socket.get(), buffer, sizeof buffer, 0);
    if (got > 0) reader.append({buffer, static_cast<std::size_t>(got)});
    reader.next(
        [&](executor::Message::Reader message) { version = message.getWelcome().getVersion(); });
    closed = got == 0;
  }

  CHECK(closed == (wanted == 0));
  CHECK(version == wanted);
}
