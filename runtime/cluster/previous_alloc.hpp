// What a client node may know of the allocation that one of its own replaces.
//
// Pure: a snapshot in, an answer out.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/state/store.hpp"

namespace nomad::cluster {

struct PreviousAlloc {
  std::string id;      ///< Empty: `alloc_id` replaces none.
  bool ended = false;  ///< Nothing of it runs, as far as the servers can know: `unknown` counts.
  /// Where its ephemeral disk is to be had, and for what; empty unless it is on another node and
  /// the group of `alloc_id` wants it migrated.
  std::string http_address{};
  bool tls = false;
  std::string migrate_token{};
};

/// Of the allocation that `alloc_id` replaces. `not_found`: there is no such allocation as
/// `alloc_id`; `permission_denied`: it is not of node `node_id`.
Result<PreviousAlloc> previous_alloc_of(const state::Snapshot& snapshot,
                                        std::string_view node_id,
                                        std::string_view alloc_id);

}  // namespace nomad::cluster
