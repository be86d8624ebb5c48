// Figures of the client alone: how fast allocations of mock tasks come to run, what each costs in
// memory, and what prioritised sync saves. The servers are a single actor that accepts everything.
//
// usage: client_bench [ALLOCS [DIRECTORY]]
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include <unistd.h>

#include "actors/client/client.hpp"
#include "actors/core/system.hpp"
#include "runtime/base/random.hpp"
#include "runtime/workload/sync_buffer.hpp"
#include "test/support/fake_servers.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using schema::ClientStatus;

namespace {

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Private memory of this process in kB.
long private_kb() {
  std::ifstream file{"/proc/self/smaps_rollup"};
  long sum = 0;
  for (std::string name; file >> name;) {
    long amount = 0;
    if (name == "Private_Clean:" || name == "Private_Dirty:") {
      file >> amount;
      sum += amount;
    }
  }
  return sum;
}

void wait_for(test::ServerBoard& board, ClientStatus status, std::size_t count) {
  while (board.count(status) < count)
    std::this_thread::sleep_for(1ms);
}

struct Node {
  actor::SystemConfig config;
  actor::System system{config};
  std::shared_ptr<test::ServerBoard> board = std::make_shared<test::ServerBoard>();
  test::FakeServersActor servers = actor::spawn(system, test::fake_servers, board);
  std::string directory;
  client::Client node;

  explicit Node(std::string where) : directory{std::move(where)} { start(); }

  ~Node() {
    stop();
    actor::stop(servers);
  }

  void start() {
    std::filesystem::create_directories(directory + "/state");
    std::filesystem::create_directories(directory + "/allocs");
    client::ClientOptions options;
    options.state_dir = directory + "/state";
    options.alloc_dir = directory + "/allocs";
    auto started = client::start_client(system, options, servers, client::builtin_plugins(true));
    if (!started) {
      std::fprintf(stderr, "%s\n", started.error().what.c_str());
      std::exit(1);
    }
    node = *started;
  }

  void stop() {
    actor::BlockingAsker self{system};
    self.request(node, actor::infinite, client::client_actor::Stop{})
        .receive([](const client::client_actor::Stopped&) {}, [](const Error&) {});
    node = client::Client{};
  }

  void assign(int first, int count, const std::string& config) {
    {
      const std::lock_guard guard{board->lock};
      for (int number = first; number < first + count; ++number) {
        const auto job
            = test::simple_job("job-" + std::to_string(number), "batch", "mock_driver", config);
        board->assigned.push_back({test::simple_alloc(job, number, 1), job});
      }
    }
    actor::tell(servers, test::BoardChanged{});
  }

  std::uint64_t running() {
    actor::BlockingAsker self{system};
    std::uint64_t count = 0;
    self.request(node, 10s, client::client_api::CountAllocs{})
        .receive(
            [&count](const client::client_api::AllocCounts& counts) { count = counts.running; },
            [](const Error&) {});
    return count;
  }
};

void start_and_memory(int count, const std::string& directory) {
  Node node{directory};
  node.assign(0, 1, R"({"run_for":"10h"})");
  wait_for(*node.board, ClientStatus::RUNNING, 1);

  std::vector<double> single;
  for (int number = 1; number <= 20; ++number) {
    std::this_thread::sleep_for(250ms);
    const auto begin = Clock::now();
    node.assign(number, 1, R"({"run_for":"10h"})");
    wait_for(*node.board, ClientStatus::RUNNING, static_cast<std::size_t>(number) + 1);
    single.push_back(seconds_since(begin) * 1'000);
  }
  std::sort(single.begin(), single.end());
  std::printf("assigned -> running known to the servers, idle: %.1f ms (median of 20)\n",
              single[10]);

  const auto before = private_kb();
  const auto begin = Clock::now();
  node.assign(21, count, R"({"run_for":"10h"})");
  wait_for(*node.board, ClientStatus::RUNNING, static_cast<std::size_t>(count) + 21);
  const auto took = seconds_since(begin);
  std::this_thread::sleep_for(2s);
  std::printf("%d one-task allocations until all are known to run: %.2f s, %.0f/s\n", count, took,
              count / took);
  std::printf("updates in %zu sends; %.1f kB of private memory for each allocation, job included\n",
              node.board->sends, static_cast<double>(private_kb() - before) / count);

  node.stop();
  const auto again = Clock::now();
  node.start();
  while (node.running() < static_cast<std::uint64_t>(count))
    std::this_thread::sleep_for(1ms);
  std::printf("restart of the agent until %d saved allocations are taken up: %.2f s\n", count,
              seconds_since(again));
}

/// The same hour of events through the buffer, and through one that sends on every tick.
void saved_updates() {
  constexpr int allocs = 1'000;
  const auto simulate = [](unsigned ticks_between_ordinary) {
    Random random{1};
    workload::SyncBuffer buffer{{.ticks_between_ordinary = ticks_between_ordinary}};
    buffer.open();
    std::vector<std::uint64_t> versions(allocs);
    std::size_t sends = 0, updates = 0;
    // Each allocation emits the five updates of its start, one of which changes its status, within
    // a second; starts come in waves, as those of deployments do.
    for (Nanoseconds now = 0ms; now < 10min; now += 20ms) {
      const bool wave = now % Nanoseconds{30s} < Nanoseconds{5s};
      for (int i = 0; i < (wave ? 6 : 1); ++i) {
        const auto which = random.below(allocs);
        const auto version = ++versions[which];
        workload::TaskState state{.restarts = version};
        const auto status = version < 5 ? ClientStatus::PENDING : ClientStatus::RUNNING;
        const auto id = test::numbered_id(static_cast<int>(which), 1);
        buffer.put(id, version,
                   workload::make_update({.alloc_id = id,
                                          .node_id = "node",
                                          .status = status,
                                          .description = "",
                                          .tasks = {{"task", &state}},
                                          .health = std::nullopt,
                                          .assigned = {}},
                                         0));
      }
      const auto batch = buffer.take(now);
      if (batch.empty()) continue;
      ++sends;
      updates += batch.size();
      buffer.succeeded(now);
    }
    return std::pair{sends, updates};
  };
  const auto [every_sends, every_updates] = simulate(1);
  const auto [sends, updates] = simulate(5);
  std::printf(
      "10 minutes of %d allocations: %zu sends with %zu updates on every tick, %zu with "
      "%zu prioritised (%.0f %% of the sends, %.0f %% of the updates)\n",
      allocs, every_sends, every_updates, sends, updates,
      100.0 * static_cast<double>(sends) / static_cast<double>(every_sends),
      100.0 * static_cast<double>(updates) / static_cast<double>(every_updates));
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 1'000;
  saved_updates();
  if (argc > 2) {
    start_and_memory(count, argv[2]);
  } else {
    const test::TempDir directory;
    start_and_memory(count, directory.path());
  }
  return 0;
}
