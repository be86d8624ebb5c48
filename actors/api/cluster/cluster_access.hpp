// ClusterAccess: what the endpoints about the cluster itself ask: the log's members, the servers
// that there are, and what the leader makes of them. Of an agent with a server only.
#pragma once

#include <memory>

#include "actors/raft/raft_node.hpp"
#include "actors/server/autopilot.hpp"
#include "actors/server/members/membership.hpp"

namespace nomad::api {

struct ClusterAccess {
  using Log = actor::Interface<raft::RaftStatus(raft::GetStatus),
                               raft::Applied(raft::ChangeMember),
                               raft::Transferred(raft::TransferLeadership)>;
  using MembershipCommands
      = actor::Interface<server::membership::Joined(server::membership::Join),
                         server::membership::Done(server::membership::ForceLeave),
                         server::membership::KeyringChanged(server::membership::ChangeKeyring)>;
  using AutopilotQueries
      = actor::Interface<server::autopilot::Health(server::autopilot::GetHealth),
                         server::autopilot::Settings(server::autopilot::GetSettings)>;

  Log log;
  MembershipCommands membership;
  AutopilotQueries autopilot;
  std::shared_ptr<const server::MemberView> members;
};

}  // namespace nomad::api
