// EvalOutcome: what one evaluation comes to, and the objects that record it. Shared by the
// schedulers.
//
// May depend on: runtime/state. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/random.hpp"
#include "runtime/object/object.hpp"
#include "runtime/scheduler/placement/eligibility.hpp"
#include "runtime/scheduler/placement/metrics.hpp"
#include "schema/eval.capnp.h"

namespace nomad::scheduler {

class EvalOutcome {
public:
  /// `blocked_id` as an earlier attempt has written it.
  EvalOutcome(Object<schema::Evaluation> eval, Random& random, std::string blocked_id = {})
      : eval_{std::move(eval)}, random_{random}, blocked_id_{std::move(blocked_id)} {}

  schema::Evaluation::Reader eval() const { return *eval_; }

  bool was_blocked() const { return eval().getStatus() == schema::EvalStatus::BLOCKED; }

  /// Begins a new attempt on the state of `snapshot_index`: nothing is queued, nothing has failed.
  void begin(std::uint64_t snapshot_index);

  void set_queued(std::string_view group, std::int64_t count) {
    queued_[std::string{group}] = count;
  }

  void add_queued(std::string_view group, std::int64_t change) {
    queued_[std::string{group}] += change;
  }

  /// An allocation of the group was placed on no node. Only the first failure's metrics are kept,
  /// later ones are counted there.
  void fail(std::string_view group, MetricBuilder metrics);

  /// Whether the group has failed already; the next failure is only counted.
  bool coalesce(const GroupSpec& group);

  /// The blocked evaluation of a system job tells of this first node without room, not of how many
  /// follow: what has failed so far is kept for it.
  void keep_failures() { kept_ = failed_; }

  bool has_failures() const { return !failed_.empty(); }

  const std::map<std::string, MetricBuilder, std::less<>>& failures() const { return failed_; }

  /// The quota of the job's namespace, by its name.
  void set_quota(std::string_view name) { quota_ = name; }

  void set_deployment(std::string_view id) { deployment_id_ = id; }

  /// Makes the blocked evaluation that takes the rest of the work. `node_id` is for system jobs.
  Object<schema::Evaluation> make_blocked(const Eligibility& eligibility,
                                          std::uint64_t snapshot_index,
                                          std::int64_t now,
                                          std::string_view node_id = {});

  /// The same after too many conflicts.
  Object<schema::Evaluation> make_conflicted(std::uint64_t snapshot_index, std::int64_t now);

  /// The id of the blocked evaluation of an earlier attempt; empty if there is none.
  std::string_view blocked_id() const { return blocked_id_; }

  /// The blocked evaluation that was made has not been written; `written` is what was before.
  void forget_blocked(std::string_view written = {}) { blocked_id_ = written; }

  /// This evaluation as it ends. Queued counts are as they are after a full commit of the plan.
  Object<schema::Evaluation> finished(schema::EvalStatus status,
                                      std::string_view description,
                                      std::int64_t now) const;

  /// This evaluation, blocked again with newer knowledge.
  Object<schema::Evaluation> reblocked(const Eligibility& eligibility,
                                       std::uint64_t snapshot_index,
                                       std::int64_t now) const;

private:
  using Failures = std::map<std::string, MetricBuilder, std::less<>>;

  /// The quota, if something found no room in it.
  std::string_view exhausted_quota() const;
  static void fill_failures(schema::Evaluation::Builder eval, const Failures& failed);
  void fill_queued(schema::Evaluation::Builder eval) const;

  Object<schema::Evaluation> eval_;
  Random& random_;
  std::map<std::string, std::int64_t> queued_;
  Failures failed_;
  std::optional<Failures> kept_;
  std::uint64_t snapshot_index_ = 0;
  std::string blocked_id_;
  std::string deployment_id_;
  std::string quota_;
};

}  // namespace nomad::scheduler
