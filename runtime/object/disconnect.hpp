// What a group says about its allocations whose client is away: its `disconnect` block, or the
// three older fields that the block took the place of and that mean the same.
//
// Thread-safe: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/object/draft.hpp"
#include "schema/job.capnp.h"

namespace nomad {

/// Times are nanoseconds. The texts live as long as the group.
struct DisconnectRules {
  /// How long the servers await an allocation before it is lost; nothing: not at all.
  std::optional<std::int64_t> lost_after;
  /// After which time without servers its client ends it.
  std::optional<std::int64_t> stop_on_client_after;
  /// Something may come in its place. Otherwise it is awaited until it is back, however long, or
  /// until somebody stops it.
  bool replaces = true;
  /// Which one stays when it is back: "best_score" and so on; never empty.
  std::string_view reconcile = "best_score";

  /// Whether an allocation is unknown for a while when its client is away, rather than lost.
  bool tolerates_absence() const { return lost_after || !replaces; }
};

inline DisconnectRules disconnect_rules(schema::TaskGroup::Reader group) {
  DisconnectRules rules;
  if (group.getMaxClientDisconnect().isValue())
    rules.lost_after = group.getMaxClientDisconnect().getValue();
  if (group.getStopAfterClientDisconnect().isValue())
    rules.stop_on_client_after = group.getStopAfterClientDisconnect().getValue();
  rules.replaces = !group.getPreventRescheduleOnLost();
  if (!group.hasDisconnect()) return rules;
  const auto block = group.getDisconnect();
  const auto lost_after = block.getLostAfter();
  if (lost_after.isValue() && lost_after.getValue() != 0) rules.lost_after = lost_after.getValue();
  if (block.getStopOnClientAfter().isValue())
    rules.stop_on_client_after = block.getStopOnClientAfter().getValue();
  rules.replaces = !block.getReplace().isValue() || block.getReplace().getValue();
  if (block.getReconcile().size() > 0) rules.reconcile = view(block.getReconcile());
  return rules;
}

}  // namespace nomad
