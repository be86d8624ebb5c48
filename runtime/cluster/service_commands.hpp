// Registrations of services (Nomad's own service discovery) as commands for the log: what a client
// node may say of the services of its allocations, and what users may delete. Deciding code.
//
// A node speaks of its own allocations alone. That is judged by the state: of a registration the
// node's word counts for id, name, tags, address and port; the rest is the allocation's. Ids begin
// with their allocation's, so that no node can touch another's registration.
//
// May depend on: runtime/base, access, object, state.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cluster/node_commands.hpp"
#include "schema/service.capnp.h"

namespace nomad::cluster {

/// What one message may bring: a job has no more blocks, and several messages fit into an entry.
inline constexpr std::size_t most_services = 10'000;
inline constexpr std::size_t most_service_bytes = std::size_t{4} << 20;

/// What one message of a node changes. Empty: nothing.
struct ServiceChange {
  std::string ns;                          ///< Of what goes.
  std::string alloc_id;                    ///< Of what goes; empty: nothing goes.
  std::vector<std::string> gone_ids = {};  ///< Empty: all of the allocation.
  std::vector<Object<schema::ServiceRegistration>> registered = {};  ///< Whole rows.

  bool empty() const { return alloc_id.empty() && registered.empty(); }

  /// About what it takes in an entry.
  std::size_t bytes() const;
};

/// The registrations of one node, all or none. Refused, with the service's name: an unknown node
/// or allocation (`not_found`), another node's allocation (`permission_denied`), one that is to
/// stop or has ended and a node that was given up (`conflict`), what is malformed (`rejected`),
/// too many of them (`too_large`).
Result<ServiceChange> check_registrations(
    const state::Snapshot& snapshot,
    std::string_view node_id,
    const std::vector<Object<schema::ServiceRegistration>>& services);

/// Without `ids` all of the allocation. An allocation that is not there any more has no services:
/// nothing is to be done. Refused: an unknown node, another node's allocation, ids that are not of
/// the allocation.
Result<ServiceChange> check_deregistration(const state::Snapshot& snapshot,
                                           std::string_view node_id,
                                           std::string_view alloc_id,
                                           const std::vector<std::string>& ids);

/// What several messages came to, in their order, as one command.
Object<schema::Command> decide_service_changes(const std::vector<ServiceChange>& changes);

/// A deletion that a user asks for; `not_found` unless the service `name` has the registration.
struct ServiceDecision {
  access::Allowed allowed;
  Object<schema::Command> command;
};

Result<ServiceDecision> decide_service_delete(const state::Snapshot& snapshot,
                                              const access::Asking& asking,
                                              std::string_view ns,
                                              std::string_view name,
                                              std::string_view id);

}  // namespace nomad::cluster
