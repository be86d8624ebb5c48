#include "actors/agent/watcher.hpp"

#include "actors/core/supervise.hpp"

namespace nomad::agent {
namespace {

struct WatcherState {
  static constexpr const char* name = "watcher";
};

Watcher::behavior_type watcher(Watcher::stateful_pointer<WatcherState> self,
                               raft::RaftNode node,
                               std::function<void(const Error&)> on_fatal) {
  self->monitor(node);
  actor::on_down(self, [self, on_fatal](const actor::Down& down) {
    if (down.crashed) on_fatal(down.reason);
    self->quit();
  });
  return {[](Nothing) {}};
}

}  // namespace

Watcher spawn_watcher(actor::System& system,
                      const raft::RaftNode& node,
                      std::function<void(const Error&)> on_fatal) {
  return actor::spawn(system, watcher, node, std::move(on_fatal));
}

}  // namespace nomad::agent
