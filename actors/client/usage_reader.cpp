#include "actors/client/usage_reader.hpp"

#include <algorithm>

#include "actors/core/supervise.hpp"
#include "runtime/host/host_usage_reader.hpp"

namespace nomad::client {
namespace {

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
      [self](usage::ReadHost) { return self->state.host->read(); },
      [self](const usage::ReadTasks& msg) {
        return usage::TaskUsages{self->state.processes->read(msg.tasks)};
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
