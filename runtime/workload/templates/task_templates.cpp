#include "runtime/workload/templates/task_templates.hpp"

#include <algorithm>
#include <utility>

namespace nomad::workload {

TaskTemplates::TaskTemplates(const std::vector<TemplateTerms>& terms) {
  all_.reserve(terms.size());
  for (const auto& one : terms)
    all_.push_back({.rule = one.rule, .quiet = {one.wait_min, one.wait_max}, .once = one.once});
}

void TaskTemplates::begin(bool is_running, bool anew) {
  holds_start_ = true;
  was_running_ = is_running;
  life_ = Life::starting;
  if (!is_running) {
    changed_.clear();
    plan_due_.reset();
  }
  for (std::size_t i = 0; i < all_.size(); ++i) {
    auto& one = all_[i];
    one.is_whole = one.is_whole && !anew;
    one.is_dirty = one.is_dirty || !one.is_whole;
    const bool has_script = one.rule.mode == templates::ChangeMode::script;
    if (has_script && one.rule.script.runs_first && !one.is_whole && !is_running) first_.insert(i);
  }
}

void TaskTemplates::started() {
  life_ = Life::running;
  holds_start_ = false;
}

void TaskTemplates::exited() {
  life_ = Life::down;
  holds_start_ = true;
  was_running_ = false;
  changed_.clear();
  plan_due_.reset();
}

void TaskTemplates::news(const templates::ClusterQuery& query, Time now) {
  for (auto& one : all_)
    if (std::ranges::find(one.asked, query) != one.asked.end()) changed(one, now);
}

void TaskTemplates::file_changed(std::size_t index, Time now) {
  if (index < all_.size()) changed(all_[index], now);
}

void TaskTemplates::changed(One& one, Time now) const {
  if (one.is_settled()) return;
  if (is_ready())
    one.quiet.change(now);
  else
    one.is_dirty = true;
}

void TaskTemplates::rendered(const std::vector<TemplateRendering>& done) {
  for (const auto index : std::exchange(rendering_, {}))
    if (std::ranges::find(done, index, &TemplateRendering::index) == done.end())
      all_[index].is_dirty = true;
  for (const auto& result : done) {
    auto& one = all_[result.index];
    one.asked = result.asked;
    one.missing = result.missing;
    one.awaited = result.awaited;
    if (result.missing.empty()) one.is_whole = true;
    if (one.is_settled()) one.asked.clear();
    if (result.written && acts_on_changes()) changed_.insert(result.index);
  }
}

void TaskTemplates::resume(const std::set<std::size_t>& which) {
  if (!was_running_) return;
  for (const auto index : which)
    if (index < all_.size()) changed_.insert(index);
}

std::set<std::size_t> TaskTemplates::unsettled() const {
  auto which = changed_;
  if (acting_) which.insert(acting_on_.begin(), acting_on_.end());
  return which;
}

std::vector<std::size_t> TaskTemplates::take_due(Time now) {
  std::vector<std::size_t> due;
  if (!rendering_.empty()) return due;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    auto& one = all_[i];
    const bool is_quiet = one.quiet.take(now);
    if (!one.is_dirty && !is_quiet) continue;
    one.is_dirty = false;
    due.push_back(i);
  }
  rendering_ = due;
  return due;
}

bool TaskTemplates::is_ready() const {
  return std::ranges::all_of(all_, &One::is_whole);
}

std::set<templates::ClusterQuery> TaskTemplates::followed() const {
  std::set<templates::ClusterQuery> queries;
  for (const auto& one : all_)
    queries.insert(one.asked.begin(), one.asked.end());
  return queries;
}

std::set<std::string> TaskTemplates::missing() const {
  std::set<std::string> names;
  for (const auto& one : all_)
    names.insert(one.missing.begin(), one.missing.end());
  return names;
}

/// Those of the first rendering wait for no splay.
std::optional<templates::ChangePlan> TaskTemplates::take_first_scripts() {
  if (first_.empty()) return std::nullopt;
  templates::ChangePlan plan;
  for (const auto index : std::exchange(first_, {}))
    plan.scripts.push_back(all_[index].rule.script);
  acting_on_.clear();
  acting_ = true;
  return plan;
}

std::optional<templates::VariableQuery> TaskTemplates::awaited_variable() const {
  for (const auto& one : all_)
    if (one.awaited) return one.awaited;
  return {};
}

std::optional<templates::ChangePlan> TaskTemplates::take_plan(Time now, std::uint64_t random) {
  if (life_ != Life::running || acting_) return std::nullopt;
  if (auto plan = take_first_scripts()) return plan;
  if (changed_.empty()) return std::nullopt;
  std::vector<templates::ChangeRule> rules;
  for (const auto index : changed_)
    rules.push_back(all_[index].rule);
  auto plan = templates::plan_changes(rules);
  if (!plan.is_empty() && !plan_due_) plan_due_ = now + templates::splay_delay(plan.splay, random);
  if (!plan.is_empty() && now < *plan_due_) return std::nullopt;
  acting_on_ = std::exchange(changed_, {});
  plan_due_.reset();
  if (plan.is_empty()) return std::nullopt;
  acting_ = true;
  return plan;
}

std::optional<TaskTemplates::Time> TaskTemplates::due() const {
  std::optional<Time> earliest = acting_ ? std::nullopt : plan_due_;
  if (!rendering_.empty()) return earliest;
  for (const auto& one : all_)
    if (const auto due = one.quiet.due(); due && (!earliest || *due < *earliest)) earliest = due;
  return earliest;
}

}  // namespace nomad::workload
