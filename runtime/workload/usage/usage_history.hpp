// UsageHistory: what a task, or the machine, has used: the last hour by 10 seconds and the last day
// by 5 minutes, in less than 2 KiB.
//
// A slot of 10 seconds has the means of the readings that fall into it, and the most memory; one of
// 5 minutes the same of its slots. One without a reading is a gap. Each is three bytes: logarithms,
// so that memory (from 64 KiB) is right within 2 %, processor time (from 1 MHz) within 3 % and
// network (from 16 B/s) within 10 %; less is 0.
//
// Times are a steady clock's: what the wall clock does moves nothing. What comes with an earlier
// time than the newest is taken for as new as that.
//
// Plain code: the runner of the task, or the client, owns it and calls it in its own turns.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/base/duration.hpp"

namespace nomad::workload {

/// One reading.
struct UsageSample {
  double cpu_mhz = 0;
  double memory = 0;                       ///< Bytes.
  std::optional<std::uint64_t> network{};  ///< Bytes moved until now, in and out; a counter.
};

/// What a slot has.
struct UsagePoint {
  double cpu_mhz = 0;
  double memory = 0;                ///< Bytes.
  std::optional<double> network{};  ///< Bytes a second, in and out.
};

struct UsageSeries {
  Nanoseconds interval{0};
  Nanoseconds end{0};  ///< Of the last slot, on the clock that the readings came with.
  std::vector<std::optional<UsagePoint>> points{};  ///< Oldest first; neither end is a gap.
};

/// What 95 of 100 slots stay below.
struct UsagePercentile {
  double cpu_mhz = 0;
  double memory = 0;    ///< Bytes.
  Nanoseconds over{0};  ///< Of how much time; gaps don't count.
};

class UsageHistory {
public:
  static constexpr Nanoseconds short_slot = std::chrono::seconds{10};
  static constexpr Nanoseconds long_slot = std::chrono::minutes{5};
  static constexpr std::size_t short_slots = 360;  ///< 1 h
  static constexpr std::size_t long_slots = 288;   ///< 24 h
  static constexpr std::size_t most_restarts = 8;

  void add(const UsageSample& sample, Nanoseconds now);

  /// The task has begun anew: what it counts begins with 0 again.
  void restarted(Nanoseconds now);

  /// The last hour by 10 seconds, and the last day by 5 minutes.
  UsageSeries last_hour(Nanoseconds now) const;
  UsageSeries last_day(Nanoseconds now) const;

  /// Of the last hour by 10 seconds, and of what is older by 5 minutes.
  UsagePercentile p95(Nanoseconds now) const;

  std::uint32_t restarts() const { return restarts_; }

  /// When the last ones were, oldest first.
  std::vector<Nanoseconds> restart_times() const;

private:
  using Code = std::array<std::uint8_t, 3>;  ///< All 0: a gap.

  /// What the slot under way has got until now.
  struct Sum {
    float cpu = 0;
    float memory = 0;
    float network = 0;
    std::uint16_t count = 0;
    std::uint16_t network_count = 0;

    void add(const UsagePoint& point);
    UsagePoint point() const;
  };

  template <std::size_t Slots>
  struct Ring {
    std::uint32_t newest = 0;  ///< Number of the slot under way, whose place is not filled yet.
    std::array<Code, Slots> slots{};
    Sum sum{};
  };

  template <std::size_t Slots>
  static void advance(Ring<Slots>& ring, std::uint32_t slot);
  template <std::size_t Slots>
  static std::optional<UsagePoint> at(const Ring<Slots>& ring, std::uint32_t slot);
  template <std::size_t Slots>
  static UsageSeries series(const Ring<Slots>& ring, Nanoseconds interval, Nanoseconds now);
  static Code encode(const UsagePoint& point);
  static UsagePoint decode(Code code);

  void move_to(Nanoseconds now);
  std::optional<double> network_rate(const UsageSample& sample, Nanoseconds now);

  Ring<short_slots> hour_;
  Ring<long_slots> day_;
  bool has_begun_ = false;
  bool counts_network_ = false;   ///< `network_` is a count.
  std::uint64_t network_ = 0;     ///< The last count,
  std::uint32_t network_at_ = 0;  ///< and when it was, in hundredths of a second.
  std::uint32_t restarts_ = 0;
  std::array<std::uint32_t, most_restarts> restart_seconds_{};
};

static_assert(sizeof(UsageHistory) <= 2048, "what is kept of a task fits into 2 KiB");

}  // namespace nomad::workload
