#include "actors/core/system.hpp"

#include <algorithm>
#include <thread>

namespace nomad::actor {

SystemConfig::SystemConfig(const SystemOptions& options) {
  const std::size_t wanted
      = options.workers == 0 ? std::thread::hardware_concurrency() : options.workers;
  set("scheduler.policy", caf::atom("sharing"));
  set("scheduler.max-threads", std::max<std::size_t>(wanted, 2));
  set("scheduler.max-throughput", std::max<std::size_t>(options.max_throughput, 1));
}

}  // namespace nomad::actor
