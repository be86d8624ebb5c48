// RegionRows: shows servers of other regions what this one has of what holds in all: the keys of a
// kind, page by page, and rows whole, their secrets opened for whoever seals them anew. And
// Region.Rows, the method by which it is asked, with a token that manages.
//
// The handler of the method runs on the threads of the transport. Of the actor:
//
// Owns:   questions that are held until their kind changes, or their time is over.
// Takes:  AskRows. It answers while the lease holds: another leader may have newer rows.
// Parent: server, restart. Who waits for an answer is told `unavailable`, and asks again.
// Ends:   by the parent's exit message.
#pragma once

#include <memory>
#include <string>

#include "actors/core/asker.hpp"
#include "actors/core/latest.hpp"
#include "actors/raft/proposer.hpp"
#include "actors/rpc/router.hpp"
#include "runtime/cluster/regions/shared_kinds.hpp"
#include "runtime/security/keyring.hpp"
#include "runtime/state/store.hpp"
#include "schema/rpc.capnp.h"

namespace nomad::server {

struct AskRows {
  using is_message = void;
  Object<schema::rpc::RegionRowsRequest> request;
};

struct RowsShown {
  using is_message = void;
  Object<schema::rpc::RegionRowsReply> reply;
};

using RegionRows = actor::Interface<RowsShown(AskRows)>;

/// Questions that are held at once; a region has one for each kind.
inline constexpr std::size_t most_held_rows = 512;

RegionRows spawn_region_rows(const actor::Owner& owner,
                             std::shared_ptr<state::Store> store,
                             std::shared_ptr<security::Keyring> keyring,
                             std::shared_ptr<const raft::LeaderLease> lease);

/// What the secrets of a kind's rows are sealed as.
inline std::string_view seal_of(const cluster::SharedKind& kind) {
  return kind.table == state::Table::acl_tokens ? security::token_seal : security::auth_method_seal;
}

/// Until `rows` is set everybody is told `unavailable`. `copies_from` is another region that this
/// one takes for the authoritative one, if it does: then nobody is shown its copies, which two
/// regions that each take the other for it would pass to and fro for ever.
void serve_region_rows(rpc::MethodRouter& router,
                       const std::shared_ptr<access::Authenticator>& authenticator,
                       const std::shared_ptr<actor::Asker>& asker,
                       const actor::Latest<RegionRows>& rows,
                       const std::string& copies_from);

}  // namespace nomad::server
