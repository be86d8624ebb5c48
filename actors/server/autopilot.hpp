// Autopilot: what a server does about the log's members by itself
// (runtime/cluster/members/autopilot.hpp): founds the cluster when all expected servers are there;
// on the leader, takes in new servers, promotes them, and lets go of those that are gone.
//
// Owns:   the health of the members. The settings are the state's, once an operator has set them.
// Takes:  Lead, MembersChanged, questions of operators, a timer.
// Parent: server, restart. It hears of members and leadership again.
// Ends:   by the parent's exit message.
#pragma once

#include <memory>
#include <string>

#include "actors/core/actor.hpp"
#include "actors/raft/raft_node.hpp"
#include "actors/server/leadership.hpp"
#include "actors/server/members/membership.hpp"
#include "runtime/cluster/members/autopilot.hpp"
#include "runtime/state/store.hpp"

namespace nomad::server {

namespace autopilot {

/// As of the last look, at most a second ago; `unavailable` when this server does not lead.
struct GetHealth {
  using is_message = void;
};

struct Health {
  using is_message = void;
  cluster::ClusterHealth cluster;
  std::chrono::nanoseconds now{0};  ///< By the clock of `ServerHealth::stable_since`.
};

struct GetSettings {
  using is_message = void;
};

/// What it goes by: what operators have set, or what the agent was told.
struct Settings {
  using is_message = void;
  Object<schema::AutopilotConfiguration> shown;
};

}  // namespace autopilot

/// As much of a raft_node as it needs.
using RaftMembers = actor::Interface<raft::RaftStatus(raft::GetStatus),
                                     raft::Applied(raft::ChangeMember),
                                     raft::Applied(raft::BootstrapCluster)>;

/// As much of the membership.
using MembershipLink = actor::Interface<void(membership::UseLog), void(membership::AddListener)>;

using Autopilot = actor::Interface<void(Lead),
                                   void(membership::MembersChanged),
                                   autopilot::Health(autopilot::GetHealth),
                                   autopilot::Settings(autopilot::GetSettings)>;

struct AutopilotOptions {
  std::string self;
  std::string region;
  cluster::AutopilotConfig config;           ///< Until operators set one.
  std::shared_ptr<state::Store> store = {};  ///< Where theirs is; empty: there is none.
  std::chrono::milliseconds interval{1'000};
  std::chrono::nanoseconds dead_after = cluster::dead_after;
};

Autopilot spawn_autopilot(const actor::Owner& owner,
                          const RaftMembers& raft,
                          const MembershipLink& membership,
                          AutopilotOptions options);

}  // namespace nomad::server
