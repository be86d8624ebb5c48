// Tasks through deaths of the agent: this program, run again, plays the agent, starts tasks and is
// killed at a random moment, again and again. Whatever the moment, each task is started exactly
// once, and the last agent finds it, or its exit status.

#include <csignal>
#include <deque>
#include <future>
#include <random>
#include <sstream>

#include <unistd.h>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "test/support/child_process.hpp"
#include "test/unit/runtime/host/executor_harness.hpp"

using namespace nomad;
using namespace nomad::host;

namespace {

constexpr const char* as_agent = "--agent";

/// What all the agents of one test share.
struct Place {
  bool cgroups;
  std::string parent;  ///< Of their cgroups.
  std::string directory;

  std::unique_ptr<ExecutorClient> open() const {
    auto client = ExecutorClient::open({.executor_path = executor_program(),
                                        .state_dir = directory + "/executors",
                                        .cgroup_parent = parent,
                                        .use_cgroups = cgroups});
    return std::move(*client);
  }

  static std::string key(int task) {
    return executor_key("5f2cbd5e-0d5c-4b0a-9d0e-00000000000a", "web" + std::to_string(task));
  }

  TaskCommand command(int task, const std::string& rest) const {
    TaskCommand command;
    command.run_id = "run-of-" + std::to_string(task);
    command.command = "/bin/sh";
    command.arguments = {"-c", "echo $$ >> " + starts_file(task) + "; " + rest};
    command.environment = {"PATH=/usr/bin:/bin"};
    command.task_directory = directory + "/web";
    command.logs = TaskLogs{.alloc_root = directory, .task = "web" + std::to_string(task)};
    return command;
  }

  std::string starts_file(int task) const { return directory + "/starts-" + std::to_string(task); }

  std::vector<pid_t> starts(int task) const {
    std::istringstream lines{read_text(starts_file(task))};
    std::vector<pid_t> pids;
    for (pid_t pid = 0; lines >> pid;)
      pids.push_back(pid);
    return pids;
  }
};

/// The agent that is killed: says that it is there, starts `tasks` tasks and waits.
[[noreturn]] void play_agent(const Place& place, int tasks, const std::string& rest) {
  if (::write(STDOUT_FILENO, "\n", 1) != 1) ::_exit(1);
  const auto client = place.open();
  for (int task = 0; task < tasks; ++task)
    client->start(Place::key(task), place.command(task, rest), {});
  for (;;)
    ::pause();
}

class Site {
public:
  explicit Site(bool cgroups)
      : place_{cgroups, "nomad-test-survival-" + std::to_string(::getpid()), directory_.path()} {
    std::filesystem::create_directories(directory_ / "alloc/logs");
    std::filesystem::create_directories(directory_ / "web");
  }

  const Place* operator->() const { return &place_; }

  /// Runs an agent that starts `tasks` tasks, and kills it `microseconds` after its beginning.
  void run_agent(int tasks, const std::string& rest, unsigned microseconds) const {
    test::ChildProcess agent{{test::own_program, as_agent, place_.cgroups ? "1" : "0",
                              place_.parent, place_.directory, std::to_string(tasks), rest}};
    REQUIRE(agent.wrote_line());
    ::usleep(microseconds);
    agent.end(SIGKILL);
  }

  void clean_up(ExecutorClient& client, int tasks) const {
    std::deque<std::promise<Result<>>> purged(static_cast<std::size_t>(tasks));
    for (int task = 0; task < tasks; ++task) {
      auto& promise = purged[static_cast<std::size_t>(task)];
      client.purge(Place::key(task), [&promise](Result<> result) { promise.set_value(result); });
    }
    for (auto& promise : purged)
      CHECK_FALSE(promise.get_future().get().has_error());
    CHECK(client.keys()->empty());
    test::remove_cgroup_parents(client.cgroups().mounts(), place_.parent);
  }

private:
  TempDir directory_;
  Place place_;
};

unsigned seed_of_run() {
  const char* given = std::getenv("SEED");
  return given != nullptr ? static_cast<unsigned>(std::atoi(given)) : std::random_device{}();
}

}  // namespace

TEST_CASE("executor survival: agents killed at any moment never start a task twice") {
  constexpr int tasks = 30, rounds = 12;
  for (bool cgroups : {true, false}) {
    unsigned seed = seed_of_run();
    CAPTURE(seed);
    std::mt19937 random{seed};
    Site site{cgroups};
    for (int round = 0; round < rounds; ++round)
      site.run_agent(tasks, "exec sleep 1000", random() % 40'000);

    auto client = site->open();
    std::deque<Heard> heard(tasks);
    for (int task = 0; task < tasks; ++task) {
      client->start(site->key(task), site->command(task, "exec sleep 1000"),
                    heard[static_cast<std::size_t>(task)].listener());
    }
    for (int task = 0; task < tasks; ++task) {
      CAPTURE(task);
      auto started = heard[static_cast<std::size_t>(task)].started();
      REQUIRE_MESSAGE(!started.has_error(), started.error().what);
      CHECK(is_alive(started->process));
      REQUIRE(test::eventually_in(site->directory, [&] { return !site->starts(task).empty(); }));
      CHECK(site->starts(task) == std::vector<pid_t>{started->process.pid});
    }
    site.clean_up(*client, tasks);
  }
}

TEST_CASE("executor survival: ends that no agent saw are told to the last one, once") {
  constexpr int tasks = 30, rounds = 12;
  unsigned seed = seed_of_run();
  CAPTURE(seed);
  std::mt19937 random{seed};
  Site site{true};
  for (int round = 0; round < rounds; ++round)
    site.run_agent(tasks, "exit 42", random() % 40'000);

  auto client = site->open();
  std::deque<Heard> heard(tasks);
  for (int task = 0; task < tasks; ++task) {
    client->start(site->key(task), site->command(task, "exit 42"),
                  heard[static_cast<std::size_t>(task)].listener());
  }
  for (int task = 0; task < tasks; ++task) {
    CAPTURE(task);
    auto started = heard[static_cast<std::size_t>(task)].started();
    REQUIRE_MESSAGE(!started.has_error(), started.error().what);
    CHECK(heard[static_cast<std::size_t>(task)].exited().exit_code == 42);
    CHECK(site->starts(task) == std::vector<pid_t>{started->process.pid});
  }
  site.clean_up(*client, tasks);
}

TEST_CASE("executor survival: logs have no gap when the agent dies") {
  Site site{true};
  constexpr int lines = 20000;
  std::string script
      = "i=0; while [ $i -lt " + std::to_string(lines) + " ]; do echo $i; i=$((i+1)); done";
  // Each longer than the last, so that a busy machine starts it in one of them.
  for (unsigned round = 0; round < 5; ++round)
    site.run_agent(1, script, 20'000U << round);

  auto client = site->open();
  Heard heard;
  client->attach(site->key(0), "run-of-0", heard.listener());
  REQUIRE_FALSE(heard.started().has_error());
  CHECK(heard.exited().exit_code == 0);

  std::string expected;
  for (int i = 0; i < lines; ++i)
    expected += std::to_string(i) + '\n';
  std::string root = std::filesystem::path{site->starts_file(0)}.parent_path();
  CHECK(read_text(root + "/alloc/logs/web0.stdout.0") == expected);
  site.clean_up(*client, 1);
}

TEST_CASE("executor survival: 200 tasks are found again and ended") {
  constexpr int tasks = 200;
  Site site{true};
  {
    auto client = site->open();
    std::deque<Heard> heard(tasks);
    for (int task = 0; task < tasks; ++task) {
      client->start(site->key(task), site->command(task, "exec sleep 1000"),
                    heard[static_cast<std::size_t>(task)].listener());
    }
    for (Heard& each : heard)
      REQUIRE_FALSE(each.started().has_error());
    REQUIRE(test::eventually_in(site->directory, [&] {
      for (int task = 0; task < tasks; ++task) {
        if (site->starts(task).empty()) return false;
      }
      return true;
    }));
  }
  auto client = site->open();
  std::deque<Heard> heard(tasks);
  for (int task = 0; task < tasks; ++task)
    client->attach(site->key(task), "", heard[static_cast<std::size_t>(task)].listener());
  for (int task = 0; task < tasks; ++task) {
    auto started = heard[static_cast<std::size_t>(task)].started();
    REQUIRE_FALSE(started.has_error());
    CHECK(site->starts(task) == std::vector<pid_t>{started->process.pid});
  }
  for (int task = 0; task < tasks; ++task)
    client->stop(site->key(task), SIGTERM, std::chrono::seconds{5}, nullptr);
  for (Heard& each : heard)
    CHECK(each.exited().signal == SIGTERM);
  site.clean_up(*client, tasks);
}

int main(int argc, char** argv) {
  if (argc == 7 && std::string_view{argv[1]} == as_agent)
    play_agent({argv[2] == std::string_view{"1"}, argv[3], argv[4]}, std::atoi(argv[5]), argv[6]);
  return doctest::Context{argc, argv}.run();
}
