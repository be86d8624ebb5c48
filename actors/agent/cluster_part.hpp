// ClusterPart: a server's ties to the rest of the cluster: what it serves to other servers and to
// client nodes, the forwarder, membership and autopilot. The link over which all that goes is
// given: the network's (rpc_setup.hpp), or a simulation's.
//
// Order: `listen` (what arrives is refused with "not ready"), then the log with `carrier()`, then
// `attach`, then `serve_nodes`. To stop: `leave` if the server goes for good, the log, then `stop`.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "actors/agent/rpc_setup.hpp"
#include "actors/core/asker.hpp"
#include "actors/core/latest.hpp"
#include "actors/raft/raft_node.hpp"
#include "actors/roles/node_door.hpp"
#include "actors/rpc/forwarder.hpp"
#include "actors/rpc/node_caller.hpp"
#include "actors/rpc/rights_link.hpp"
#include "actors/server/autopilot.hpp"
#include "actors/server/members/membership.hpp"
#include "actors/server/nodes/node_service.hpp"
#include "actors/server/regions/region_rows.hpp"
#include "actors/server/sealed_service.hpp"
#include "runtime/base/random.hpp"
#include "runtime/config/agent_config.hpp"
#include "runtime/identity/verify.hpp"
#include "runtime/state/store.hpp"

namespace nomad::agent {

struct ClusterOptions {
  std::string server_id;
  std::string http_address;  ///< As advertised.
  std::uint64_t random_seed = 0;
  std::chrono::nanoseconds dead_after = cluster::dead_after;
  std::shared_ptr<telemetry::IdentityCounters> callers = {};  ///< Null: nobody is counted.
};

class ClusterPart {
public:
  /// Serves what servers and client nodes ask over the link that `make_link` makes, and those who
  /// pass requests of the API on by `requests`.
  static Result<ClusterPart> listen(const actor::Owner& owner,
                                    const config::AgentConfig& config,
                                    const ClusterOptions& options,
                                    const api::RemoteRequests& requests,
                                    std::shared_ptr<state::Store> store,
                                    const MakeLink& make_link);

  ClusterPart(ClusterPart&&) noexcept;
  ~ClusterPart();

  /// For the log.
  const raft::Carrier& carrier() const { return carrier_; }

  /// Where other servers reach this one.
  const std::string& address() const { return address_; }

  /// The log is open: membership and autopilot begin.
  void attach(const actor::Owner& owner, const raft::StartedRaft& raft);

  /// Client nodes are served from now on.
  void serve_nodes(const server::NodeSide& nodes);

  const rpc::Forwarder& forwarder() const { return forwarder_; }

  /// Other servers' sealed commands are taken from now on.
  void serve_sealed(server::Writer writer) { sealed_->open(std::move(writer)); }

  /// Other regions are shown from now on what this one has of what holds in all.
  void serve_regions(const server::RegionRows& rows) { served_rows_.set(rows); }

  /// Identities of tasks are known by these keys from now on.
  void verify_by(identity::KeyOf keys) { identity_keys_.set(std::move(keys)); }

  const rpc::Transport& transport() const { return link_.transport; }

  /// Whoever asks this server for something, by whatever way, is identified by it.
  const std::shared_ptr<access::Authenticator>& authenticator() const { return authenticator_; }

  /// Who leads and which servers there are.
  const rpc::ClusterView& view() const { return view_; }

  /// The client node in this process is reached without a connection.
  void set_own_node(rpc::OwnNode node);

  /// Asks client nodes, wherever they are connected.
  const rpc::NodeCaller& node_caller() const { return node_caller_; }

  /// Who asks client nodes for this server; empty until the part is started.
  const actor::Latest<AskedNode>& asked_nodes() const { return asked_nodes_; }

  /// The servers of this region that seem alive, for client nodes.
  const server::KnownServers& known_servers() const { return known_servers_; }

  const server::Membership& membership() const { return membership_; }

  const server::Autopilot& autopilot() const { return autopilot_; }

  const std::shared_ptr<server::MemberView>& members() const { return members_; }

  /// Tells the others that this server goes for good, or that it has gone. Blocks for a second at
  /// most.
  void leave(actor::System& system, cluster::MemberStatus status);

  void stop();

private:
  ClusterPart();

  std::string address_;
  std::shared_ptr<state::Store> store_;
  std::optional<rpc::RightsLink> rights_;  ///< Asks the leader for tokens that have not come here.
  std::shared_ptr<access::Authenticator> authenticator_;
  std::shared_ptr<actor::Asker> asker_;  ///< For the handlers of the transport.

  // What these reach: not before `attach`, and no more after `stop`.
  actor::Latest<std::optional<raft::RaftInbox>> inbox_;
  actor::Latest<server::Membership> served_membership_;
  actor::Latest<std::shared_ptr<const raft::LeaderView>> leader_;
  actor::Latest<std::shared_ptr<const raft::LeaderLease>> lease_;
  actor::Latest<identity::KeyOf> identity_keys_;
  actor::Latest<rpc::Forwarder> served_forwarder_;
  actor::Latest<rpc::Transport> served_transport_;
  actor::Latest<rpc::OwnNode> own_node_;
  actor::Latest<AskedNode> asked_nodes_;
  actor::Latest<server::RegionRows> served_rows_;

  server::KnownServers known_servers_;
  std::optional<server::NodeService> nodes_;
  std::optional<server::SealedService> sealed_;
  Link link_;
  Random random_{0};
  rpc::ClusterView view_;
  rpc::Forwarder forwarder_;
  rpc::NodeCaller node_caller_;
  raft::Carrier carrier_;
  std::shared_ptr<server::MemberView> members_ = std::make_shared<server::MemberView>();
  server::MembershipActorOptions membership_options_;
  server::AutopilotOptions autopilot_options_;
  server::Membership membership_;
  server::Autopilot autopilot_;
};

}  // namespace nomad::agent
