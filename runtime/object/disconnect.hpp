// What a group says about its allocations whose client is away: its `disconnect` block, or the
// three older fields that the block took the place of and that mean the same.
//
// Thread-safe: pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/object/draft.hpp"
#include "schema/job.capnp.h"

namespace nomad {

/// Which one stays when a client is back: the allocation that was awaited, or what came in its
/// place.
enum class Reconcile : std::uint8_t {
  best_score,
  longest_running,
  keep_original,
  keep_replacement,
};

/// In the order of Reconcile.
inline constexpr std::array<std::string_view, 4> reconcile_words{
    "best_score", "longest_running", "keep_original", "keep_replacement"};

/// Nothing: there is no such word. No word is the first one.
constexpr std::optional<Reconcile> reconcile_named(std::string_view word) {
  if (word.empty()) return Reconcile::best_score;
  const auto* const found = std::ranges::find(reconcile_words, word);
  if (found == reconcile_words.end()) return std::nullopt;
  return static_cast<Reconcile>(found - reconcile_words.begin());
}

/// Times are nanoseconds.
struct DisconnectRules {
  /// How long the servers await an allocation before it is lost; nothing: not at all.
  std::optional<std::int64_t> lost_after;
  /// After which time without servers its client ends it.
  std::optional<std::int64_t> stop_on_client_after;
  /// Something may come in its place. Otherwise it is awaited until it is back, however long, or
  /// until somebody stops it.
  bool replaces = true;
  Reconcile reconcile = Reconcile::best_score;

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
  rules.reconcile = reconcile_named(view(block.getReconcile())).value_or(rules.reconcile);
  return rules;
}

/// Of the job's group of that name; what holds without a block if it has none.
inline DisconnectRules disconnect_rules(schema::Job::Reader job, std::string_view group_name) {
  for (const auto group : job.getTaskGroups())
    if (view(group.getName()) == group_name) return disconnect_rules(group);
  return {};
}

}  // namespace nomad
