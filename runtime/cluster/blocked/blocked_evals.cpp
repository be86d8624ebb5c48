#include "runtime/cluster/blocked/blocked_evals.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

namespace nomad::cluster {
namespace {

bool contains(const std::vector<std::string>& sorted, std::string_view value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

std::uint64_t recency(const BlockedEval& eval) {
  return std::max(eval.create_index, eval.snapshot_index);
}

using Changes = std::map<std::string, std::uint64_t, std::less<>>;

void note(Changes& changes, std::string_view what, std::uint64_t index) {
  auto& changed = changes[std::string{what}];
  changed = std::max(changed, index);
}

bool has_changed(const Changes& changes, std::string_view what, std::uint64_t since) {
  const auto change = changes.find(what);
  return change != changes.end() && change->second > since;
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
  if (!eval.quota.empty()) by_quota_[eval.quota].insert(eval.id);
  if (eval.needs_nodes && eval.escaped) escaped_.insert(eval.id);
  if (eval.needs_nodes && !eval.escaped) captured_[eval.ineligible_classes].insert(eval.id);
  if (eval.needs_nodes && is_system(eval)) by_node_[eval.node_id].insert(eval.id);
  if (eval.waits_for_volumes) by_volumes_[eval.ns].insert(eval.id);
  if (eval.max_plan_attempts) max_plan_attempts_.insert(eval.id);
  count(eval, true);
  const std::string id = eval.id;
  evals_.emplace(id, std::move(eval));
  return std::nullopt;
}

/// Whether something that may help changed after the snapshot that `eval` was decided on (2).
bool BlockedEvals::missed_unblock(const BlockedEval& eval) const {
  if (last_change_of_all_ > eval.snapshot_index) return true;
  if (!eval.quota.empty() && has_changed(quota_changes_, eval.quota, eval.snapshot_index))
    return true;
  if (eval.waits_for_volumes
      && (has_changed(volume_changes_, eval.ns, eval.snapshot_index)
          || has_changed(volume_changes_, "", eval.snapshot_index)))
    return true;
  if (!eval.needs_nodes) return false;
  for (const auto& [node_class, index] : class_changes_) {
    if (index <= eval.snapshot_index) continue;
    if (eval.escaped || !contains(eval.ineligible_classes, node_class)) return true;
  }
  return is_system(eval) && has_changed(node_changes_, eval.node_id, eval.snapshot_index);
}

BlockedEval BlockedEvals::remove(const std::string& id) {
  auto node = evals_.extract(id);
  assert(node);
  BlockedEval eval = std::move(node.mapped());
  count(eval, false);
  slots_.erase(slot_of(eval.ns, eval.job_id, eval.node_id));
  escaped_.erase(id);
  max_plan_attempts_.erase(id);
  if (auto group = captured_.find(eval.ineligible_classes); group != captured_.end()) {
    group->second.erase(id);
    if (group->second.empty()) captured_.erase(group);
  }
  for (auto [groups, name] :
       {std::pair{&by_node_, &eval.node_id}, {&by_quota_, &eval.quota}, {&by_volumes_, &eval.ns}}) {
    const auto group = groups->find(*name);
    if (group == groups->end()) continue;
    group->second.erase(id);
    if (group->second.empty()) groups->erase(group);
  }
  return eval;
}

/// Adds what it asks for to the sums, or takes it away; a sum of nothing is forgotten.
void BlockedEvals::count(const BlockedEval& eval, bool is_added) {
  const auto add = [&](Demands& demands, const std::string& first, const std::string& second) {
    const auto demand = demands.try_emplace({first, second}).first;
    auto& [cpu, memory_mb, evals] = demand->second;
    cpu += is_added ? eval.cpu : -eval.cpu;
    memory_mb += is_added ? eval.memory_mb : -eval.memory_mb;
    evals += is_added ? 1 : -1;
    if (evals == 0) demands.erase(demand);
  };
  add(demand_of_jobs_, eval.ns, eval.job_id);
  for (const auto& datacenter : eval.datacenters)
    for (const auto& node_class : eval.node_classes)
      add(demand_of_classes_, datacenter, node_class);
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
  note(class_changes_, node_class, index);
  std::vector<std::string> ids{escaped_.begin(), escaped_.end()};
  for (const auto& [ineligible, members] : captured_) {
    if (!contains(ineligible, node_class)) ids.insert(ids.end(), members.begin(), members.end());
  }
  return remove_all(ids);
}

std::vector<BlockedEval> BlockedEvals::unblock_node(std::string_view node_id, std::uint64_t index) {
  note(node_changes_, node_id, index);
  auto group = by_node_.find(node_id);
  if (group == by_node_.end()) return {};
  return remove_all({group->second.begin(), group->second.end()});
}

std::vector<BlockedEval> BlockedEvals::unblock_quota(std::string_view quota, std::uint64_t index) {
  note_quota(quota, index);
  auto group = by_quota_.find(quota);
  if (group == by_quota_.end()) return {};
  return remove_all({group->second.begin(), group->second.end()});
}

void BlockedEvals::note_quota(std::string_view quota, std::uint64_t index) {
  note(quota_changes_, quota, index);
}

std::vector<BlockedEval> BlockedEvals::unblock_volumes(std::string_view ns, std::uint64_t index) {
  note(volume_changes_, ns, index);
  std::vector<std::string> ids;
  for (const auto& [own, members] : by_volumes_)
    if (ns.empty() || own == ns) ids.insert(ids.end(), members.begin(), members.end());
  return remove_all(ids);
}

void BlockedEvals::note_volumes(std::uint64_t index) {
  note(volume_changes_, "", index);
}

std::vector<BlockedEval> BlockedEvals::unblock_all(std::uint64_t index) {
  note_change(index);
  std::vector<std::string> ids;
  for (const auto& [id, eval] : evals_)
    ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return remove_all(ids);
}

void BlockedEvals::note_change(std::uint64_t index) {
  last_change_of_all_ = std::max(last_change_of_all_, index);
}

void BlockedEvals::note_change(std::string_view node_class,
                               std::string_view node_id,
                               std::uint64_t index) {
  note(class_changes_, node_class, index);
  note(node_changes_, node_id, index);
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

std::vector<std::string> BlockedEvals::take_duplicates(std::size_t limit) {
  const auto end
      = duplicates_.begin() + static_cast<std::ptrdiff_t>(std::min(limit, duplicates_.size()));
  std::vector<std::string> taken{std::make_move_iterator(duplicates_.begin()),
                                 std::make_move_iterator(end)};
  duplicates_.erase(duplicates_.begin(), end);
  return taken;
}

void BlockedEvals::prune(std::uint64_t index) {
  const auto is_old = [index](const auto& change) { return change.second <= index; };
  std::erase_if(class_changes_, is_old);
  std::erase_if(node_changes_, is_old);
  std::erase_if(quota_changes_, is_old);
  std::erase_if(volume_changes_, is_old);
}

void BlockedEvals::clear() {
  *this = BlockedEvals{};
}

BlockedEvals::Stats BlockedEvals::stats() const {
  Stats stats{.blocked = evals_.size(), .escaped = escaped_.size()};
  for (const auto& [quota, members] : by_quota_)
    stats.quota_limit += members.size();
  return stats;
}

}  // namespace nomad::cluster
