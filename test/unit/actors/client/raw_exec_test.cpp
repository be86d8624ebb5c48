// raw_exec with real processes: what they get, how they end, and that they outlive the agent.
#include "actors/client/drivers/raw_exec.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>

#include <signal.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "actors/client/client.hpp"
#include "actors/client/drivers/driver_objects.hpp"
#include "actors/core/system.hpp"
#include "runtime/base/random.hpp"
#include "runtime/object/json_codec.hpp"
#include "test/support/anybody.hpp"
#include "test/support/child_process.hpp"
#include "test/support/eventually.hpp"
#include "test/support/fake_servers.hpp"
#include "test/support/node_questions.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace std::chrono_literals;
using schema::ClientStatus;
using test::eventually;

namespace {

std::string script(const std::string& text) {
  std::string json = R"({"command":"/bin/sh","args":["-c",)";
  append_json_text(json, text);
  return json + "]}";
}

std::string read_file(const std::string& path) {
  std::ifstream file{path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// A whole client node on the real scheduler.
struct RealNode {
  test::TempDir dir;
  std::size_t owner = std::hash<std::string>{}(dir.path());
  actor::SystemConfig config;
  actor::System system{config};
  std::shared_ptr<test::ServerBoard> board = std::make_shared<test::ServerBoard>();
  test::FakeServersActor servers = actor::spawn(system, test::fake_servers, board);
  client::Client node;
  std::shared_ptr<telemetry::Registry> task_metrics;  ///< From the next start on.

  RealNode() { start(); }

  ~RealNode() {
    {
      const std::lock_guard guard{board->lock};
      board->assigned.clear();
    }
    actor::tell(servers, test::BoardChanged{});
    const auto allocs = dir.file("allocs");
    test::eventually_in(allocs, [&allocs] { return std::filesystem::is_empty(allocs); });
    stop();
    actor::stop(servers);
  }

  void start() {
    client::ClientOptions options;
    options.state_dir = dir.file("state");
    options.alloc_dir = dir.file("allocs");
    std::filesystem::create_directories(options.state_dir);
    std::filesystem::create_directories(options.alloc_dir);
    options.executor_path = std::getenv("NOMADCTL_EXECUTOR");
    options.drivers["raw_exec"]["enabled"] = "true";
    options.usage_interval = 500ms;
    auto started = client::start_client(system, options, servers, client::builtin_plugins(false),
                                        task_metrics);
    REQUIRE(started.has_value());
    node = *started;
  }

  void stop() {
    actor::BlockingAsker self{system};
    self.request(node, 30s, client::client_actor::Stop{})
        .receive([](const client::client_actor::Stopped&) {}, [](const Error&) {});
    node = client::Client{};
  }

  void run(int number, const Object<schema::Job>& job) {
    {
      const std::lock_guard guard{board->lock};
      board->assigned.push_back({test::simple_alloc(job, number, owner), job});
    }
    actor::tell(servers, test::BoardChanged{});
  }

  void end(int number, const Object<schema::Job>& job) {
    {
      const std::lock_guard guard{board->lock};
      for (auto& each : board->assigned)
        if (each.alloc->id() == test::numbered_id(number, owner))
          each.alloc = test::simple_alloc(job, number, owner, schema::DesiredStatus::STOP, 99);
    }
    actor::tell(servers, test::BoardChanged{});
  }

  bool reaches(ClientStatus status) {
    return eventually([&] { return board->count(status) == board->assigned.size(); });
  }

  workload::TaskState task(int number) {
    const std::lock_guard guard{board->lock};
    return workload::read_task_state(
        board->heard.at(test::numbered_id(number, owner))->task_states()[0].getValue());
  }

  std::string shared_dir(int number) const {
    return dir.file("allocs/" + test::numbered_id(number, owner) + "/alloc");
  }

  std::string log(int number) const {
    return read_file(shared_dir(number) + "/logs/task.stdout.0");
  }

  /// Waits until the task has written `text`; whether it has.
  bool logs(int number, const std::string& text) const {
    return test::eventually_in(shared_dir(number) + "/logs",
                               [&] { return log(number).find(text) != std::string::npos; });
  }
};

}  // namespace

TEST_CASE_FIXTURE(RealNode, "raw_exec: a process gets its environment, directory and logs") {
  run(1,
      test::simple_job(
          "job", "batch", "raw_exec",
          script(
              "echo $NOMAD_TASK_NAME $NOMAD_META_x; pwd; cat ${NOMAD_TASK_DIR}/nothing; exit 3")));
  REQUIRE(reaches(ClientStatus::FAILED));
  REQUIRE(logs(1, "/task\n"));
  CHECK(log(1) == "task\n" + dir.file("allocs/" + test::numbered_id(1, owner) + "/task") + "\n");
  const auto state = task(1);
  REQUIRE(state.events.size() == 5);
  CHECK(state.events[3].display_message == "Exit Code: 3");
  CHECK(read_file(dir.file("allocs/" + test::numbered_id(1, owner) + "/alloc/logs/task.stderr.0"))
            .find("No such file")
        != std::string::npos);
}

TEST_CASE_FIXTURE(RealNode, "raw_exec: a command that is not there says so") {
  run(1, test::simple_job("job", "batch", "raw_exec", R"({"command":"/no/such/command"})"));
  REQUIRE(reaches(ClientStatus::FAILED));
  const auto state = task(1);
  REQUIRE(state.events.size() >= 3);
  CHECK(state.events[2].type == "Driver Failure");
  CHECK(state.events[2].display_message.find("failed to launch command with executor: ") == 0);
}

TEST_CASE_FIXTURE(RealNode, "raw_exec: a script without an interpreter is tried again by policy") {
  const auto path = dir.file("script");
  std::ofstream{path} << "#!/no/such/interpreter\n";
  std::filesystem::permissions(path, std::filesystem::perms{0755});
  Draft<schema::Job> draft{
      test::simple_job("job", "batch", "raw_exec", R"({"command":")" + path + R"("})")};
  auto policy = draft->getTaskGroups()[0].getRestartPolicy();
  policy.setAttempts(1);
  policy.setInterval(3600'000'000'000);
  run(1, draft.freeze());
  REQUIRE(reaches(ClientStatus::FAILED));
  std::string types;
  for (const auto& event : task(1).events)
    types += event.type + ", ";
  CHECK(types.find("Driver Failure, Restarting, Driver Failure, ") != std::string::npos);
}

TEST_CASE_FIXTURE(RealNode, "raw_exec: a task that wants a volume of the agent is refused") {
  Draft<schema::Job> draft{test::simple_job("job", "batch", "raw_exec", script("echo ran"))};
  auto group = draft->getTaskGroups()[0];
  auto volume = group.initVolumes(1)[0];
  volume.setKey("data");
  volume.initValue().setType("host");
  volume.getValue().setSource("disk");
  auto mount = group.getTasks()[0].initVolumeMounts(1)[0];
  mount.setVolume("data");
  mount.setDestination("/srv");

  run(1, draft.freeze());

  REQUIRE(reaches(ClientStatus::FAILED));
  const auto state = task(1);
  REQUIRE(state.events.size() >= 2);
  const auto& failure = state.events[state.events.size() - 2];
  CHECK(failure.display_message.find(
            "task driver \"raw_exec\" for \"task\" does not support host volumes")
        != std::string::npos);
  CHECK(log(1).empty());
}

TEST_CASE_FIXTURE(RealNode, "raw_exec: stopping sends the signal, and its end is told") {
  const auto job = test::simple_job(
      "job", "service", "raw_exec",
      script("trap 'echo bye; exit 0' INT; echo up; while :; do sleep 0.05; done"));
  run(1, job);
  REQUIRE(reaches(ClientStatus::RUNNING));
  REQUIRE(logs(1, "up\n"));
  end(1, job);
  REQUIRE(reaches(ClientStatus::COMPLETE));
  CHECK(log(1) == "up\nbye\n");
  CHECK(task(1).events.back().type == "Killed");
}

TEST_CASE_FIXTURE(RealNode, "raw_exec: usage of a running task is read") {
  run(1, test::simple_job("job", "service", "raw_exec", script("echo up; exec sleep 1000")));
  REQUIRE(reaches(ClientStatus::RUNNING));
  REQUIRE(logs(1, "up\n"));
  actor::BlockingAsker self{system};
  std::uint64_t rss = 0;
  self.request(node, 5s, test::read_usage(test::numbered_id(1, owner)))
      .receive(
          [&rss](const door::NodeReply& usage) {
            rss = usage->getAllocUsage().getResourceUsage().getMemoryStats().getRss();
          },
          [](const Error&) {});
  CHECK(rss > 0);
}

TEST_CASE_FIXTURE(RealNode, "raw_exec: usage is streamed, also of a task that was found again") {
  run(1, test::simple_job("job", "service", "raw_exec",
                          script("while :; do :; done & until [ -e ${NOMAD_ALLOC_DIR}/again ]; do "
                                 "sleep 0.05; done; sleep 2; echo later; exec sleep 1000")));
  REQUIRE(reaches(ClientStatus::RUNNING));
  stop();
  task_metrics = std::make_shared<telemetry::Registry>(telemetry::Options{});
  start();
  actor::BlockingAsker self{system};
  // Nobody has asked before, so it is by the stream that the first answers know a share of time.
  std::ofstream{shared_dir(1) + "/again"};
  REQUIRE(logs(1, "later\n"));
  std::uint64_t rss = 0;
  double percent = 0;
  self.request(node, 5s, test::read_usage(test::numbered_id(1, owner)))
      .receive(
          [&](const door::NodeReply& usage) {
            const auto all = usage->getAllocUsage().getResourceUsage();
            rss = all.getMemoryStats().getRss();
            percent = all.getCpuStats().getPercent();
          },
          [](const Error&) {});
  CHECK(rss > 0);
  CHECK(percent > 0);
}

namespace {

/// The driver alone, between a reader that fails when the test says and a agent that listens.
struct LoneDriver {
  test::TempDir dir;
  actor::SystemConfig config;
  actor::System system{config};
  actor::BlockingAsker self{system};
  std::atomic<bool> reader_fails = false;
  std::atomic<int> told = 0;
  std::atomic<int> told_of_other = 0;
  std::atomic<int> failed = 0;
  std::atomic<bool> was_final = false;
  client::UsageReader reader = actor::spawn(
      system, [this](client::UsageReader::pointer) -> client::UsageReader::behavior_type {
        return {[](client::usage::ReadHost) { return client::client_api::HostUsage{}; },
                [this](const client::usage::ReadTasks& msg)
                    -> actor::Answer<client::usage::TaskUsages> {
                  if (reader_fails) return Error{Errc::unavailable, "it begins anew"};
                  client::usage::TaskUsages answer;
                  answer.usages.resize(msg.tasks.size());
                  return answer;
                },
                [](const client::usage::ForgetTask&) {}};
      });
  client::PluginAgent agent = actor::spawn(
      system, [this](client::PluginAgent::pointer) -> client::PluginAgent::behavior_type {
        return {
            [this](const client::plugin_agent::Notice& msg) {
              const auto notice = *msg.notice;
              if (notice.isUsage()) ++(view(notice.getRunId()) == "task" ? told : told_of_other);
              if (notice.isUsageFailed()) {
                ++failed;
                if (!notice.getUsageFailed().getRecoverable()) was_final = true;
              }
              test::note_change();
            },
            [](const client::plugin_agent::Ask&) -> actor::Answer<client::plugin_agent::Answered> {
              return Error{Errc::rejected, "not here"};
            }};
      });
  client::Driver driver
      = client::raw_exec_entry().spawn(system,
                                       {.state_dir = dir.path(),
                                        .executor_path = std::getenv("NOMADCTL_EXECUTOR"),
                                        .cgroup_parent = {},
                                        .usage_reader = reader,
                                        .unix_now = [] { return std::int64_t{1}; },
                                        .agent = agent,
                                        .name = "raw_exec",
                                        .config = {{"enabled", "true"}}});

  ~LoneDriver() {
    for (const auto* task : {"task", "other"})
      ask(client::driver::destroy_task(id(task)));
    actor::stop(driver);
    actor::stop(reader);
    actor::stop(agent);
  }

  static client::driver::TaskId id(const std::string& task = "task") {
    return {test::numbered_id(1, 1), task};
  }

  client::driver::Answered ask(client::driver::Ask question) {
    client::driver::Answered answer;
    self.request(driver, 30s, std::move(question))
        .receive([&answer](client::driver::Answered& got) { answer = std::move(got); },
                 [](const Error& err) { FAIL(err.what); });
    return answer;
  }

  void start_task(const std::string& task = "task") {
    Draft<schema::plugin::DriverRequest> draft;
    auto order = draft->initStartTask();
    client::driver::write_id(id(task), order.initId());
    order.setRunId(text(task));
    order.setConfig(R"({"command":"/bin/sleep","args":["1000"]})");
    order.setTaskDirectory(text(dir.path()));
    order.initLogs().setDisabled(true);
    CHECK(ask({draft.freeze()}).answer->isStarted());
  }
};

}  // namespace

TEST_CASE_FIXTURE(LoneDriver, "raw_exec: a reading that fails is told, and the next is tried") {
  start_task();
  CHECK(ask(client::driver::task_stats(id(), 500ms)).answer->isUsage());
  CHECK(eventually([&] { return told > 1; }));
  CHECK(failed == 0);
  reader_fails = true;
  CHECK(eventually([&] { return failed > 1; }));
  CHECK_FALSE(was_final);
  reader_fails = false;
  const int before = told;
  CHECK(eventually([&] { return told > before; }));
}

TEST_CASE_FIXTURE(LoneDriver, "raw_exec: nothing is told of a task that nobody wants to hear of") {
  start_task();
  start_task("other");
  ask(client::driver::task_stats(id("other"), 500ms));
  // How often it is told of the other meanwhile says that the time has gone by.
  const auto hears_of_other = [&](int times) {
    return eventually([&, until = told_of_other + times] { return told_of_other >= until; });
  };
  const auto hears_nothing = [&] {
    CHECK(hears_of_other(1));  // What was under way.
    const int before = told;
    CHECK(hears_of_other(2));
    CHECK(told == before);
  };
  ask(client::driver::task_stats(id(), 500ms));
  CHECK(eventually([&] { return told > 0; }));
  ask(client::driver::task_stats(id(), 0s));
  hears_nothing();

  const int before = told;
  ask(client::driver::task_stats(id(), 500ms));
  CHECK(eventually([&] { return told > before; }));
  ask(client::driver::destroy_task(id()));
  hears_nothing();
}

namespace {

/// What a session told. Shared with its callbacks.
struct Told {
  std::mutex lock;
  std::string out;
  std::optional<host::ExecResult> exit;
};

Result<std::shared_ptr<host::ExecSession>> ask_exec(RealNode& real,
                                                    std::vector<std::string> command) {
  actor::BlockingAsker self{real.system};
  Result<std::shared_ptr<host::ExecSession>> answer = Error{Errc::internal, "no answer"};
  self.request(real.node, 30s,
               client::client_api::Exec{test::numbered_id(1, real.owner),
                                        "task",
                                        {.command = std::move(command)},
                                        nomad::test::anybody()})
      .receive([&answer](client::client_api::ExecStarted& started) { answer = started.session; },
               [&answer](const Error& err) { answer = err; });
  return answer;
}

}  // namespace

TEST_CASE_FIXTURE(RealNode, "raw_exec: commands run beside a task, and end with it") {
  const auto job = test::simple_job("job", "service", "raw_exec", script("exec sleep 1000"));
  run(1, job);
  REQUIRE(reaches(ClientStatus::RUNNING));
  const auto run_command = [](const std::shared_ptr<host::ExecSession>& session) {
    auto told = std::make_shared<Told>();
    session->start({.output =
                        [told](host::ExecEvents::Output, std::string_view bytes) {
                          const std::lock_guard guard{told->lock};
                          told->out += bytes;
                        },
                    .writable = {},
                    .exited =
                        [told](const host::ExecResult& result) {
                          {
                            const std::lock_guard guard{told->lock};
                            told->exit = result;
                          }
                          test::note_change();
                        }});
    return told;
  };
  const auto exit_of = [](Told& told) {
    return eventually([&told] {
      const std::lock_guard guard{told.lock};
      return told.exit.has_value();
    })
               ? told.exit->exit_code
               : -1;
  };

  auto session = ask_exec(*this, {"sh", "-c", "pwd; echo $NOMAD_TASK_NAME; cat; exit 5"});
  REQUIRE(session.has_value());
  const auto told = run_command(*session);
  CHECK((*session)->write_input("typed\n"));
  (*session)->end_input();
  CHECK(exit_of(*told) == 5);
  CHECK(told->out == "/\ntask\ntyped\n");
  CHECK(ask_exec(*this, {"no-such-program"}).error()
        == Error{Errc::rejected,
                 "failed to start command: exec: \"no-such-program\": executable file not found "
                 "in $PATH"});

  stop();
  start();
  auto after = Result<std::shared_ptr<host::ExecSession>>{Error{}};
  REQUIRE(test::succeeds([&] { return (after = ask_exec(*this, {"sleep", "1000"})).has_value(); }));
  const auto ended = run_command(*after);
  end(1, job);
  CHECK(exit_of(*ended) == 128 + SIGKILL);
  CHECK(eventually([&] { return ask_exec(*this, {"true"}).has_error(); }));
}

TEST_CASE_FIXTURE(RealNode, "raw_exec: a task goes on while the agent is stopped") {
  run(1, test::simple_job("job", "service", "raw_exec", script("echo $$; exec sleep 1000")));
  REQUIRE(reaches(ClientStatus::RUNNING));
  REQUIRE(logs(1, "\n"));
  const auto before = log(1);
  stop();
  CHECK(::kill(std::stoi(before), 0) == 0);
  start();
  actor::BlockingAsker self{system};
  CHECK(test::succeeds([&] {
    bool fine = false;
    self.request(node, 5s, test::signal_tasks(test::numbered_id(1, owner), "", "SIGNULL"))
        .receive([&fine](const door::NodeReply&) { fine = true; }, [](const Error&) {});
    return fine;
  }));
  CHECK(log(1) == before);
}

TEST_CASE_FIXTURE(RealNode, "raw_exec: what has lost its record is found by its name") {
  const auto job
      = test::simple_job("job", "service", "raw_exec",
                         script("echo $$; trap 'exit 3' USR1; while :; do sleep 0.05; done"));
  run(1, job);
  REQUIRE(reaches(ClientStatus::RUNNING));
  REQUIRE(logs(1, "\n"));
  const auto before = log(1);
  const int pid = std::stoi(before);
  stop();
  const auto heard = [this] {
    const std::lock_guard guard{board->lock};
    board->heard.clear();
  };
  heard();
  const auto lose = [this] {
    for (const auto* part : {"state.db", "state.db-wal", "state.db-shm", "state.db.mark"})
      std::filesystem::remove(dir.file("state") + '/' + part);
  };
  SUBCASE("and goes on") {
    lose();
    start();
    CHECK(reaches(ClientStatus::RUNNING));
    CHECK(log(1) == before);
    CHECK(::kill(pid, 0) == 0);
    end(1, job);
    CHECK(reaches(ClientStatus::COMPLETE));
    CHECK(::kill(pid, 0) != 0);
  }
  SUBCASE("and its end is heard") {
    REQUIRE(::kill(pid, SIGUSR1) == 0);
    REQUIRE(test::has_ended(pid));
    lose();
    start();
    CHECK(eventually([&] {
      const std::lock_guard guard{board->lock};
      if (!board->heard.contains(test::numbered_id(1, owner))) return false;
      const auto state = workload::read_task_state(
          board->heard.at(test::numbered_id(1, owner))->task_states()[0].getValue());
      return std::ranges::any_of(state.events, [](const workload::TaskEvent& each) {
        return each.display_message.find("Exit Code: 3") != std::string::npos;
      });
    }));
  }
  SUBCASE("and ends if nobody wants it") {
    lose();
    {
      const std::lock_guard guard{board->lock};
      board->assigned.clear();
    }
    start();
    CHECK(test::has_ended(pid));
    const auto executors = dir.file("state/executors");
    CHECK(test::eventually_in(executors,
                              [&executors] { return std::filesystem::is_empty(executors); }));
  }
}

namespace {

/// The command of a client node in a process of its own, which writes a line when every task
/// answers.
std::vector<std::string> mini_node(const std::string& directory,
                                   int count,
                                   const std::string& text) {
  return {std::getenv("NOMADCTL_MINI_NODE"), directory, std::getenv("NOMADCTL_EXECUTOR"),
          std::to_string(count), text};
}

}  // namespace

TEST_CASE("raw_exec: kill -9 of the agent at any moment neither loses nor doubles a task") {
  const auto seed = static_cast<std::uint64_t>(::getpid());
  INFO("seed ", seed);
  Random random{seed};
  test::TempDir dir;
  const auto owner = std::hash<std::string>{}(dir.path());
  constexpr int count = 12;
  const std::string text
      = "echo $$ >> ${NOMAD_ALLOC_DIR}/pids; i=0; while :; do echo $i; i=$((i+1)); sleep 0.02; "
        "done";
  for (int round = 0; round < 8; ++round) {
    test::ChildProcess node{mini_node(dir.path(), count, text)};
    test::is_readable(node.output(), std::chrono::milliseconds{random.below(120)});
    node.end(SIGKILL);
  }
  test::ChildProcess last{mini_node(dir.path(), count, text)};
  REQUIRE(last.wrote_line());

  std::set<int> pids;
  for (int number = 0; number < count; ++number) {
    const auto root = dir.file("allocs/" + test::numbered_id(number, owner));
    // A task answers when its shell runs, which is a moment before the shell has written anything.
    REQUIRE(test::eventually_in(root + "/alloc", [&root] {
      return read_file(root + "/alloc/pids").find('\n') != std::string::npos;
    }));
    const auto started = read_file(root + "/alloc/pids");
    CHECK(std::count(started.begin(), started.end(), '\n') == 1);
    const int pid = std::stoi(started);
    CHECK(::kill(pid, 0) == 0);
    pids.insert(pid);
    // Every line that was written is in the logs.
    const auto log = root + "/alloc/logs/task.stdout.0";
    CHECK(test::eventually_in(root + "/alloc/logs", [&log] { return !read_file(log).empty(); }));
    std::istringstream lines{read_file(log)};
    int expected = 0;
    for (std::string line; std::getline(lines, line) && !lines.eof(); ++expected)
      CHECK(line == std::to_string(expected));
    CHECK(expected > 0);
  }
  CHECK(pids.size() == count);
  last.end(SIGTERM);
  for (const int pid : pids)
    CHECK(::kill(pid, 0) == 0);
  test::ChildProcess cleaner{mini_node(dir.path(), 0, text)};
  CHECK(cleaner.wrote_line());
  for (const int pid : pids)
    CHECK(::kill(pid, 0) != 0);
  CHECK(std::filesystem::is_empty(dir.file("allocs")));
}
