// c1m_bench: a million allocations in one server, through the whole path: jobs are registered as
// log entries, one scheduler worker places them, plans are checked, written with fsync, applied and
// told as events to a reader who follows. Nodes are rows; nothing runs on them.
//
//   c1m_bench [-identities] [allocations [jobs [nodes [directory]]]]
//                                                            1,000,000 of 1,000 jobs on 5,000 nodes
//
// With -identities there is a root key, and each allocation gets what its tasks' identities follow
// from; without one they get none. `identities.py placements` runs both in turn.
//
// Ends with 1 if not all of them come to be placed.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <sys/resource.h>

#include <malloc.h>

#include "actors/core/supervise.hpp"
#include "actors/core/system.hpp"
#include "actors/raft/raft_node.hpp"
#include "actors/raft/state_fsm.hpp"
#include "actors/server/eval_broker.hpp"
#include "actors/server/plan_applier.hpp"
#include "actors/server/scheduler_worker.hpp"
#include "actors/server/server.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/plan/node_facts.hpp"
#include "test/support/sample_job.hpp"

namespace {

using namespace nomad;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

struct Size {
  std::size_t allocs = 1'000'000;
  std::size_t jobs = 1'000;
  std::size_t nodes = 5'000;
  std::filesystem::path directory = std::filesystem::current_path() / "c1m_bench.data";
  bool identities = false;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Processor time of all threads of this process.
double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::size_t allocated() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/// A server with what schedules, and a reader of its events.
class Cluster {
public:
  explicit Cluster(const std::filesystem::path& directory) {
    fsm_ = std::make_shared<raft::StateFsm>(store_);
    server_ = server::spawn_server(system_);
    auto raft = raft::start_raft(server_, {.directory = directory, .self = "bench"}, fsm_, server_);
    if (!raft) {
      std::fprintf(stderr, "%s\n", raft.error().what.c_str());
      std::exit(1);
    }
    raft_.emplace(std::move(*raft));
    const actor::Owner owner{server_};
    const auto broker = server::spawn_eval_broker(owner, store_, raft_->proposer, {});
    const auto applier = server::spawn_plan_applier(owner, store_, raft_->proposer, 1);
    const auto worker
        = server::spawn_scheduler_worker(owner, store_, raft_->proposer, broker, applier, {});
    const auto feed = std::make_shared<server::OutcomeFeed>(broker);
    fsm_->set_listener([feed](auto outcomes) { feed->add(std::move(outcomes)); });
    actor::tell(server_, server::AddDuty{broker, {actor::Any{worker}}});
    while (!raft_->lease->holds())
      std::this_thread::sleep_for(1ms);
    reader_ = std::thread{[this] { follow_events(); }};
  }

  ~Cluster() {
    over_ = true;
    reader_.join();
    actor::stop(raft_->node);
    actor::stop(server_);
  }

  state::Snapshot state() const { return store_->snapshot(); }

  std::uint64_t events() const { return events_; }

  std::uint64_t fsyncs() const { return raft_->counters->log_commits; }

  template <class Fill>
  void write(Fill fill) {
    Draft<schema::Command> draft;
    fill(*draft);
    ++under_way_;
    raft_->proposer.propose(
        raft::payload_of(draft.freeze()), [this](Result<raft::Applied> applied) {
          if (!applied) {
            std::fprintf(stderr, "a write failed: %s\n", applied.error().what.c_str());
            std::exit(1);
          }
          --under_way_;
        });
    while (under_way_ > 256)
      std::this_thread::sleep_for(1ms);
  }

  void settle() const {
    while (under_way_ > 0)
      std::this_thread::sleep_for(1ms);
  }

private:
  void follow_events() {
    std::uint64_t after = 0;
    while (!over_) {
      const auto page = store_->events().read_after(after, 100);
      if (!page) {  // more came than are kept: go on with the newest
        after = store_->snapshot().index();
        ++losses_;
        continue;
      }
      for (const auto& batch : page->batches)
        events_ += batch->events.size();
      after = page->next_after;
      if (page->batches.empty()) std::this_thread::sleep_for(1ms);
    }
  }

  actor::SystemConfig config_;
  actor::System system_{config_};
  std::shared_ptr<state::Store> store_
      = std::make_shared<state::Store>(state::Store::Options{.event_batches = 10'000});
  std::shared_ptr<raft::StateFsm> fsm_;
  server::Server server_;
  std::optional<raft::StartedRaft> raft_;
  std::thread reader_;
  std::atomic<bool> over_ = false;
  std::atomic<std::size_t> under_way_ = 0;
  std::atomic<std::uint64_t> events_ = 0;
  std::atomic<std::uint64_t> losses_ = 0;
};

void add_node(Cluster& cluster, Random& random, std::size_t number, std::int64_t tasks) {
  cluster.write([&](schema::Command::Builder command) {
    auto node = command.initNodeRegister().initNode();
    node.setId(text(make_uuid(random)));
    node.setName(text("node-" + std::to_string(number)));
    node.setDatacenter("dc1");
    node.setNodePool("default");
    node.setStatus(schema::NodeStatus::READY);
    auto resources = node.initNodeResources();
    resources.initCpu().setCpuShares(20 * tasks);
    resources.initMemory().setMemoryMb(15 * tasks);
    resources.initDisk().setDiskMb(10 * tasks);
    auto network = resources.initNodeNetworks(1)[0];
    network.setMode("host");
    auto address = network.initAddresses(1)[0];
    address.setAlias("default");
    address.setAddress("10.0.0.1");
    const std::pair<const char*, std::string> facts[]
        = {{"driver.mock_driver", "1"},
           {"kernel.name", "linux"},
           {"machine.type", "m" + std::to_string(number % 100)}};
    auto attributes = node.initAttributes(std::size(facts));
    for (unsigned i = 0; i < std::size(facts); ++i) {
      attributes[i].setKey(facts[i].first);
      attributes[i].setValue(text(facts[i].second));
    }
    node.setComputedClass(text(scheduler::computed_class(node.asReader())));
  });
}

void add_job(Cluster& cluster, Random& random, std::size_t number, std::int64_t count) {
  cluster.write([&](schema::Command::Builder command) {
    const auto id = "job-" + std::to_string(number);
    auto entry = command.initJobRegister();
    auto job = entry.initJob();
    auto group = test::fill_job(job, {.id = id,
                                      .count = count,
                                      .group = "group",
                                      .task = "task",
                                      .cpu = 15,
                                      .memory_mb = 10,
                                      .disk_mb = 5});
    group.getTasks()[0].setConfig(R"({"run_for":"1h"})");
    auto constraint = job.initConstraints(1)[0];
    constraint.setLTarget("${attr.kernel.name}");
    constraint.setOperand("=");
    constraint.setRTarget("linux");
    auto eval = entry.initEvaluation();
    eval.setId(text(make_uuid(random)));
    eval.setNamespace("default");
    eval.setPriority(50);
    eval.setType("service");
    eval.setTriggeredBy(schema::EvalTrigger::JOB_REGISTER);
    eval.setJobId(text(id));
    eval.setStatus(schema::EvalStatus::PENDING);
  });
}

/// One that is only named: nobody signs here.
void add_root_key(Cluster& cluster, Random& random) {
  cluster.write([&](schema::Command::Builder command) {
    auto key = command.initRootKeyUpsert().initKey();
    key.setKeyId(text(make_uuid(random)));
    key.setState(schema::RootKeyState::ACTIVE);
    key.setCreateTime(1'700'000'000'000'000'000);
  });
}

/// Of the log, once it is closed.
std::uintmax_t log_bytes(const std::filesystem::path& directory) {
  std::error_code none;
  const auto size = std::filesystem::file_size(directory / "raft.db", none);
  return none ? 0 : size;
}

/// Waits until that many are placed; gives up after ten seconds in which none was.
std::size_t await_placed(const Cluster& cluster, std::size_t wanted) {
  std::size_t placed = 0;
  auto progress = Clock::now();
  while (placed < wanted && seconds_since(progress) < 10) {
    std::this_thread::sleep_for(20ms);
    const auto now = cluster.state().allocs_map().size();
    if (now != placed) progress = Clock::now();
    placed = now;
  }
  return placed;
}

bool run(const Size& size) {
  std::filesystem::remove_all(size.directory);
  Random random{1};
  bool whole = false;
  {
    Cluster cluster{size.directory};
    const auto each = static_cast<std::int64_t>(size.allocs / size.jobs);
    const auto per_node = static_cast<std::int64_t>(size.allocs / size.nodes + 1);
    for (std::size_t i = 0; i < size.nodes; ++i)
      add_node(cluster, random, i, per_node);
    if (size.identities) add_root_key(cluster, random);
    cluster.settle();
    const auto memory = allocated();
    const auto fsyncs = cluster.fsyncs();
    const auto events = cluster.events();
    const auto cpu = cpu_seconds();
    const auto start = Clock::now();
    for (std::size_t i = 0; i < size.jobs; ++i)
      add_job(cluster, random, i, each);
    const auto wanted = size.jobs * static_cast<std::size_t>(each);
    const auto placed = await_placed(cluster, wanted);
    const auto wall = seconds_since(start);
    const auto count = static_cast<double>(std::max<std::size_t>(placed, 1));
    whole = placed == wanted;
    std::printf(
        "%zu of %zu allocations of %zu jobs on %zu nodes: %.1f s, %.1f s of processors, %.0f a "
        "second\n",
        placed, wanted, size.jobs, size.nodes, wall, cpu_seconds() - cpu, count / wall);
    std::printf("  %.0f bytes of memory per allocation, %llu fsyncs, %llu events read\n",
                static_cast<double>(allocated() - memory) / count,
                static_cast<unsigned long long>(cluster.fsyncs() - fsyncs),
                static_cast<unsigned long long>(cluster.events() - events));
    std::fflush(stdout);
  }
  std::printf("  %.0f bytes of log per allocation, nodes and jobs included\n",
              static_cast<double>(log_bytes(size.directory)) / static_cast<double>(size.allocs));
  std::filesystem::remove_all(size.directory);
  return whole;
}

}  // namespace

int main(int argc, char** argv) {
  Size size;
  if (argc > 1 && std::string_view{argv[1]} == "-identities") {
    size.identities = true;
    --argc;
    ++argv;
  }
  const auto number = [&](int at, std::size_t otherwise) {
    return argc > at ? static_cast<std::size_t>(std::strtoull(argv[at], nullptr, 10)) : otherwise;
  };
  size.allocs = number(1, size.allocs);
  size.jobs = number(2, size.jobs);
  size.nodes = number(3, size.nodes);
  if (argc > 4) size.directory = argv[4];
  if (size.jobs == 0 || size.nodes == 0 || size.allocs < size.jobs) {
    std::fprintf(stderr,
                 "usage: c1m_bench [-identities] [allocations [jobs [nodes [directory]]]]\n");
    return 2;
  }
  return run(size) ? 0 : 1;
}
