#include "runtime/scheduler/explain/group_pass.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/sorting/sort_stably.hpp"

namespace nomad::scheduler::explain {
namespace {

/// How often it is asked whether the answer is still wanted.
constexpr std::uint64_t nodes_between_questions = 256;

/// What belongs together in one suggestion.
constexpr std::size_t most_reasons_changed = 3;

/// Nodes of a class that are named, and values that are.
constexpr std::size_t most_named = 3;

NamedNode named(schema::Node::Reader node) {
  return {copy(node.getId()), copy(node.getName())};
}

const GroupSpec& group_in(const Ground& ground, std::string_view name) {
  return *ground.job().find(name);  // of the same job, whose groups no change touches
}

bool is_live(const state::AllocRow& row, schema::Job::Reader job, std::string_view group) {
  return !row.terminal() && row.alloc->task_group() == group
         && row.alloc->job_create_index() == job.getCreateIndex();
}

std::int64_t queued_of(const state::Snapshot& state,
                       schema::Job::Reader job,
                       std::string_view group) {
  const auto summary = state.job_summary(view(job.getNamespace()), view(job.getId()));
  if (!summary) return 0;
  for (const auto entry : summary->getSummary())
    if (view(entry.getKey()) == group) return entry.getValue().getQueued();
  return 0;
}

}  // namespace

bool WorkBudget::is_spent() {
  if (left_ == 0) return true;
  if (!goes_on_ || ++asked_ % nodes_between_questions != 0 || goes_on_()) return false;
  left_ = 0;
  return true;
}

GroupPass::GroupPass(const state::Snapshot& state,
                     const Object<schema::Job>& job,
                     const std::vector<state::AllocRef>& rows,
                     const state::AllocRef& without,
                     const GroupSpec& group,
                     std::string alloc_name,
                     const Question& question,
                     WorkBudget& budget)
    : state_{state},
      job_{job},
      rows_{rows},
      without_{without},
      question_{question},
      budget_{budget},
      ground_{state, job, rows, without},
      judge_{ground_, group_in(ground_, group.name), std::move(alloc_name)} {
  look();
}

void GroupPass::look() {
  for (auto cursor = state_.nodes_map().first(); cursor.valid(); cursor.next()) {
    if (budget_.is_spent()) break;
    const auto& node = cursor.value();
    std::uint64_t work = 0;
    auto verdict = judge_.judge(node, false, work);
    budget_.spend(work);
    ++looked_at_;
    if (verdict.fits())
      fitting_.push_back({&node, verdict.selection->normalized, verdict.selection->score,
                          verdict.selection->preempted.size()});
    else
      folds_.add(node, std::move(verdict));
  }
  // Who needs nobody's end comes first, as the schedulers have it. Nodes come in the order of ids.
  sort_stably(fitting_, [](const Fitting& left, const Fitting& right) {
    const bool is_left_free = left.preempted == 0;
    const bool is_right_free = right.preempted == 0;
    if (is_left_free != is_right_free) return is_left_free;
    return left.normalized > right.normalized;
  });
}

Candidate GroupPass::candidate(const Fitting& fitting) const {
  Candidate shown{named(**fitting.node), 0, fitting.normalized, fitting.score, fitting.preempted};
  if (ground_.options().is_system) return shown;
  const auto is_better = [&fitting](const Fitting& other) {
    if ((other.preempted == 0) != (fitting.preempted == 0)) return other.preempted == 0;
    return other.normalized > fitting.normalized;
  };
  shown.rank
      = 1
        + static_cast<std::size_t>(std::partition_point(fitting_.begin(), fitting_.end(), is_better)
                                   - fitting_.begin());
  return shown;
}

AskedNode GroupPass::ask(const Object<schema::Node>& node) {
  std::uint64_t work = 0;
  const auto verdict = judge_.judge(node, true, work);
  budget_.spend(work);
  AskedNode asked{.node = named(*node)};
  for (const auto id : verdict.against)
    asked.reasons.push_back(describe(judge_, id, node, verdict.amounts, question_.may_name));
  if (!verdict.fits()) return asked;
  const auto known = std::ranges::find_if(fitting_, [&node](const Fitting& one) {
    return view((*one.node)->getId()) == view(node->getId());
  });
  const Fitting now{&node, verdict.selection->normalized, verdict.selection->score,
                    verdict.selection->preempted.size()};
  asked.candidate = candidate(known == fitting_.end() ? now : *known);
  return asked;
}

NodeClass GroupPass::described(const Fold& fold) const {
  NodeClass shown{.count = fold.count};
  for (const auto& one : fold.examples)
    if (shown.nodes.size() < most_named) shown.nodes.push_back(named(**one.node));
  for (const auto id : fold.against) {
    const auto& first = fold.examples.front();
    auto reason = describe(judge_, id, *first.node, first.amounts, question_.may_name);
    if (is_amount(obstacle_of(id)) && fold.has_amounts) {
      reason.least_free = fold.least_free[amount_index(obstacle_of(id))];
      reason.most_free = fold.most_free[amount_index(obstacle_of(id))];
    }
    for (std::size_t i = 1; i < fold.examples.size(); ++i) {
      const auto& one = fold.examples[i];
      const auto other = describe(judge_, id, *one.node, one.amounts, question_.may_name);
      for (const auto& value : other.values) {
        if (std::ranges::find(reason.values, value) != reason.values.end()) continue;
        if (reason.values.size() < most_named)
          reason.values.push_back(value);
        else
          reason.has_more = true;
      }
    }
    // Of the rest nobody has looked at the values.
    if (fold.count > fold.examples.size() && reason.values.size() > 1) reason.has_more = true;
    shown.reasons.push_back(std::move(reason));
  }
  return shown;
}

GroupAnswer GroupPass::answer(const Object<schema::Node>& asked) {
  const auto& group = judge_.group();
  GroupAnswer out{.name = std::string{group.name}, .count = group.count};
  for (const auto& row : rows_)
    if (is_live(*row, *job_, group.name)) ++out.live;
  out.queued = queued_of(state_, *job_, group.name);
  out.nodes = state_.nodes_map().size();
  out.looked_at = looked_at_;
  out.fitting = fitting_.size();
  out.preempting = static_cast<std::size_t>(
      std::ranges::count_if(fitting_, [](const Fitting& one) { return one.preempted > 0; }));
  for (std::size_t i = 0; i < fitting_.size() && i < most_candidates; ++i)
    out.best.push_back(candidate(fitting_[i]));
  const auto folds = folds_.ordered();
  for (const auto* fold : folds) {
    if (out.refused.size() < most_classes) {
      out.refused.push_back(described(*fold));
      continue;
    }
    ++out.other_classes;
    out.other_nodes += fold->count;
  }
  out.quota = quota_without_room();
  if (asked) out.asked = ask(asked);
  suggest(asked, out);
  return out;
}

/// What of the quota the group is too much for, on any node, or on the best one.
std::vector<std::string> GroupPass::quota_without_room() {
  if (state_.quota_of(view(job_->getNamespace())).empty()) return {};
  Ground bound{state_, job_, rows_, without_};
  bound.bind(question_.region);
  if (bound.proposal().quota() == nullptr) return {};
  const auto& group = group_in(bound, judge_.group().name);
  MetricBuilder metrics;
  if (bound.selector().is_over_quota(group, metrics)) return metrics.quota_exhausted();
  if (fitting_.empty()) return {};
  SelectRequest request;
  request.alloc_name = judge_.alloc_name();
  if (bound.selector().fit_on(*fitting_.front().node, group, request, metrics)) return {};
  return metrics.quota_exhausted();
}

Ground* GroupPass::trial_of(const Change& change) {
  const auto known = trials_.find(change.of_job.empty() ? std::string{} : change.text);
  if (known != trials_.end()) return known->second.get();
  if (trials_.size() == most_trials) return nullptr;
  auto trial = std::make_unique<Ground>(state_, changed(job_, change), rows_, without_);
  return trials_.emplace(change.of_job.empty() ? std::string{} : change.text, std::move(trial))
      .first->second.get();
}

/// Places one more with the change that removes the reasons; told if it was placed.
bool GroupPass::try_change(const Refused& refused,
                           std::span<const ReasonId> against,
                           std::vector<Suggestion>& out) {
  const auto change = change_for(judge_, against, refused);
  if (!change) return false;
  const auto is_told = [&](const Suggestion& told) {
    const bool is_same_node = told.node.id == view((*refused.node)->getId());
    return told.text == change->text && (!told.of_node || is_same_node);
  };
  if (std::ranges::any_of(out, is_told)) return true;
  auto* trial = trial_of(*change);
  if (trial == nullptr) return false;
  budget_.spend(judge_.constraints().size() + rows_.size() + 1);
  const auto& group = group_in(*trial, judge_.group().name);
  // A ground keeps nodes by their ids, and a changed one is of this try alone.
  if (!change->of_node.empty()) {
    Ground alone{state_, trial->job().object(), rows_, without_};
    if (!alone.place_on(changed(*refused.node, *change), group_in(alone, group.name),
                        judge_.alloc_name()))
      return false;
  } else if (!trial->place_on(*refused.node, group, judge_.alloc_name())) {
    return false;
  }
  const bool tells_of_nodes = std::ranges::any_of(against, [](ReasonId id) {
    const auto what = obstacle_of(id);
    return is_amount(what) || what == Obstacle::node_pool || what == Obstacle::datacenter
           || what == Obstacle::distinct_property;
  });
  out.push_back({change->text, named(**refused.node), !change->of_node.empty(), tells_of_nodes});
  return true;
}

void GroupPass::suggest_for(const Fold& fold, std::vector<Suggestion>& out) {
  if (fold.against.size() > most_reasons_changed) return;
  for (const auto& refused : fold.nearest)
    if (budget_.is_spent() || try_change(refused, fold.against, out)) return;
}

void GroupPass::suggest_for(const Object<schema::Node>& asked, std::vector<Suggestion>& out) {
  std::uint64_t work = 0;
  const auto verdict = judge_.judge(asked, true, work);
  if (!verdict.fits()) try_change({&asked, verdict.amounts}, verdict.against, out);
}

void GroupPass::suggest(const Object<schema::Node>& asked, GroupAnswer& answer) {
  if (asked) suggest_for(asked, answer.suggestions);
  if (!fitting_.empty()) return;
  auto folds = folds_.ordered();
  sort_stably(folds, [](const Fold* left, const Fold* right) {
    if (left->against.size() != right->against.size())
      return left->against.size() < right->against.size();
    return reach_of(left->against) < reach_of(right->against);
  });
  for (const auto* fold : folds) {
    if (answer.suggestions.size() >= most_suggestions || trials_.size() == most_trials) break;
    suggest_for(*fold, answer.suggestions);
  }
  // With as many as there are nothing has to be placed.
  if (!ground_.options().is_system && answer.live > 0 && answer.live < answer.count)
    answer.suggestions.push_back(
        {fmt::format("count {} -> {}", answer.count, answer.live), {}, false, false});
}

}  // namespace nomad::scheduler::explain
