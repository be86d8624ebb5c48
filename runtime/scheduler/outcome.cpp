#include "runtime/scheduler/outcome.hpp"

#include <algorithm>
#include <vector>

#include "runtime/base/ids.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::scheduler {
namespace {

/// For what found no room: `failed` are its groups.
template <class Failed>
void fill_classes(schema::Evaluation::Builder eval,
                  const Eligibility& eligibility,
                  const Failed& failed) {
  eval.setEscapedComputedClass(eligibility.has_escaped());
  eval.setWaitsForVolumes(eligibility.wants_volumes());
  if (eligibility.has_escaped()) {
    eval.initClassEligibility(0);
    return;
  }
  std::vector<std::string_view> groups;
  for (const auto& [group, metrics] : failed)
    groups.push_back(group);
  const auto classes = eligibility.classes(groups);
  auto entries = eval.initClassEligibility(static_cast<unsigned>(classes.size()));
  unsigned next = 0;
  for (const auto& [node_class, eligible] : classes) {
    entries[next].setKey(text(node_class));
    entries[next++].setValue(eligible);
  }
}

}  // namespace

void EvalOutcome::begin(std::uint64_t snapshot_index) {
  snapshot_index_ = snapshot_index;
  queued_.clear();
  failed_.clear();
  kept_.reset();
}

void EvalOutcome::fail(std::string_view group, MetricBuilder metrics) {
  failed_.emplace(std::string{group}, std::move(metrics));
}

std::string_view EvalOutcome::exhausted_quota() const {
  const bool is_exhausted = std::ranges::any_of(
      failed_, [](const auto& group) { return group.second.has_quota_exhausted(); });
  return is_exhausted ? std::string_view{quota_} : std::string_view{};
}

bool EvalOutcome::coalesce(const GroupSpec& group) {
  const auto known = failed_.find(group.name);
  if (known == failed_.end()) return false;
  known->second.coalesce(group);
  return true;
}

void EvalOutcome::fill_failures(schema::Evaluation::Builder eval, const Failures& failed) {
  if (failed.empty()) {
    eval.disownFailedTgAllocs();
    return;
  }
  auto entries = eval.initFailedTgAllocs(static_cast<unsigned>(failed.size()));
  unsigned next = 0;
  for (const auto& [group, metrics] : failed) {
    const auto metric = metrics.build();
    entries[next].setKey(text(group));
    entries[next++].setValue(*metric);
  }
}

void EvalOutcome::fill_queued(schema::Evaluation::Builder eval) const {
  auto entries = eval.initQueuedAllocations(static_cast<unsigned>(queued_.size()));
  unsigned next = 0;
  for (const auto& [group, count] : queued_) {
    entries[next].setKey(text(group));
    entries[next++].setValue(count);
  }
}

Object<schema::Evaluation> EvalOutcome::make_blocked(const Eligibility& eligibility,
                                                     std::uint64_t snapshot_index,
                                                     std::int64_t now,
                                                     std::string_view node_id) {
  Draft<schema::Evaluation> draft;
  auto& blocked = *draft;
  const auto id = make_uuid(random_);
  if (blocked_id_.empty() && node_id.empty()) blocked_id_ = id;
  blocked.setId(text(id));
  blocked.setNamespace(eval().getNamespace());
  blocked.setPriority(eval().getPriority());
  blocked.setType(eval().getType());
  blocked.setTriggeredBy(schema::EvalTrigger::QUEUED_ALLOCS);
  blocked.setJobId(eval().getJobId());
  blocked.setJobModifyIndex(eval().getJobModifyIndex());
  blocked.setNodeId(text(node_id));
  blocked.setStatus(schema::EvalStatus::BLOCKED);
  blocked.setStatusDescription("created to place remaining allocations");
  blocked.setPreviousEval(eval().getId());
  blocked.setSnapshotIndex(snapshot_index);
  blocked.setCreateTime(now);
  blocked.setModifyTime(now);
  fill_classes(blocked, eligibility, failed_);
  fill_failures(blocked, kept_ ? *kept_ : failed_);
  blocked.setQuotaLimitReached(text(exhausted_quota()));
  return draft.freeze();
}

Object<schema::Evaluation> EvalOutcome::make_conflicted(std::uint64_t snapshot_index,
                                                        std::int64_t now) {
  Eligibility none;
  const auto base = make_blocked(none, snapshot_index, now);
  Draft<schema::Evaluation> draft{base};
  draft->setTriggeredBy(schema::EvalTrigger::MAX_PLAN_ATTEMPTS);
  draft->setStatusDescription("created due to placement conflicts");
  return draft.freeze();
}

Object<schema::Evaluation> EvalOutcome::finished(schema::EvalStatus status,
                                                 std::string_view description,
                                                 std::int64_t now) const {
  Draft<schema::Evaluation> draft{eval_};
  auto& done = *draft;
  done.setStatus(status);
  done.setStatusDescription(text(description));
  done.setDeploymentId(text(deployment_id_));
  done.setBlockedEval(text(blocked_id_));
  done.setSnapshotIndex(snapshot_index_);
  done.setModifyTime(now);
  fill_failures(done, failed_);
  fill_queued(done);
  return draft.freeze();
}

Object<schema::Evaluation> EvalOutcome::reblocked(const Eligibility& eligibility,
                                                  std::uint64_t snapshot_index,
                                                  std::int64_t now) const {
  Draft<schema::Evaluation> draft{eval_};
  auto& blocked = *draft;
  blocked.setStatus(schema::EvalStatus::BLOCKED);
  blocked.setSnapshotIndex(snapshot_index);
  blocked.setModifyTime(now);
  fill_classes(blocked, eligibility, failed_);
  fill_queued(blocked);
  // Why it was blocked at first stays its reason, but where a quota is: that wakes it or does not.
  if (!exhausted_quota().empty() || blocked.getQuotaLimitReached().size() != 0)
    fill_failures(blocked, failed_);
  blocked.setQuotaLimitReached(text(exhausted_quota()));
  return draft.freeze();
}

}  // namespace nomad::scheduler
