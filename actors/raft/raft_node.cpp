#include "actors/raft/raft_node.hpp"

#include "actors/core/supervise.hpp"
#include "actors/raft/node_state.hpp"

namespace nomad::raft {
namespace {

/// A callback that answers `promise`.
ProposalCallback answering(actor::Promise<Applied> promise) {
  return [promise](Result<Applied> outcome) mutable { actor::answer(promise, std::move(outcome)); };
}

NodeSelf::behavior_type raft_node(NodeState::Self self, std::shared_ptr<NodeParts> parts) {
  self->state.start(self, std::move(*parts));
  return {
      [self](Propose& msg) -> actor::Answer<Applied> {
        auto promise = self->make_response_promise<Applied>();
        std::vector<Proposal> proposals;
        proposals.push_back({std::move(msg.payload), answering(promise)});
        self->state.propose(std::move(proposals));
        return promise;
      },
      [self](const ReadIndex&) -> actor::Answer<ReadReady> {
        auto promise = self->make_response_promise<ReadReady>();
        self->state.read_index(promise);
        return promise;
      },
      [self](const GetStatus&) -> RaftStatus { return self->state.status(); },
      [self](const TakeSnapshot&) -> actor::Answer<SnapshotTaken> {
        auto promise = self->make_response_promise<SnapshotTaken>();
        self->state.take_snapshot(promise);
        return promise;
      },
      [self](const ChangeMember& msg) -> actor::Answer<Applied> {
        auto promise = self->make_response_promise<Applied>();
        self->state.change_member(msg.change, answering(promise));
        return promise;
      },
      [self](const TransferLeadership& msg) -> actor::Answer<Transferred> {
        auto promise = self->make_response_promise<Transferred>();
        self->state.transfer(msg.target, promise);
        return promise;
      },
      [self](const BootstrapCluster& msg) -> actor::Answer<Applied> {
        auto promise = self->make_response_promise<Applied>();
        self->state.bootstrap(msg.configuration, answering(promise));
        return promise;
      },
      [self](Incoming& msg) { self->state.receive(std::move(msg)); },
      [self](const PeerUnreachable& msg) { self->state.step(Unreachable{msg.peer}); },
      [self](DrainProposals) { self->state.drain(); },
      [self](TimeHasCome msg) { self->state.on_timer(msg.round); },
      [self](ContinueApply) { self->state.continue_apply(); },
      [self](log_writer::Written msg) { self->state.step(Persisted{msg.seq}); },
      [self](const log_writer::WriteFailed& msg) { self->state.stop(msg.reason, true); },
  };
}

}  // namespace

RaftNode spawn_raft_node(actor::System& system, NodeParts parts, bool detached) {
  auto shared = std::make_shared<NodeParts>(std::move(parts));
  if (detached) return actor::spawn_detached(system, raft_node, std::move(shared));
  return actor::spawn(system, raft_node, std::move(shared));
}

}  // namespace nomad::raft
