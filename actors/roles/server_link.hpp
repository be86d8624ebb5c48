// ServerLink: what a client node asks of the servers, as a role. In a process with a server, an
// actor of that server plays it; across machines, the RPC layer does. The client knows only this.
//
// Rules every player keeps:
//   - Each request is answered: with its reply, or with an Error. `unavailable` means "no servers"
//     or "no leader": the client tries again. `not_found` on Heartbeat means "node not found": the
//     client registers anew. Anything else is tried again after its ordinary delay.
//   - Objects are immutable and shared; nobody changes one.
//   - The client sends at most one of each of RegisterNode, WatchAllocs, UpdateAllocs and
//   EmitEvents at
//     a time, and of each allocation one of RegisterServices and DeregisterServices, and one
//     AwaitPrevious, and of each query one WatchData.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "runtime/object/object.hpp"
#include "runtime/security/secret.hpp"
#include "runtime/template/cluster_query.hpp"
#include "schema/alloc.capnp.h"
#include "schema/job.capnp.h"
#include "schema/node.capnp.h"
#include "schema/service.capnp.h"
#include "schema/variable.capnp.h"

namespace nomad::client {

namespace server_link {

/// The node is known from now on and has a lease of `ttl`.
struct Registered {
  using is_message = void;
  std::uint64_t index = 0;
  std::chrono::milliseconds ttl{0};
};

/// Puts the whole node record: at the start, and whenever the client finds that it changed. A node
/// the servers know keeps its status, drain, eligibility and events; a new one is `initializing`
/// until its first heartbeat.
struct RegisterNode {
  using is_message = void;
  Object<schema::Node> node;
};

/// The client may stay silent for `ttl` from now on.
struct Lease {
  using is_message = void;
  std::chrono::milliseconds ttl{0};
  std::int64_t server_time = 0;  ///< Unix nanoseconds, to notice skewed clocks; 0: not given.
  /// The servers had given the node up and it is not ready yet: they wait for a report of all its
  /// allocations, and then for a heartbeat.
  bool awaits_reports = false;
};

/// Node.UpdateStatus with `ready`: the node lives. `Errc::not_found` when it is not registered.
struct Heartbeat {
  using is_message = void;
  std::string node_id;
};

/// An allocation of this node as the servers see it, and the version of its job that it runs.
struct AssignedAlloc {
  Object<schema::Allocation> alloc;
  Object<schema::Job> job;
};

/// What changed for this node. `complete`: `allocs` are all the allocations of the node, and those
/// not among them are forgotten by the servers (collected). Otherwise `allocs` are the ones whose
/// AllocModifyIndex is above the index asked with, and nothing was forgotten.
struct AssignedAllocs {
  using is_message = void;
  /// To ask with next. Of a set that is not complete, not above the one asked with: nothing is new.
  std::uint64_t index = 0;
  bool complete = false;
  std::vector<AssignedAlloc> allocs;
};

/// Asks what servers changed after `min_index`; held until there is something, or until `max_wait`
/// is over (then answered with `index == min_index` and no allocations). What the client itself
/// reported is no change: only AllocModifyIndex counts. `min_index` 0 is answered at once, with a
/// complete set, from a state that contains every write acknowledged so far.
struct WatchAllocs {
  using is_message = void;
  std::string node_id;
  std::uint64_t min_index = 0;
  std::chrono::milliseconds max_wait{300'000};
};

/// The updates are durable.
struct Updated {
  using is_message = void;
  std::uint64_t index = 0;
};

/// What the client says of its allocations; at least one, all of `node_id`. Refused (`conflict`)
/// while the servers take the node for down or disconnected: a heartbeat has to come first. Of each
/// only these fields are set: id, nodeId, clientStatus, clientDescription, taskStates,
/// deploymentStatus, networkStatus, modifyTime (Unix nanoseconds). Allocations that the servers do
/// not know are passed over.
struct UpdateAllocs {
  using is_message = void;
  std::string node_id;
  std::vector<Object<schema::Allocation>> allocs;
  bool may_wait = false;  ///< No ClientStatus has changed: it may be written together with others.
};

/// Services of this node's allocations, as Nomad's own service discovery shows them; all of them
/// are taken or none. What is registered already, and differs, is replaced. Of each only these
/// fields count: id (it begins with "_nomad-task-<allocation>-"), serviceName, allocId, tags,
/// address, port; the servers know the rest. At most 10,000 and 4 MiB.
///
/// `conflict`: the node is down or disconnected for the servers (a heartbeat has to come first), or
/// an allocation is to stop. `not_found`: an allocation is not known (any more). Answered when it
/// is durable.
///
/// The servers forget what a node registered when they give it up as down, and may have an older
/// set after a restore of their state. So whoever gets a lease that `awaits_reports` registers
/// again; who does so without need changes nothing.
struct RegisterServices {
  using is_message = void;
  std::string node_id;
  std::vector<Object<schema::ServiceRegistration>> services;
};

/// Services that are no more. The servers do it by themselves when an allocation has ended, is
/// collected, or its node is down. What is not there is passed over.
struct DeregisterServices {
  using is_message = void;
  std::string node_id;
  std::string alloc_id;
  std::vector<std::string> ids;  ///< Empty: all of the allocation.
};

/// The servers keep as many of a node's events, the newest.
inline constexpr std::size_t most_events = 10;

/// What happened on the node, the oldest first: subsystem, message, details and timestamp (Unix
/// nanoseconds) count. What the servers have already is passed over, so it may be sent again.
/// `not_found` when the node is not registered.
struct EmitEvents {
  using is_message = void;
  std::string node_id;
  std::vector<Object<schema::NodeEvent>> events;
};

/// How the drain of a node stands.
struct NodeDrain {
  using is_message = void;
  bool draining = false;
};

/// The node is about to leave: with `start` its allocations are to be moved away, and it stays
/// ineligible. Otherwise it asks whether that is done. `not_found` when the node is unknown.
struct DrainNode {
  using is_message = void;
  std::string node_id;
  bool start = false;
  std::chrono::nanoseconds deadline{0};  ///< Negative: at once; 0: none.
  bool ignore_system_jobs = false;
};

/// Asks how the allocation stands that `alloc_id`, one of this node's, replaces; held until that
/// has ended, is unknown or not known any more, or until `max_wait` is over. `not_found`,
/// `permission_denied`: `alloc_id` is not known, or another node's.
struct AwaitPrevious {
  using is_message = void;
  std::string node_id;
  std::string alloc_id;
  std::chrono::milliseconds max_wait{300'000};
};

struct Previous {
  using is_message = void;
  bool ended = false;  ///< False: `max_wait` is over.
  /// Of the node whose API gives out its ephemeral disk, if `alloc_id` wants that from elsewhere.
  std::string http_address{};
  bool tls = false;
  std::string migrate_token{};  ///< What that node gives it out for.
};

/// Asks for what a template of one of this node's tasks follows; held until the answer has another
/// digest than `known` (0: none, answered at once), or until `max_wait` is over. The newest
/// question of a node about the same thing counts: an older one is answered as if its time were
/// over.
///
/// `permission_denied`: the node can't prove itself. Otherwise it may read all, as in Nomad while
/// ACLs are off; workload identities are to narrow it down. `overloaded`: the node asks too much.
struct WatchData {
  using is_message = void;
  std::string node_id;
  templates::ClusterQuery query;
  std::uint64_t known = 0;
  std::chrono::milliseconds max_wait{300'000};
};

struct Data {
  using is_message = void;
  std::uint64_t digest = 0;  ///< `known`: `max_wait` is over, and nothing follows.
  std::vector<Object<schema::ServiceRegistration>> services{};
  std::vector<Object<schema::Variable>> variables{};  ///< At most one of Kind::variable.
  std::shared_ptr<const security::Secret> items{};    ///< What that one holds, encoded.
};

}  // namespace server_link

using ServerLink = actor::Interface<server_link::Registered(server_link::RegisterNode),
                                    server_link::Lease(server_link::Heartbeat),
                                    server_link::AssignedAllocs(server_link::WatchAllocs),
                                    server_link::Updated(server_link::UpdateAllocs),
                                    server_link::Updated(server_link::RegisterServices),
                                    server_link::Updated(server_link::DeregisterServices),
                                    server_link::Updated(server_link::EmitEvents),
                                    server_link::NodeDrain(server_link::DrainNode),
                                    server_link::Previous(server_link::AwaitPrevious),
                                    server_link::Data(server_link::WatchData)>;

}  // namespace nomad::client
