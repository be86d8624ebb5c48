// What the state says of credentials: the part of the Authenticator (runtime/access) that a server
// answers by itself. Pure.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "runtime/access/authenticator.hpp"
#include "runtime/access/moment.hpp"
#include "runtime/access/policy/rights_cache.hpp"
#include "runtime/state/snapshot.hpp"

namespace nomad::state {
class Store;
}

namespace nomad::cluster {

/// The newest index by which something has changed that `stored_rights` gave somebody. A new token
/// changes nothing of what others have.
std::uint64_t stored_rights_index(const state::Snapshot& state);

/// What a token gives, or "", which is what everyone may do: all of a management token, else the
/// policies that the token and its roles name, as far as there are any. `permission_denied` when it
/// is none, or has expired. A policy of everyone's that cannot be read gives nothing. Policies are
/// judged as they are in `state`, so that what was changed counts with the next look; `cache` has
/// those that were read, and what sets of them give.
Result<access::Grant> stored_rights(const state::Snapshot& state,
                                    std::string_view token,
                                    access::RightsCache& cache,
                                    const access::Moment& now);

/// A task on a node, as the node names it.
struct TaskOfNode {
  std::string node_id{};
  std::string alloc_id{};
  std::string task{};

  auto operator<=>(const TaskOfNode&) const = default;
};

/// What a task may do by what it is: read what is its own, and what the policies give that are
/// attached to its job (a child's: the parent), group or itself. Nothing where its allocation is
/// not on that node, or has ended there. `corrupt`, or why it is not known, as `stored_rights`.
Result<access::RightsRef> rights_of_task(const state::Snapshot& state,
                                         const TaskOfNode& task,
                                         access::RightsCache& cache);

/// Whether `secret` is that of the node. Never of one that the state does not know.
bool is_secret_of_node(const state::Snapshot& state,
                       std::string_view node_id,
                       std::string_view secret);

/// These, of the newest state in `store`. A token that is not in it may be known to the leader all
/// the same: unless `knows_all` says that nothing is missing here, only others can say that it is
/// none. Empty: nothing ever is. `now` is the clock that tokens end by.
access::Lookup lookup_in(std::shared_ptr<const state::Store> store,
                         std::function<bool()> knows_all = {},
                         std::function<access::Moment()> now = &access::Moment::now);

}  // namespace nomad::cluster
