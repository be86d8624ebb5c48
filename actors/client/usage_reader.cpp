#include "actors/client/usage_reader.hpp"

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

}  // namespace nomad::client
