// GroupReconciler: the reconciler's work on one task group, step by step. Internal to reconcile.
//
// May depend on: runtime/state. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/scheduler/reconcile/alloc_sets.hpp"
#include "runtime/scheduler/reconcile/deployment_draft.hpp"
#include "runtime/scheduler/reconcile/name_index.hpp"
#include "runtime/scheduler/reconcile/reconcile.hpp"

namespace nomad::scheduler {

/// What the groups of one job share while they are reconciled.
struct ReconcileContext {
  const ReconcileInput& input;
  const UpdateDecider& decide;
  Random& random;
  Reconciliation& result;
  std::optional<DeploymentDraft> deployment;      ///< The current version's.
  std::optional<DeploymentDraft> old_deployment;  ///< Of an earlier version, or finished.
  bool deployment_is_new = false;                 ///< Made by this reconciliation.
  bool deployment_paused = false;
  bool deployment_failed = false;
  std::set<const AllocEntry*> disconnected;  ///< Got an unknown update.

  void stop(const AllocSet& set,
            std::string_view description,
            std::optional<schema::ClientStatus> status = {});
};

/// The evaluation of the job that decides what is due at `wait_until`.
Object<schema::Evaluation> make_followup(const ReconcileInput& input,
                                         const std::string& id,
                                         schema::EvalTrigger trigger,
                                         std::int64_t wait_until);

/// Stops everything of a group that the job does not want any more. Returns how many.
std::uint64_t stop_all(ReconcileContext& context, const AllocSet& all);

class GroupReconciler {
public:
  GroupReconciler(ReconcileContext& context, const GroupSpec& group);

  /// Returns whether the group has reached what its deployment is for.
  bool run(AllocSet all);

private:
  using Ids = std::map<const AllocEntry*, std::string>;

  // In the order of use.
  void begin_deployment_state();
  AllocSet drop_old_terminal(const AllocSet& all);
  AllocSet cancel_unneeded_canaries(AllocSet all);
  void sort_out(const AllocSet& all);
  void settle_reconnecting(const AllocSet& all);
  bool must_stop_reconnecting(const AllocEntry& alloc) const;
  void mark_reconnected(const AllocSet& kept);
  void settle_disconnecting();
  void settle_lost();
  void settle_succeeded();
  Ids make_followups(std::vector<Delayed> delayed, schema::EvalTrigger trigger);
  void mark_reschedule_later();
  AllocSet known_others() const;
  void compute_stop();
  void stop_surplus(std::int64_t remove);
  void stop_ended(std::size_t surplus);
  const AllocEntry* next_of(const AllocEntry& alloc);
  bool has_successor(const AllocEntry& alloc);
  bool has_stand_in(const AllocEntry& alloc);
  void drop_needless_reschedules();
  void compute_updates();
  AllocSet before_canaries() const;
  bool requires_canaries() const;
  void place_canaries();
  std::size_t under_provisioned() const;
  std::vector<PlaceRequest> compute_placements();
  PlaceRequest replacement_of(const AllocEntry* previous) const;
  std::size_t compute_replacements(bool ready,
                                   const std::vector<PlaceRequest>& place,
                                   std::size_t budget);
  void replace_despite_deployment(const std::vector<PlaceRequest>& place);
  void compute_destructive(std::size_t budget);
  void compute_migrations();
  void create_deployment(const AllocSet& all);
  bool is_complete(std::size_t placements, bool needs_canaries) const;

  bool is_canarying() const;
  std::string_view active_deployment() const;

  ReconcileContext& context_;
  const ReconcileInput& input_;
  const GroupSpec& group_;
  schema::UpdateStrategy::Reader update_;
  bool rolls_;  ///< The group has an update strategy that limits updates.
  DesiredUpdates& changes_;
  std::optional<NameIndex> names_;

  DeploymentGroupDraft state_;
  bool state_exists_ = false;

  AllocSet canaries_;
  AllocSet absent_canaries_;     ///< Their clients are away since now.
  AllocSet returning_canaries_;  ///< Their clients are back since now.
  AllocSet untainted_;
  AllocSet migrate_;
  AllocSet lost_;
  AllocSet missed_;  ///< Of these, those in whose place something is to come.
  AllocSet disconnecting_;
  AllocSet reconnecting_;
  AllocSet reschedule_now_;
  std::vector<Delayed> reschedule_later_;
  bool waits_for_clients_ = false;  ///< A lost allocation may still run for a while.
  Ids lost_followups_;
  AllocSet in_place_;
  AllocSet destructive_;
  std::map<std::string_view, const AllocEntry*> by_id_;  ///< All; made when it is first asked for.
  AllocSet stood_in_;  ///< Out of date and away, and their stand-ins are here.
};

}  // namespace nomad::scheduler
