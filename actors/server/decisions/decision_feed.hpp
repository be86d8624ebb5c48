// DecisionFeed: what scheduler workers tell the DecisionLog of the decisions they make. It never
// keeps them waiting: what finds too much before it is dropped and counted.
//
// Thread-safe. No actor: the log may begin anew meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <variant>
#include <vector>

#include "runtime/scheduler/kept_decision.hpp"

namespace nomad::server {

class DecisionFeed {
public:
  using News = std::variant<scheduler::Decided, scheduler::PlanEnded>;

  /// What may wait: news, and new allocations of their plans.
  static constexpr std::size_t most_news = 4'096;
  static constexpr std::size_t most_allocations = 100'000;

  /// The first decision's number is the one behind `last`.
  explicit DecisionFeed(std::uint64_t last) : last_{last} {}

  std::uint64_t next_number() { return last_.fetch_add(1, std::memory_order_relaxed) + 1; }

  void add(News news);

  /// What is woken when something waits and nothing did before; or does already. It is called on
  /// the thread of whoever adds. Empty: nobody.
  void set_wake(std::function<void()> wake);

  struct Taken {
    std::vector<News> news;
    std::uint64_t dropped = 0;  ///< Since the last time.
  };

  Taken take();

private:
  std::atomic<std::uint64_t> last_;
  std::mutex guard_;
  std::vector<News> waiting_;
  std::size_t allocations_ = 0;
  std::uint64_t dropped_ = 0;
  std::function<void()> wake_;
};

}  // namespace nomad::server
