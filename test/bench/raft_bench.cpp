// raft_bench: durable writes per second on one server: proposals through the whole path (queue,
// core, log_writer with fsync, apply, answer) at 1, 16 and 64 in flight.
//
//   raft_bench [seconds per figure] [bytes per command] [directory]
//
// Each answer sends the next proposal from the node's own thread, so the load generator costs no
// thread: add what real callers cost.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "actors/core/supervise.hpp"
#include "actors/core/system.hpp"
#include "actors/raft/raft_node.hpp"

using namespace nomad;
using namespace nomad::raft;
using Clock = std::chrono::steady_clock;

namespace {

/// Counts, so that the figures are those of the log.
class CountingFsm : public Fsm {
public:
  Result<> check(std::span<const std::byte>) const override { return {}; }

  std::vector<Outcome> apply(std::span<const Entry> entries, Index) override {
    count_ += entries.size();
    return std::vector<Outcome>(entries.size());
  }

  std::unique_ptr<SnapshotSource> snapshot() const override {
    struct Source : SnapshotSource {
      Result<> write(SnapshotSink& sink) const override { return sink.begin_table("count"); }
    };

    return std::make_unique<Source>();
  }

  Result<std::shared_ptr<PreparedState>> prepare(SnapshotRows&) const override {
    return std::make_shared<PreparedState>();
  }

  void install(PreparedState&, Index) override {}

private:
  std::uint64_t count_ = 0;
};

/// Keeps `in_flight` proposals under way: each answer sends the next.
class Load {
public:
  Load(Proposer proposer, std::size_t bytes) : proposer_(std::move(proposer)), text_(bytes, 'x') {}

  void run(int in_flight, std::chrono::duration<double> time) {
    latencies_.clear();
    stop_ = false;
    under_way_ = in_flight;
    for (int slot = 0; slot < in_flight; ++slot)
      send();
    std::this_thread::sleep_for(time);
    stop_ = true;
    while (under_way_ > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }

  std::size_t count() const { return latencies_.size(); }

  double percentile_us(double part) {
    std::ranges::sort(latencies_);
    if (latencies_.empty()) return 0;
    const auto at = static_cast<std::size_t>(part * static_cast<double>(latencies_.size() - 1));
    return static_cast<double>(latencies_[at]) / 1'000.0;
  }

private:
  void send() {
    proposer_.propose(Bytes::copy(text_), [this, since = Clock::now()](Result<Applied> outcome) {
      if (!outcome) {
        fmt::print(stderr, "a proposal failed: {}\n", outcome.error().what);
        std::exit(1);
      }
      latencies_.push_back((Clock::now() - since).count());
      if (stop_)
        --under_way_;
      else
        send();
    });
  }

  Proposer proposer_;
  std::string text_;
  std::vector<std::int64_t> latencies_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> under_way_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::chrono::duration<double> time{argc > 1 ? std::atof(argv[1]) : 2.0};
  const auto bytes = static_cast<std::size_t>(argc > 2 ? std::atoi(argv[2]) : 512);
  const std::filesystem::path directory
      = argc > 3 ? argv[3] : std::filesystem::current_path() / "raft_bench.data";
  std::filesystem::remove_all(directory);
  {
    actor::SystemConfig config;
    actor::System system{config};
    auto raft = start_raft(system, {.directory = directory, .self = "bench"},
                           std::make_shared<CountingFsm>(), {});
    if (!raft) {
      fmt::print(stderr, "{}\n", raft.error().what);
      return 1;
    }
    while (!raft->lease->holds())
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    Load load{raft->proposer, bytes};
    for (const int in_flight : {1, 16, 64, 256}) {
      const auto commits = raft->counters->log_commits.load();
      load.run(in_flight, time);
      const auto made = static_cast<double>(load.count());
      const auto fsyncs = static_cast<double>(raft->counters->log_commits - commits);
      fmt::print(
          "raft_bench in_flight={} bytes={} writes_per_s={:.0f} fsyncs_per_1000={:.1f} "
          "p50_us={:.0f} p99_us={:.0f} p999_us={:.0f}\n",
          in_flight, bytes, made / time.count(), 1'000 * fsyncs / made, load.percentile_us(0.5),
          load.percentile_us(0.99), load.percentile_us(0.999));
    }
    actor::stop(raft->node);
  }
  std::filesystem::remove_all(directory);
  return 0;
}
