// Commands beside a running task, under real executors: streams, terminals, ends of either side.

#include <csignal>
#include <random>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "exec_harness.hpp"
#include "runtime/host/executor/protocol.hpp"
#include "runtime/host/found_executor.hpp"

using namespace nomad;
using namespace nomad::host;
using namespace std::chrono_literals;

namespace {

const std::string exec_key = executor_key("5f2cbd5e-0d5c-4b0a-9d0e-000000000002", "web");

/// A task that runs until it is killed.
struct RunningTask {
  Executors executors;
  Heard heard;
  TaskStarted task;

  explicit RunningTask(const std::string& script = "sleep 1000", bool as_nobody = false) {
    TaskCommand command = executors.shell(script);
    if (as_nobody) {
      command.user = *find_user("nobody");
      std::filesystem::permissions(executors.directory().path(), std::filesystem::perms{0755});
    }
    executors.client().start(exec_key, std::move(command), heard.listener());
    auto started = heard.started();
    REQUIRE_MESSAGE(!started.has_error(), started.error().what);
    task = *started;
  }

  RunningCommand run(std::vector<std::string> words, bool tty = false, bool acknowledge = true) {
    auto session = exec(executors, exec_key, std::move(words), tty);
    REQUIRE_MESSAGE(!session.has_error(), session.error().what);
    return RunningCommand{std::move(*session), acknowledge};
  }

  RunningCommand shell(const std::string& script, bool tty = false) {
    return run({"/bin/sh", "-c", script}, tty);
  }

  Error refuse(std::vector<std::string> words, bool tty = false) {
    auto session = exec(executors, exec_key, std::move(words), tty);
    REQUIRE(session.has_error());
    return session.error();
  }

  /// The task has not noticed anything, and commands can still be run.
  void check_alive() {
    CHECK_FALSE(heard.has_exited());
    CHECK(is_alive(task.process));
    RunningCommand command = shell("echo alive");
    CHECK(command.exited().exit_code == 0);
    CHECK(command.out() == "alive\n");
  }
};

bool is_gone(pid_t pid) {
  ProcessStat stat;
  return !parse_process_stat(read_proc_file("/proc/" + std::to_string(pid) + "/stat"), stat)
         || stat.state == 'Z';
}

std::vector<pid_t> pids_of(const std::string& text) {
  std::vector<pid_t> pids;
  for (const char* at = text.c_str();;) {
    char* end = nullptr;
    long pid = std::strtol(at, &end, 10);
    if (end == at) return pids;
    pids.push_back(static_cast<pid_t>(pid));
    at = end;
  }
}

FoundExecutor connect(const Executors& executors) {
  int state = ::open(executors.state_dir().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  FoundExecutor found;
  REQUIRE(test::succeeds([&] {  // its backlog may be full for a moment
    found = std::move(*look_for_executor(state, exec_key));
    return found.kind == FoundExecutor::Kind::alive;
  }));
  ::close(state);
  return found;
}

std::string exec_frame(std::uint32_t id, const std::vector<std::string>& words) {
  return executor::frame(id, [&](executor::Message::Builder message) {
    auto order = message.initExec();
    auto list = order.initCommand(static_cast<unsigned>(words.size()));
    for (unsigned i = 0; i < list.size(); ++i)
      list.set(i, words[i]);
    order.setDirectory("/");
  });
}

/// The next message on a socket, or none when it closes.
template <class Receive>
bool receive(int socket, Receive receive) {
  executor::FrameReader reader;
  for (;;) {
    char buffer[4096];
    REQUIRE(test::is_readable(socket));
    const auto got = ::recv(socket, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got > 0) reader.append({buffer, static_cast<std::size_t>(got)});
    if (reader.next(receive) == executor::FrameReader::Outcome::message) return true;
    if (got == 0) return false;
  }
}

/// What the executor itself says to a frame with the number 9 that it refuses.
std::string refusal(const Executors& executors, const std::string& order) {
  const FoundExecutor stranger = connect(executors);
  CHECK(::send(stranger.socket.get(), order.data(), order.size(), MSG_NOSIGNAL) > 0);
  std::string said;
  CHECK(receive(stranger.socket.get(), [&said](executor::Message::Reader message) {
    CHECK(message.getId() == 9);
    REQUIRE(message.isFailed());
    said = message.getFailed().getWhat().cStr();
  }));
  return said;
}

}  // namespace

TEST_CASE("exec: a command has its own streams and status in the task's place") {
  RunningTask task{"cat /proc/self/cgroup; echo; sleep 1000"};

  RunningCommand command = task.shell("echo out; echo err >&2; cat; exit 3");
  CHECK(command.session().write_input("hello\n"));
  command.session().end_input();

  CHECK(command.exited().exit_code == 3);
  CHECK(command.exited().error.empty());
  CHECK(command.out() == "out\nhello\n");
  CHECK(command.err() == "err\n");
  CHECK(command.ends_of_out() == 1);
  CHECK(command.ends_of_err() == 1);
  RunningCommand location = task.shell("cat /proc/self/cgroup; echo; pwd; echo $GREETING; umask");
  CHECK(location.exited().exit_code == 0);
  CHECK(location.out() == task.executors.log("web.stdout.0") + "/\nhello\n0022\n");
  task.check_alive();
}

TEST_CASE("exec: names are looked up in PATH, paths are taken as they are") {
  RunningTask task;
  CHECK(task.run({"true"}).exited().exit_code == 0);
  RunningCommand named = task.run({"sh", "-c", "echo $0 $1", "zero", "one"});
  CHECK(named.exited().exit_code == 0);
  CHECK(named.out() == "zero one\n");
  auto here = exec(task.executors, exec_key, {"/bin/pwd"}, false, "");
  REQUIRE_FALSE(here.has_error());
  RunningCommand pwd{*here};
  CHECK(pwd.exited().exit_code == 0);
  CHECK(pwd.out() == task.executors.task_dir() + "\n");
  CHECK(task.shell("kill -TERM $$").exited().exit_code == 128 + SIGTERM);
}

TEST_CASE("exec: what cannot be started is told in the words that users know") {
  RunningTask task;
  CHECK(task.refuse({"no-such-program"})
        == Error{Errc::rejected,
                 "failed to start command: exec: \"no-such-program\": executable file not found in "
                 "$PATH"});
  CHECK(task.refuse({"/no/such/program"}, true).what
        == "failed to start command: fork/exec /no/such/program: no such file or directory");
  CHECK(task.refuse({"/etc/passwd"}).what
        == "failed to start command: fork/exec /etc/passwd: permission denied");
  CHECK(task.refuse({}).what == "command is required");
  CHECK(task.refuse({""}).what == "command is required");
  auto nowhere = exec(task.executors, exec_key, {"true"}, false, "/no/such/directory");
  REQUIRE(nowhere.has_error());
  CHECK(nowhere.error().what.find("entering the task directory") != std::string::npos);
  CHECK(exec(task.executors, "nothing.here", {"true"}).error()
        == Error{Errc::not_found, "no task runs as nothing.here"});
  CHECK(exec(task.executors, exec_key, {"true", std::string{"a\0b", 3}}).error().code
        == Errc::invalid_argument);
  task.check_alive();
}

TEST_CASE("exec: streams that got lost on the way are an error") {
  CHECK(ends_of({}).error()
        == Error{Errc::io, "the command's streams were lost: too many open files"});
}

TEST_CASE("exec: an executor stays while its task runs, whoever tells it to leave") {
  RunningTask task;
  CHECK(refusal(task.executors,
                executor::frame(
                    9, [](executor::Message::Builder message) { message.setAcknowledge(); }))
        == "the task has not ended");
  task.check_alive();
}

TEST_CASE("exec: a slow reader holds the command back and loses nothing") {
  RunningTask task;
  constexpr std::size_t size = 3'000'000;
  RunningCommand command
      = task.run({"head", "-c", std::to_string(size), "/dev/zero"}, false, false);
  CHECK(command.prints(ExecSession::output_window));
  CHECK_FALSE(command.prints(ExecSession::output_window + 1, 100ms));

  std::size_t taken = 0;
  while (taken < size) {
    std::size_t now = std::min<std::size_t>(100'000, size - taken);
    CHECK(command.prints(taken + now));
    command.session().taken(now);
    taken += now;
    CHECK(command.out_size() <= taken + ExecSession::output_window);
  }

  CHECK(command.exited().exit_code == 0);
  CHECK(command.out_size() == size);
}

TEST_CASE("exec: input waits for a command that reads slowly") {
  RunningTask task;
  RunningCommand command = task.shell("sleep 0.3; wc -c");
  command.write(std::string(3'000'000, 'x'), 60'000);
  command.session().end_input();

  CHECK(command.exited().exit_code == 0);
  CHECK(command.out() == "3000000\n");
  CHECK(command.refusals() > 0);
}

TEST_CASE("exec: input that nobody reads is dropped") {
  RunningTask task;
  RunningCommand command = task.shell("exec <&-; echo closed; sleep 0.2; exit 4");
  CHECK(command.prints("closed"));
  command.write(std::string(2'000'000, 'x'), 50'000);
  command.session().resize(1, 1);  // no terminal: nothing happens

  CHECK(command.exited().exit_code == 4);
  CHECK(command.session().write_input("late"));
  command.session().end_input();
  task.check_alive();
}

TEST_CASE("exec: a terminal for all three streams, with a size that changes") {
  RunningTask task;
  RunningCommand command = task.shell(
      "test -t 0 && test -t 1 && test -t 2 && echo tty; echo controlling >/dev/tty; echo err >&2;"
      "read line; stty size; trap 'stty size; exit 7' WINCH; echo ready;"
      "while :; do sleep 0.05; done",
      true);
  CHECK(command.prints("err"));
  command.session().resize(24, 80);
  CHECK(command.session().write_input("go\n"));
  CHECK(command.prints("ready"));
  command.session().resize(10, 20);

  CHECK(command.exited().exit_code == 7);
  CHECK(command.out().find("tty\r\ncontrolling\r\nerr\r\n") != std::string::npos);
  CHECK(command.out().find("24 80\r\n") != std::string::npos);
  CHECK(command.out().find("10 20\r\n") != std::string::npos);
  CHECK(command.ends_of_out() == 1);
  CHECK(command.ends_of_err() == 0);
}

TEST_CASE("exec: the end of a terminal's input hangs it up") {
  RunningTask task;
  RunningCommand command = task.run({"cat"}, true);
  CHECK(command.session().write_input("echoed\n"));
  CHECK(command.prints("echoed\r\nechoed\r\n"));
  command.session().end_input();

  CHECK(command.exited().exit_code == 128 + SIGHUP);
  CHECK(command.ends_of_out() == 1);
}

TEST_CASE("exec: keys of a terminal reach its foreground job") {
  RunningTask task;
  RunningCommand command = task.run({"sleep", "1000"}, true);
  CHECK(command.session().write_input("\x03"));
  CHECK(command.exited().exit_code == 128 + SIGINT);
}

TEST_CASE("exec: a command runs as the task's user, who owns its terminal") {
  if (::geteuid() != 0) return;
  RunningTask task{"sleep 1000", true};
  RunningCommand command = task.shell("id -un; test -O $(tty) && echo owner", true);
  CHECK(command.exited().exit_code == 0);
  CHECK(command.out() == "nobody\r\nowner\r\n");
}

TEST_CASE("exec: letting go of a session kills all of it, and nothing else") {
  for (bool tty : {false, true}) {
    RunningTask task;
    RunningCommand other = task.run({"cat"});
    RunningCommand command = task.shell(
        "trap '' HUP TERM INT; (trap '' HUP; sleep 1000) & echo $$ $!; while :; do sleep 100; done",
        tty);
    CHECK(command.prints("\n"));
    std::vector<pid_t> pids = pids_of(command.out());
    REQUIRE(pids.size() == 2);
    CHECK_FALSE(is_gone(pids[1]));

    command.abandon();

    for (pid_t pid : pids)
      CHECK(test::has_ended(pid));
    CHECK_FALSE(command.has_exited());
    CHECK_FALSE(other.has_exited());
    other.session().end_input();
    CHECK(other.exited().exit_code == 0);
    task.check_alive();
  }
}

TEST_CASE("exec: a session that is dropped before it was begun is killed too") {
  RunningTask task;
  std::string mark = task.executors.directory() / "mark";
  auto session
      = exec(task.executors, exec_key, {"sh", "-c", "echo $$ >" + mark + "; exec sleep 1000"});
  REQUIRE_FALSE(session.has_error());
  CHECK(test::eventually_in(task.executors.directory().path(),
                            [&] { return read_text(mark).ends_with('\n'); }));
  session->reset();
  pid_t pid = pids_of(read_text(mark)).front();
  CHECK(test::has_ended(pid));
}

TEST_CASE("exec: the end of the task ends its commands, and none starts any more") {
  RunningTask task;
  RunningCommand plain = task.shell("echo here; sleep 1000");
  RunningCommand terminal = task.shell("echo here; sleep 1000", true);
  CHECK(plain.prints("here"));
  CHECK(terminal.prints("here"));

  CHECK_FALSE(task.executors.stop(exec_key, SIGTERM, 10s).has_error());

  CHECK(plain.exited().exit_code == 128 + SIGKILL);
  CHECK(terminal.exited().exit_code == 128 + SIGKILL);
  CHECK(task.heard.exited().signal == SIGTERM);
  CHECK(task.refuse({"true"}) == Error{Errc::conflict, "the task is not running"});
  // The executor itself refuses, too, whoever asks.
  CHECK(refusal(task.executors, exec_frame(9, {"true"})) == "the task is not running");
  CHECK(refusal(task.executors, executor::frame(9,
                                                [](executor::Message::Builder message) {
                                                  message.initStart().setRunId("run-2");
                                                }))
        == "a task was already started");
  CHECK_FALSE(task.executors.acknowledge(exec_key).has_error());
}

TEST_CASE("exec: the death of the agent ends commands, not the task") {
  RunningTask task;
  RunningCommand command = task.shell("echo $$; sleep 1000");
  CHECK(command.prints("\n"));
  pid_t pid = pids_of(command.out()).front();

  task.executors.reopen();

  CHECK_FALSE(command.exited().error.empty());
  CHECK(test::has_ended(pid));
  Heard again;
  task.executors.client().attach(exec_key, "run-1", again.listener());
  CHECK(again.started()->reattached);
  task.check_alive();
}

TEST_CASE("exec: the death of the executor is told") {
  RunningTask task;
  RunningCommand command = task.shell("echo here; sleep 1000");
  CHECK(command.prints("here"));
  ::kill(task.task.executor_pid, SIGKILL);
  CHECK(command.exited().error == "the command was lost with the executor of its task");
  CHECK(task.heard.lost().code == Errc::unavailable);
}

TEST_CASE("exec: many commands at once, up to a limit") {
  RunningTask task;
  std::vector<RunningCommand> commands;
  for (int i = 0; i < 128; ++i)
    commands.push_back(task.run({"cat"}));
  CHECK(task.refuse({"cat"}).what == "too many commands run beside the task");
  for (std::size_t i = 0; i < commands.size(); ++i) {
    CHECK(commands[i].session().write_input(std::to_string(i)));
    commands[i].session().end_input();
  }
  for (std::size_t i = 0; i < commands.size(); ++i) {
    CHECK(commands[i].exited().exit_code == 0);
    CHECK(commands[i].out() == std::to_string(i));
  }
  task.check_alive();
}

TEST_CASE("exec: damaged orders never disturb the task") {
  RunningTask task;
  std::string good = exec_frame(7, {"true", std::string(64, 'x')});
  for (unsigned seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    std::mt19937 random{seed};
    std::string bytes = good;
    for (unsigned i = 0; i <= random() % 8; ++i)
      bytes[4 + random() % (bytes.size() - 4)] = static_cast<char>(random());
    FoundExecutor stranger = connect(task.executors);
    CHECK(::send(stranger.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0);
  }
  task.check_alive();
}

TEST_CASE("exec: an executor of an earlier release says that it is too old") {
  // Plays one: it holds the lock, speaks of a running task and knows no `exec`.
  Executors executors;
  std::string location = executors.state_dir() + "/" + exec_key;
  std::filesystem::create_directories(location);
  UniqueFd lock{::open(location.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  REQUIRE(::flock(lock.get(), LOCK_EX | LOCK_NB) == 0);
  UniqueFd listener{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  REQUIRE(location.size() + 8 < sizeof address.sun_path);
  (location + "/socket").copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(listener.get(), 4) == 0);
  std::thread old{[&] {
    UniqueFd socket{::accept(listener.get(), nullptr, nullptr)};
    executor::FrameReader reader;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::recv(socket.get(), buffer, sizeof buffer, 0)) > 0;) {
      reader.append({buffer, static_cast<std::size_t>(got)});
      std::string answer;
      reader.next([&](executor::Message::Reader message) {
        answer = executor::frame(message.getId(), [&](executor::Message::Builder reply) {
          if (!message.isHello()) return reply.initFailed().setWhat(executor::unknown_request);
          auto welcome = reply.initWelcome();
          welcome.setVersion(executor::protocol_version);
          welcome.setRunId("run-1");
          welcome.initProcess().setPid(1'000'000'000);
        });
      });
      if (::send(socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return;
    }
  }};
  Heard heard;
  executors.client().attach(exec_key, "run-1", heard.listener());
  CHECK_FALSE(heard.started().has_error());

  auto refused = exec(executors, exec_key, {"true"});

  REQUIRE(refused.has_error());
  CHECK(refused.error()
        == Error{Errc::rejected,
                 "the executor of this task is too old to run commands beside it; restart the "
                 "task"});
  listener.reset();
  executors.reopen();  // its connection closes
  old.join();
  std::filesystem::remove_all(location);
}

TEST_CASE(
    "executor: a task enters the network namespace of a path, commands beside it after the path is "
    "gone, too") {
  if (::geteuid() != 0) return;  // nobody else may enter one
  Executors executors;
  const std::string path = executors.directory() / "netns";
  std::filesystem::create_directory(executors.directory().path());
  const std::string make
      = "touch " + path + " && unshare -n sh -c 'mount --bind /proc/self/ns/net " + path + "'";
  REQUIRE(std::system(make.c_str()) == 0);
  const auto namespace_of = [](pid_t pid) {
    return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/ns/net").string();
  };
  TaskCommand command = executors.shell("readlink /proc/self/ns/net; sleep 1000");
  command.network_namespace = path;
  Heard heard;
  executors.client().start(exec_key, std::move(command), heard.listener());
  const auto task = heard.started();
  REQUIRE_MESSAGE(!task.has_error(), task.error().what);
  const std::string entered = namespace_of(task->process.pid);
  CHECK(entered != namespace_of(::getpid()));
  REQUIRE(::umount2(path.c_str(), MNT_DETACH) == 0);
  std::filesystem::remove(path);

  auto beside = exec(executors, exec_key, {"readlink", "/proc/self/ns/net"});

  REQUIRE_FALSE(beside.has_error());
  RunningCommand running{std::move(*beside)};
  CHECK(running.exited().exit_code == 0);
  CHECK(running.out() == entered + "\n");
}

TEST_CASE("executor: a network namespace that is not there fails the start, which says which") {
  Executors executors;
  TaskCommand command = executors.shell("sleep 1000");
  command.network_namespace = "/run/netns/no-such-namespace";
  Heard heard;

  executors.client().start(exec_key, std::move(command), heard.listener());

  const auto started = heard.started();
  REQUIRE(started.has_error());
  CHECK(started.error().what.find("network namespace /run/netns/no-such-namespace")
        != std::string::npos);
}

TEST_CASE("executor: tasks begin with no signal ignored or blocked") {
  Executors executors;
  TaskCommand command = executors.shell("");
  command.command = "/bin/grep";
  command.arguments = {"-E", "^Sig(Blk|Ign)", "/proc/self/status"};
  CHECK(executors.run(exec_key, command).exit_code == 0);
  CHECK(executors.log("web.stdout.0") == "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}
