// Sets of a group's allocations, and how the reconciler sorts them: by what their nodes do, and by
// whether they failed and are to be replaced.
//
// May depend on: runtime/state. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "runtime/object/disconnect.hpp"
#include "runtime/scheduler/reconcile/reconcile.hpp"

namespace nomad::scheduler {

/// Sorted by address, which is by id: all entries are in one vector.
using AllocSet = std::vector<const AllocEntry*>;

AllocSet difference(const AllocSet& from, const AllocSet& without);
AllocSet united(const AllocSet& a, const AllocSet& b);
bool contains(const AllocSet& set, const AllocEntry* alloc);

/// The members for which `keep` holds.
AllocSet filtered(const AllocSet& set, const std::function<bool(const AllocEntry&)>& keep);

/// Ascending by the index in the name, then by id.
AllocSet by_name_index(AllocSet set);

/// Of an older version or an older incarnation than `job`.
bool is_older(const AllocEntry& alloc, const JobSpec& job);

/// Of this incarnation of `job`, and not of one of its name that was purged.
bool is_of(const AllocEntry& alloc, const JobSpec& job);

/// What its group says, in the version of the job that it runs.
DisconnectRules disconnect_rules_of(const AllocEntry& alloc);

/// Whether its group tolerates that its client is away, for a while or for ever.
bool supports_disconnect(const AllocEntry& alloc);

/// When the client was last noticed to be away; 0 if never.
std::int64_t last_unknown(const AllocEntry& alloc);

/// Away for longer than `lost_after` of its group's rules; never if that says nothing.
bool is_overdue(const AllocEntry& alloc, const DisconnectRules& rules, std::int64_t now);

/// So long that it is lost, which what nothing may replace never is.
bool is_expired(const AllocEntry& alloc, const DisconnectRules& rules, std::int64_t now);

/// Whether it was ended to be moved, by a drain or an operator, before its work was done. Unlike in
/// Nomad 1.6 such work does not count as done: it begins anew where there is room.
bool was_cut_short(const AllocEntry& alloc);

/// Was away and has not been dealt with since it is back.
bool needs_reconnect(const AllocEntry& alloc);

struct ByTaint {
  AllocSet untainted;
  AllocSet migrate;
  AllocSet lost;
  AllocSet disconnecting;
  AllocSet reconnecting;
  AllocSet ignore;
};

ByTaint filter_by_taint(const AllocSet& set, const TaintedNodes& tainted, std::int64_t now);

/// An allocation that is to be replaced, or declared lost, at a later time.
struct Delayed {
  const AllocEntry* alloc = nullptr;
  std::int64_t time = 0;
};

struct ByReschedule {
  AllocSet untainted;
  AllocSet now;
  std::vector<Delayed> later;
};

struct RescheduleInput {
  bool is_batch = false;
  bool disconnecting = false;  ///< The set is of disconnecting allocations, not of failed ones.
  std::int64_t now = 0;
  std::string_view eval_id;
  std::string_view active_deployment;  ///< Its id; empty if none is active.
};

ByReschedule filter_by_reschedule(const AllocSet& set, const RescheduleInput& input);

/// Those of `lost` that stop by themselves some time after their client lost contact and may still
/// run until then.
std::vector<Delayed> delayed_by_client_stop(const AllocSet& lost, std::int64_t now);

}  // namespace nomad::scheduler
