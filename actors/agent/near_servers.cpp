#include "actors/agent/near_servers.hpp"

#include "actors/core/supervise.hpp"

namespace nomad::agent {
namespace {

namespace link = client::server_link;

struct NearState {
  static constexpr const char* name = "near_servers";

  server::NodeSide own;
  client::ServerLink others;
  std::shared_ptr<const raft::LeaderLease> lease;
  std::shared_ptr<const raft::LeaderView> leader;

  /// Where it is written; a server that does not lead any more refuses it.
  bool writes_here() const {
    const auto known = leader->known();
    return known.leads || known.leader.empty();
  }
};

using NearPointer = client::ServerLink::stateful_pointer<NearState>;

/// Hands the question to `own` if it is answered here, else to the others.
template <class Own, class Message>
auto hand_on(NearPointer self, bool is_here, const Own& own, const Message& msg) {
  return is_here ? self->delegate(own, msg) : self->delegate(self->state.others, msg);
}

client::ServerLink::behavior_type near_servers(NearPointer self,
                                               const server::NodeSide& own,
                                               const client::ServerLink& others,
                                               std::shared_ptr<const raft::LeaderLease> lease,
                                               std::shared_ptr<const raft::LeaderView> leader) {
  auto* state = &self->state;
  *state = {own, others, std::move(lease), std::move(leader)};
  return {
      [self, state](const link::RegisterNode& msg) {
        return hand_on(self, state->writes_here(), state->own.tracker, msg);
      },
      [self, state](const link::Heartbeat& msg) {
        return hand_on(self, state->writes_here(), state->own.tracker, msg);
      },
      [self, state](const link::WatchAllocs& msg) {
        return hand_on(self, state->lease->holds(), state->own.endpoint, msg);
      },
      [self, state](const link::UpdateAllocs& msg) {
        return hand_on(self, state->writes_here(), state->own.endpoint, msg);
      },
      [self, state](const link::RegisterServices& msg) {
        return hand_on(self, state->writes_here(), state->own.endpoint, msg);
      },
      [self, state](const link::DeregisterServices& msg) {
        return hand_on(self, state->writes_here(), state->own.endpoint, msg);
      },
      [self, state](const link::EmitEvents& msg) {
        return hand_on(self, state->writes_here(), state->own.endpoint, msg);
      },
      [self, state](const link::DrainNode& msg) {
        return hand_on(self, state->writes_here(), state->own.endpoint, msg);
      },
      [self, state](const link::AwaitPrevious& msg) {
        return hand_on(self, state->lease->holds(), state->own.endpoint, msg);
      },
      [self, state](const link::WatchData& msg) {
        return hand_on(self, state->lease->holds(), state->own.data, msg);
      },
  };
}

}  // namespace

client::ServerLink spawn_near_servers(const actor::Owner& owner,
                                      const server::NodeSide& own,
                                      const client::ServerLink& others,
                                      const raft::StartedRaft& log) {
  return actor::spawn<actor::Policy::restart>(owner, near_servers, own, others, log.lease,
                                              log.leader);
}

}  // namespace nomad::agent
