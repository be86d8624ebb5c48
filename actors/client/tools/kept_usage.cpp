#include "actors/client/tools/kept_usage.hpp"

#include <algorithm>
#include <chrono>

#include "runtime/object/draft.hpp"

namespace nomad::client {
namespace {

constexpr float nothing_known = -1;

std::int64_t unix_of(Nanoseconds steady, workload::EventTime now) {
  return now.unix - (now.steady - steady).count();
}

void write_series(const workload::UsageSeries& from,
                  workload::EventTime now,
                  schema::door::UsageSeries::Builder to) {
  const auto seconds = [](Nanoseconds time) { return time / std::chrono::seconds{1}; };
  to.setInterval(static_cast<std::uint32_t>(seconds(from.interval)));
  to.setEnd(seconds(Nanoseconds{unix_of(from.end, now)}));
  const auto count = static_cast<unsigned>(from.points.size());
  auto cpu = to.initCpu(count);
  auto memory = to.initMemory(count);
  auto network = to.initNetwork(count);
  for (unsigned i = 0; i < count; ++i) {
    const auto& point = from.points[i];
    cpu.set(i, point ? static_cast<float>(point->cpu_mhz) : nothing_known);
    memory.set(i, point ? static_cast<float>(point->memory) : nothing_known);
    network.set(i, point && point->network ? static_cast<float>(*point->network) : nothing_known);
  }
}

void write_advice(const std::vector<workload::UsageAdvice>& from,
                  capnp::List<schema::door::UsageAdvice>::Builder to) {
  for (unsigned i = 0; i < to.size(); ++i) {
    to[i].setResource(text(from[i].resource));
    to[i].setUnit(text(from[i].unit));
    to[i].setReserved(from[i].reserved);
    to[i].setUsed(from[i].used);
    to[i].setSuggested(from[i].suggested);
    to[i].setText(text(from[i].text()));
  }
}

void write(const workload::UsageHistory& from,
           const workload::Reservation& reserved,
           workload::EventTime now,
           schema::door::UsageHistory::Builder to) {
  auto series = to.initSeries(2);
  write_series(from.last_hour(now.steady), now, series[0]);
  write_series(from.last_day(now.steady), now, series[1]);
  const auto used = from.p95(now.steady);
  to.setP95Cpu(used.cpu_mhz);
  to.setP95Memory(used.memory);
  to.setP95Seconds(static_cast<std::uint32_t>(used.over / std::chrono::seconds{1}));
  to.setRestarts(from.restarts());
  const auto restarts = from.restart_times();
  auto times = to.initRestartTimes(static_cast<unsigned>(restarts.size()));
  for (unsigned i = 0; i < times.size(); ++i)
    times.set(i, unix_of(restarts[i], now));
  const auto advice = workload::advise(used, reserved);
  write_advice(advice, to.initAdvice(static_cast<unsigned>(advice.size())));
}

}  // namespace

workload::Reservation reservation_of(AllocView alloc, std::string_view task) {
  const auto given = alloc.resources(task);
  if (!given) return {};
  const auto positive = [](std::int64_t value) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0));
  };
  const bool has_own = given->getCpu().getReservedCores().size() > 0;
  return {.cpu_mhz = has_own ? 0 : positive(given->getCpu().getCpuShares()),
          .memory_mib = positive(given->getMemory().getMemoryMb())};
}

door::NodeReply history_reply(const std::vector<KeptUsage>& kept, workload::EventTime now) {
  return door::make_node_reply([&](auto& reply) {
    auto to = reply.initUsageHistory(static_cast<unsigned>(kept.size()));
    for (unsigned i = 0; i < to.size(); ++i) {
      to[i].setTask(text(kept[i].task));
      to[i].setReservedCpu(kept[i].reserved.cpu_mhz);
      to[i].setReservedMemory(kept[i].reserved.memory_mib);
      if (kept[i].usage) write(*kept[i].usage, kept[i].reserved, now, to[i]);
    }
  });
}

}  // namespace nomad::client
