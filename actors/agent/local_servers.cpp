#include "actors/agent/local_servers.hpp"

#include "actors/core/supervise.hpp"

namespace nomad::agent {
namespace {

struct LocalServersState {
  static constexpr const char* name = "local_servers";

  server::NodeSide own;
  NodeDoor others;
  std::shared_ptr<const raft::LeaderLease> lease;
  std::shared_ptr<const raft::LeaderView> leader;

  /// Whether the own server answers. One that does not lead any more refuses what it is to write.
  bool is_here(door::Serve serve) const {
    if (serve == door::Serve::leader_lease) return lease->holds();
    const auto known = leader->known();
    return known.leads || known.leader.empty();
  }
};

using LocalServersPointer = NodeDoor::stateful_pointer<LocalServersState>;

NodeDoor::behavior_type local_servers(LocalServersPointer self,
                                      const server::NodeSide& own,
                                      const NodeDoor& others,
                                      std::shared_ptr<const raft::LeaderLease> lease,
                                      std::shared_ptr<const raft::LeaderView> leader) {
  auto* state = &self->state;
  *state = {own, others, std::move(lease), std::move(leader)};
  return {[self, state](const door::Ask& msg) {
    const auto& question = door::info(msg);
    return state->is_here(question.serve) ? self->delegate(state->own.door_of(question.actor), msg)
                                          : self->delegate(state->others, msg);
  }};
}

}  // namespace

NodeDoor spawn_local_servers(const actor::Owner& owner,
                             const server::NodeSide& own,
                             const NodeDoor& others,
                             const raft::StartedRaft& log) {
  return actor::spawn<actor::Policy::restart>(owner, local_servers, own, others, log.lease,
                                              log.leader);
}

}  // namespace nomad::agent
