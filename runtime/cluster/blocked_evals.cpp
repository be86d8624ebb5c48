#include "runtime/cluster/blocked_evals.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace nomad::cluster {
namespace {

bool contains(const std::vector<std::string>& sorted, std::string_view value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

std::uint64_t recency(const BlockedEval& eval) {
  return std::max(eval.create_index, eval.snapshot_index);
}

bool is_system(const BlockedEval& eval) {
  return !eval.node_id.empty();
}

}  // namespace

BlockedEvals::Slot BlockedEvals::slot_of(std::string_view ns,
                                         std::string_view job_id,
                                         std::string_view node_id) {
  Slot slot{ns};
  slot.push_back('\0');
  slot.append(job_id).push_back('\0');
  return slot.append(node_id);
}

std::optional<BlockedEval> BlockedEvals::block(BlockedEval eval) {
  if (evals_.contains(eval.id)) return std::nullopt;
  const auto slot = slot_of(eval.ns, eval.job_id, eval.node_id);
  if (auto held = slots_.find(slot); held != slots_.end()) {
    if (recency(eval) < recency(evals_.at(held->second))) {
      duplicates_.push_back(std::move(eval.id));
      return std::nullopt;
    }
    duplicates_.push_back(held->second);
    remove(std::string{held->second});
  }
  if (missed_unblock(eval)) return eval;

  slots_.emplace(slot, eval.id);
  if (eval.escaped) {
    escaped_.insert(eval.id);
  } else {
    captured_[eval.ineligible_classes].insert(eval.id);
  }
  if (is_system(eval)) by_node_[eval.node_id].insert(eval.id);
  if (eval.max_plan_attempts) max_plan_attempts_.insert(eval.id);
  const std::string id = eval.id;
  evals_.emplace(id, std::move(eval));
  return std::nullopt;
}

/// Whether something that may help changed after the snapshot that `eval` was decided on (2).
bool BlockedEvals::missed_unblock(const BlockedEval& eval) const {
  for (const auto& [node_class, index] : class_changes_) {
    if (index <= eval.snapshot_index) continue;
    if (eval.escaped || !contains(eval.ineligible_classes, node_class)) return true;
  }
  if (is_system(eval)) {
    auto change = node_changes_.find(eval.node_id);
    if (change != node_changes_.end() && change->second > eval.snapshot_index) return true;
  }
  return false;
}

BlockedEval BlockedEvals::remove(const std::string& id) {
  auto node = evals_.extract(id);
  assert(node);
  BlockedEval eval = std::move(node.mapped());
  slots_.erase(slot_of(eval.ns, eval.job_id, eval.node_id));
  escaped_.erase(id);
  max_plan_attempts_.erase(id);
  if (auto group = captured_.find(eval.ineligible_classes); group != captured_.end()) {
    group->second.erase(id);
    if (group->second.empty()) captured_.erase(group);
  }
  if (auto group = by_node_.find(eval.node_id); group != by_node_.end()) {
    group->second.erase(id);
    if (group->second.empty()) by_node_.erase(group);
  }
  return eval;
}

std::vector<BlockedEval> BlockedEvals::remove_all(const std::vector<std::string>& ids) {
  std::vector<BlockedEval> removed;
  removed.reserve(ids.size());
  for (const auto& id : ids)
    removed.push_back(remove(id));
  return removed;
}

std::vector<BlockedEval> BlockedEvals::unblock_class(std::string_view node_class,
                                                     std::uint64_t index) {
  auto& changed = class_changes_[std::string{node_class}];
  changed = std::max(changed, index);
  std::vector<std::string> ids{escaped_.begin(), escaped_.end()};
  for (const auto& [ineligible, members] : captured_) {
    if (!contains(ineligible, node_class)) ids.insert(ids.end(), members.begin(), members.end());
  }
  return remove_all(ids);
}

std::vector<BlockedEval> BlockedEvals::unblock_node(std::string_view node_id, std::uint64_t index) {
  auto& changed = node_changes_[std::string{node_id}];
  changed = std::max(changed, index);
  auto group = by_node_.find(node_id);
  if (group == by_node_.end()) return {};
  return remove_all({group->second.begin(), group->second.end()});
}

std::vector<BlockedEval> BlockedEvals::unblock_failed() {
  return remove_all({max_plan_attempts_.begin(), max_plan_attempts_.end()});
}

void BlockedEvals::untrack(std::string_view ns, std::string_view job_id) {
  const auto prefix = slot_of(ns, job_id, {});
  std::vector<std::string> ids;
  for (auto it = slots_.lower_bound(prefix); it != slots_.end() && it->first.starts_with(prefix);
       ++it)
    ids.push_back(it->second);
  remove_all(ids);
}

std::vector<std::string> BlockedEvals::take_duplicates() {
  return std::exchange(duplicates_, {});
}

void BlockedEvals::prune(std::uint64_t index) {
  const auto is_old = [index](const auto& change) { return change.second <= index; };
  std::erase_if(class_changes_, is_old);
  std::erase_if(node_changes_, is_old);
}

void BlockedEvals::clear() {
  *this = BlockedEvals{};
}

BlockedEvals::Stats BlockedEvals::stats() const {
  return {.blocked = evals_.size(), .escaped = escaped_.size()};
}

}  // namespace nomad::cluster
