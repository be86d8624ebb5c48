// SystemConfig: CAF's configuration made from our options alone. CAF never sees argv or an ini
// file of the working directory.
#pragma once

#include <cstddef>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

namespace nomad::actor {

struct SystemOptions {
  /// Threads of the pool; 0 is one per core. Never fewer than two, so that one long handler does
  /// not stop everything else.
  std::size_t workers = 0;

  /// Messages an actor handles before its worker serves another one.
  std::size_t max_throughput = 50;
};

/// Work is shared from one queue rather than stolen: an idle process then sleeps, where stealing
/// workers poll. Make it, then `caf::actor_system system{config};`.
class SystemConfig : public caf::actor_system_config {
public:
  explicit SystemConfig(const SystemOptions& options = {});
};

}  // namespace nomad::actor
