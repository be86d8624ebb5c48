#include "runtime/workload/usage/usage_history.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace nomad::workload {
namespace {

/// Codes of a quantity: 0 is unknown, 1 less than `least`, each one more by the same factor.
struct Scale {
  double least;
  double steps;  ///< Until it has doubled.
  unsigned last;

  unsigned code(double value) const {
    if (!(value >= least)) return 1;
    const auto step = std::log2(value / least) * steps;
    return 2 + static_cast<unsigned>(std::lround(std::min<double>(step, last - 2)));
  }

  double value(unsigned code) const { return code < 2 ? 0 : least * std::exp2((code - 2) / steps); }
};

constexpr Scale cpu_scale{.least = 1, .steps = 12, .last = 255};          // to 2 THz
constexpr Scale memory_scale{.least = 65'536, .steps = 19, .last = 511};  // to 7 TiB
constexpr Scale network_scale{.least = 16, .steps = 3.75, .last = 127};   // to 170 GB/s

constexpr std::uint64_t hundredths = 100;  ///< Of a second.

std::uint32_t slot_of(Nanoseconds time, Nanoseconds interval) {
  return static_cast<std::uint32_t>(std::max<std::int64_t>(time / interval, 0));
}

std::uint32_t hundredths_of(Nanoseconds time) {
  return static_cast<std::uint32_t>(time / std::chrono::milliseconds{1'000 / hundredths});
}

struct Weighed {
  double value;
  double seconds;
};

double weighed_p95(std::vector<Weighed>& values, double all_seconds) {
  std::ranges::sort(values, {}, &Weighed::value);
  double below = 0;
  for (const auto& each : values) {
    below += each.seconds;
    if (below >= 0.95 * all_seconds) return each.value;
  }
  return 0;
}

}  // namespace

void UsageHistory::Sum::add(const UsagePoint& point) {
  if (count == UINT16_MAX) return;
  ++count;
  cpu += static_cast<float>(point.cpu_mhz);
  memory = std::max(memory, static_cast<float>(point.memory));
  if (!point.network) return;
  ++network_count;
  network += static_cast<float>(*point.network);
}

UsagePoint UsageHistory::Sum::point() const {
  UsagePoint mean{.cpu_mhz = static_cast<double>(cpu) / count,
                  .memory = static_cast<double>(memory)};
  if (network_count != 0) mean.network = static_cast<double>(network) / network_count;
  return mean;
}

/// 8 bits of processor time, 9 of memory, 7 of network.
UsageHistory::Code UsageHistory::encode(const UsagePoint& point) {
  const auto memory = memory_scale.code(point.memory);
  const auto network = point.network ? network_scale.code(*point.network) : 0;
  return {static_cast<std::uint8_t>(cpu_scale.code(point.cpu_mhz)),
          static_cast<std::uint8_t>(memory & 0xFFU),
          static_cast<std::uint8_t>((memory >> 8U) << 7U | network)};
}

UsagePoint UsageHistory::decode(Code code) {
  const unsigned memory = code[1] | (code[2] >> 7U) << 8U;
  const unsigned network = code[2] & 0x7FU;
  UsagePoint point{.cpu_mhz = cpu_scale.value(code[0]), .memory = memory_scale.value(memory)};
  if (network != 0) point.network = network_scale.value(network);
  return point;
}

/// Puts the slot under way into its position, and leaves gaps behind it, until `slot` is under way.
template <std::size_t Slots>
void UsageHistory::advance(Ring<Slots>& ring, std::uint32_t slot) {
  if (slot <= ring.newest) return;
  if (slot - ring.newest >= Slots) {
    ring.slots.fill({});
  } else {
    ring.slots[ring.newest % Slots] = ring.sum.count == 0 ? Code{} : encode(ring.sum.point());
    for (auto gap = ring.newest + 1; gap != slot; ++gap)
      ring.slots[gap % Slots] = {};
  }
  ring.sum = {};
  ring.newest = slot;
}

void UsageHistory::move_to(Nanoseconds now) {
  const auto slot = slot_of(now, short_slot);
  if (!std::exchange(has_begun_, true)) {
    hour_.newest = slot;
    day_.newest = slot_of(now, long_slot);
  }
  if (slot <= hour_.newest) return;
  if (hour_.sum.count != 0) {
    advance(day_, slot_of(hour_.newest * short_slot, long_slot));
    day_.sum.add(hour_.sum.point());
  }
  advance(hour_, slot);
  advance(day_, slot_of(now, long_slot));
}

std::optional<double> UsageHistory::network_rate(const UsageSample& sample, Nanoseconds now) {
  const bool had = std::exchange(counts_network_, sample.network.has_value());
  if (!sample.network) return std::nullopt;
  const auto before = std::exchange(network_, *sample.network);
  const auto at = hundredths_of(now);
  const auto since = at - std::exchange(network_at_, at);
  // A count that goes back is another one: of a run, or of an interface that has come anew.
  if (!had || since == 0 || *sample.network < before) return std::nullopt;
  return static_cast<double>(*sample.network - before) * hundredths / since;
}

void UsageHistory::add(const UsageSample& sample, Nanoseconds now) {
  move_to(now);
  hour_.sum.add(
      {.cpu_mhz = sample.cpu_mhz, .memory = sample.memory, .network = network_rate(sample, now)});
}

void UsageHistory::restarted(Nanoseconds now) {
  counts_network_ = false;
  restart_seconds_[restarts_ % most_restarts]
      = static_cast<std::uint32_t>(now / std::chrono::seconds{1});
  ++restarts_;
}

std::vector<Nanoseconds> UsageHistory::restart_times() const {
  std::vector<Nanoseconds> times;
  const auto known = std::min<std::uint32_t>(restarts_, most_restarts);
  for (auto i = restarts_ - known; i != restarts_; ++i)
    times.emplace_back(std::chrono::seconds{restart_seconds_[i % most_restarts]});
  return times;
}

template <std::size_t Slots>
std::optional<UsagePoint> UsageHistory::at(const Ring<Slots>& ring, std::uint32_t slot) {
  if (slot > ring.newest || ring.newest - slot >= Slots) return std::nullopt;
  if (slot == ring.newest)
    return ring.sum.count == 0 ? std::nullopt : std::optional{ring.sum.point()};
  const auto code = ring.slots[slot % Slots];
  return code == Code{} ? std::nullopt : std::optional{decode(code)};
}

template <std::size_t Slots>
UsageSeries UsageHistory::series(const Ring<Slots>& ring, Nanoseconds interval, Nanoseconds now) {
  const auto last = std::max(slot_of(now, interval), ring.newest);
  UsageSeries series{.interval = interval};
  const auto first = last >= Slots ? last - static_cast<std::uint32_t>(Slots) + 1 : 0;
  for (auto slot = first; slot <= last; ++slot) {
    auto point = at(ring, slot);
    if (!point && series.points.empty()) continue;
    if (point) series.end = (slot + 1) * interval;
    series.points.push_back(std::move(point));
  }
  while (!series.points.empty() && !series.points.back())
    series.points.pop_back();
  return series;
}

UsageSeries UsageHistory::last_hour(Nanoseconds now) const {
  return series(hour_, short_slot, now);
}

UsageSeries UsageHistory::last_day(Nanoseconds now) const {
  // What the hour has under way belongs to the day's slot that is under way, or to one behind it.
  auto day = day_;
  if (hour_.sum.count != 0) {
    advance(day, slot_of(hour_.newest * short_slot, long_slot));
    day.sum.add(hour_.sum.point());
  }
  return series(day, long_slot, now);
}

UsagePercentile UsageHistory::p95(Nanoseconds now) const {
  std::vector<Weighed> cpu;
  std::vector<Weighed> memory;
  double all = 0;
  const auto take = [&](const UsagePoint& point, Nanoseconds slot) {
    const auto seconds = std::chrono::duration<double>{slot}.count();
    cpu.push_back({point.cpu_mhz, seconds});
    memory.push_back({point.memory, seconds});
    all += seconds;
  };
  const auto hour = last_hour(now);
  for (const auto& point : hour.points)
    if (point) take(*point, short_slot);
  const auto begin = hour.end - static_cast<std::int64_t>(hour.points.size()) * short_slot;
  const auto day = last_day(now);
  auto end = day.end - static_cast<std::int64_t>(day.points.size()) * long_slot;
  for (const auto& point : day.points) {
    end += long_slot;
    if (point && (hour.points.empty() || end <= begin)) take(*point, long_slot);
  }
  return {.cpu_mhz = weighed_p95(cpu, all),
          .memory = weighed_p95(memory, all),
          .over = std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>{all})};
}

}  // namespace nomad::workload
