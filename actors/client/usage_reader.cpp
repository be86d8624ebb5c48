#include "actors/client/usage_reader.hpp"

#include <algorithm>

#include "actors/core/supervise.hpp"
#include "runtime/host/host_usage_reader.hpp"

namespace nomad::client {
namespace {

client_api::MemoryUsage to_api(const host::MemoryUsage& from) {
  return {.rss = from.rss,
          .cache = from.cache,
          .swap = from.swap,
          .mapped_file = from.mapped_file,
          .usage = from.usage,
          .max_usage = from.max_usage,
          .kernel_usage = from.kernel_usage,
          .kernel_max_usage = from.kernel_max_usage,
          .measured = from.measured};
}

client_api::CpuUsage to_api(const host::CpuUsage& from) {
  return {.system_mode = from.system_mode,
          .user_mode = from.user_mode,
          .total_ticks = from.total_ticks,
          .percent = from.percent,
          .throttled_periods = from.throttled_periods,
          .throttled_time = from.throttled_time,
          .measured = from.measured};
}

client_api::TaskUsage to_api(const host::TaskUsage& from) {
  client_api::TaskUsage to{.memory = to_api(from.memory),
                           .cpu = to_api(from.cpu),
                           .timestamp = from.timestamp,
                           .processes = {}};
  for (const auto& process : from.processes)
    to.processes.push_back(
        {.pid = process.pid, .memory = to_api(process.memory), .cpu = to_api(process.cpu)});
  return to;
}

client_api::DiskUsage to_api(const host::DiskUsage& from) {
  return {.device = from.device,
          .mountpoint = from.mountpoint,
          .size = from.size,
          .used = from.used,
          .available = from.available,
          .used_percent = from.used_percent,
          .inodes_used_percent = from.inodes_used_percent};
}

client_api::HostUsage to_api(const host::HostUsage& from) {
  client_api::HostUsage to{.memory_total = from.memory.total,
                           .memory_available = from.memory.available,
                           .memory_used = from.memory.used,
                           .memory_free = from.memory.free,
                           .cpu = {},
                           .cpu_ticks_consumed = from.cpu_ticks_consumed,
                           .disks = {},
                           .alloc_dir = to_api(from.alloc_dir),
                           .uptime_seconds = from.uptime_seconds,
                           .timestamp = from.timestamp};
  for (const auto& core : from.cpu)
    to.cpu.push_back({.cpu = core.cpu,
                      .user = core.user,
                      .system = core.system,
                      .idle = core.idle,
                      .total = core.total_percent});
  for (const auto& disk : from.disks)
    to.disks.push_back(to_api(disk));
  return to;
}

/// Whoever asks for all tasks of the node does so by as many messages, within less than that.
constexpr std::chrono::milliseconds fresh_for{500};

struct ReaderState {
  static constexpr const char* name = "usage_reader";

  std::optional<host::HostUsageReader> host;
  std::optional<host::ProcessUsageReader> processes;
};

UsageReader::behavior_type usage_reader(UsageReader::stateful_pointer<ReaderState> self,
                                        const UsageReaderOptions& options) {
  self->state.host.emplace(host::HostUsageReader::Options{
      .alloc_dir = options.alloc_dir, .total_compute_mhz = options.total_compute_mhz});
  self->state.host->read();  // where the first shares are counted from
  self->state.processes.emplace(options.total_compute_mhz, options.cores, fresh_for);
  return {
      [self](usage::ReadHost) { return to_api(self->state.host->read()); },
      [self](const usage::ReadTasks& msg) {
        usage::TaskUsages answer;
        for (const auto& usage : self->state.processes->read(msg.tasks))
          answer.usages.push_back(to_api(usage));
        return answer;
      },
      [self](const usage::ForgetTask& msg) { self->state.processes->forget(msg.key); },
  };
}

}  // namespace

UsageReader spawn_usage_reader(const actor::Owner& owner, const UsageReaderOptions& options) {
  return actor::spawn_detached<actor::Policy::restart>(owner, usage_reader, options);
}

namespace client_api {

TaskUsage sum(const AllocUsage& usage) {
  TaskUsage total;
  const auto add_measured = [](std::vector<std::string>& to, const std::vector<std::string>& from) {
    for (const auto& name : from)
      if (std::find(to.begin(), to.end(), name) == to.end()) to.push_back(name);
  };
  for (const auto& [name, task] : usage.tasks) {
    total.memory.rss += task.memory.rss;
    total.memory.cache += task.memory.cache;
    total.memory.swap += task.memory.swap;
    total.memory.mapped_file += task.memory.mapped_file;
    total.memory.usage += task.memory.usage;
    total.memory.max_usage += task.memory.max_usage;
    total.memory.kernel_usage += task.memory.kernel_usage;
    total.memory.kernel_max_usage += task.memory.kernel_max_usage;
    add_measured(total.memory.measured, task.memory.measured);
    total.cpu.system_mode += task.cpu.system_mode;
    total.cpu.user_mode += task.cpu.user_mode;
    total.cpu.total_ticks += task.cpu.total_ticks;
    total.cpu.percent += task.cpu.percent;
    total.cpu.throttled_periods += task.cpu.throttled_periods;
    total.cpu.throttled_time += task.cpu.throttled_time;
    add_measured(total.cpu.measured, task.cpu.measured);
    total.timestamp = std::max(total.timestamp, task.timestamp);
  }
  return total;
}

}  // namespace client_api
}  // namespace nomad::client
