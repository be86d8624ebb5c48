#include "actors/agent/near_servers.hpp"

#include "actors/core/supervise.hpp"

namespace nomad::agent {
namespace {

namespace link = client::server_link;

struct NearState {
  static constexpr const char* name = "near_servers";

  client::ServerLink own;
  client::ServerLink others;
  std::shared_ptr<const raft::LeaderLease> lease;
  std::shared_ptr<const raft::LeaderView> leader;

  /// For what is written: a server that does not lead any more refuses it.
  const client::ServerLink& writer() const {
    const auto known = leader->known();
    return known.leads || known.leader.empty() ? own : others;
  }

  const client::ServerLink& reader() const { return lease->holds() ? own : others; }
};

client::ServerLink::behavior_type near_servers(client::ServerLink::stateful_pointer<NearState> self,
                                               const client::ServerLink& own,
                                               const client::ServerLink& others,
                                               std::shared_ptr<const raft::LeaderLease> lease,
                                               std::shared_ptr<const raft::LeaderView> leader) {
  self->state.own = own;
  self->state.others = others;
  self->state.lease = std::move(lease);
  self->state.leader = std::move(leader);
  return {
      [self](const link::RegisterNode& msg) { return self->delegate(self->state.writer(), msg); },
      [self](const link::Heartbeat& msg) { return self->delegate(self->state.writer(), msg); },
      [self](const link::WatchAllocs& msg) { return self->delegate(self->state.reader(), msg); },
      [self](const link::UpdateAllocs& msg) { return self->delegate(self->state.writer(), msg); },
  };
}

}  // namespace

client::ServerLink spawn_near_servers(actor::System& system,
                                      const client::ServerLink& own,
                                      const client::ServerLink& others,
                                      const raft::StartedRaft& log) {
  return actor::spawn(system, near_servers, own, others, log.lease, log.leader);
}

}  // namespace nomad::agent
