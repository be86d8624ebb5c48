// GroupReconciler: which allocations are too many.
#include <algorithm>

#include "runtime/object/draft.hpp"
#include "runtime/scheduler/reconcile/group_reconciler.hpp"

namespace nomad::scheduler {
namespace {

using schema::ClientStatus;

std::vector<std::string_view> names_in(const AllocSet& set) {
  std::vector<std::string_view> names;
  names.reserve(set.size());
  for (const auto* alloc : set)
    names.push_back(alloc->name());
  return names;
}

std::size_t to_count(std::int64_t count) {
  return count > 0 ? static_cast<std::size_t>(count) : 0;
}

/// Of each name all but one, the oldest versions' first and of those the last that came. One whose
/// client is away may share its name with what came in its place.
AllocSet namesakes(const AllocSet& live, const JobSpec& job) {
  auto known = filtered(live, [](const AllocEntry& alloc) {
    return alloc.alloc().client_status() != ClientStatus::UNKNOWN;
  });
  std::ranges::stable_sort(known, {}, [&job](const AllocEntry* alloc) {
    return std::pair{is_older(*alloc, job), alloc->alloc().create_index()};
  });
  std::set<std::string_view> names;
  AllocSet further;
  for (const auto* alloc : known)
    if (!names.insert(alloc->name()).second) further.push_back(alloc);
  std::ranges::reverse(further);
  return further;
}

}  // namespace

/// Those that stay, but for canaries that are not promoted and those whose client is away, be it
/// only now.
AllocSet GroupReconciler::known_others() const {
  return filtered(is_canarying() ? difference(untainted_, canaries_) : untainted_,
                  [this](const AllocEntry& alloc) {
                    return alloc.alloc().client_status() != ClientStatus::UNKNOWN
                           && !context_.disconnected.contains(&alloc);
                  });
}

void GroupReconciler::compute_stop() {
  for (const auto* alloc : lost_) {
    const auto followup = lost_followups_.find(alloc);
    context_.result.stop.push_back(
        {alloc, alloc_lost, ClientStatus::LOST,
         followup == lost_followups_.end() ? std::string{} : followup->second});
  }
  changes_.stop += lost_.size();
  const auto remove = static_cast<std::int64_t>(known_others().size() + migrate_.size())
                      - std::max<std::int64_t>(group_.count, 0);
  if (remove > 0) stop_surplus(remove);
}

/// Chooses which of too many allocations go. Unlike Nomad, which may leave two of one name, and
/// counts names of those that have ended among the highest.
void GroupReconciler::stop_surplus(std::int64_t remove) {
  AllocSet stopped;
  const auto stop = [&](const AllocEntry* alloc) {
    stopped.push_back(alloc);
    context_.result.stop.push_back({alloc, alloc_not_needed, {}, {}});
    names_->release(alloc_index(alloc->name()));
    --remove;
  };
  const auto live
      = filtered(is_canarying() ? difference(untainted_, canaries_) : untainted_,
                 [this](const AllocEntry& alloc) {
                   return !alloc.row->terminal() && !context_.disconnected.contains(&alloc);
                 });
  if (!is_canarying() && !canaries_.empty()) {
    std::set<std::string_view> taken;
    for (const auto* canary : canaries_)
      taken.insert(canary->name());
    const auto is_replaced = [this, &live](const AllocEntry* alloc) {
      return contains(live, alloc)
             || (alloc->row->terminal()
                 && context_.decide(*alloc, group_) == UpdateKind::destructive);
    };
    for (const auto* alloc : difference(untainted_, canaries_))
      if (remove > 0 && taken.contains(alloc->name()) && is_replaced(alloc)) stop(alloc);
  }
  NameIndex migrating{input_.job_id, group_.name,
                      static_cast<std::uint64_t>(to_count(group_.count)), names_in(migrate_)};
  const auto highest_migrating = migrating.take_highest(to_count(remove));
  for (const auto* alloc : migrate_) {
    if (remove == 0 || !highest_migrating.contains(std::string{alloc->name()})) continue;
    stop(alloc);
  }
  std::ranges::sort(stopped);
  for (const auto* alloc : namesakes(difference(live, stopped), *input_.job))
    if (remove > 0) stop(alloc);
  std::ranges::sort(stopped);
  const auto rest = difference(live, stopped);
  NameIndex living{input_.job_id, group_.name, static_cast<std::uint64_t>(to_count(group_.count)),
                   names_in(rest)};
  const auto highest = living.take_highest(to_count(remove));
  for (const auto* alloc : rest)
    if (remove > 0 && highest.contains(std::string{alloc->name()})) stop(alloc);
  std::ranges::sort(stopped);
  for (const auto* alloc : difference(live, stopped))
    if (remove > 0) stop(alloc);

  std::ranges::sort(stopped);
  changes_.stop += stopped.size();
  untainted_ = difference(untainted_, stopped);
  migrate_ = difference(migrate_, stopped);
  if (remove > 0) stop_ended(to_count(remove));
}

/// What has ended and is too much is told so where the new version would replace it. Unlike in
/// Nomad, which replaces it and stops the replacement again.
void GroupReconciler::stop_ended(std::size_t surplus) {
  const auto ended = by_name_index(
      filtered(untainted_, [](const AllocEntry& alloc) { return alloc.row->terminal(); }));
  AllocSet stopped;
  for (auto alloc = ended.rbegin(); alloc != ended.rend() && stopped.size() < surplus; ++alloc)
    if (context_.decide(**alloc, group_) == UpdateKind::destructive) stopped.push_back(*alloc);
  std::ranges::sort(stopped);
  context_.stop(stopped, alloc_not_needed);
  changes_.stop += stopped.size();
  untainted_ = difference(untainted_, stopped);
}

/// What came in its place, if anything did.
const AllocEntry* GroupReconciler::next_of(const AllocEntry& alloc) {
  if (by_id_.empty())
    for (const auto& entry : *input_.allocs)
      by_id_.emplace(entry.id(), &entry);
  const auto known = by_id_.find(alloc.alloc().next());
  return known == by_id_.end() ? nullptr : known->second;
}

/// Whether something that came in its place runs, as far as anybody knows.
bool GroupReconciler::has_successor(const AllocEntry& alloc) {
  const auto* other = next_of(alloc);
  while (other != nullptr && other->row->terminal())
    other = next_of(*other);
  return other != nullptr && other->alloc().client_status() != ClientStatus::UNKNOWN;
}

/// Whether its client is away and something that came in its place runs. When that is replaced by
/// the new version, nothing more is; unlike in Nomad, which replaces both and stops one of the two.
bool GroupReconciler::has_stand_in(const AllocEntry& alloc) {
  return alloc.alloc().client_status() == ClientStatus::UNKNOWN && has_successor(alloc);
}

/// What has a successor already gets no other one: what moves only ends, and who is away is
/// awaited. That of one that moves may have come without its end, in a part of a plan. Unlike in
/// Nomad, which places another beside it.
void GroupReconciler::settle_succeeded() {
  const auto moved
      = filtered(migrate_, [this](const AllocEntry& alloc) { return has_successor(alloc); });
  context_.stop(moved, alloc_not_needed);
  changes_.stop += moved.size();
  migrate_ = difference(migrate_, moved);
  const auto awaited
      = filtered(reschedule_now_, [this](const AllocEntry& alloc) { return has_stand_in(alloc); });
  reschedule_now_ = difference(reschedule_now_, awaited);
  untainted_ = united(untainted_, awaited);
}

/// Failed ones for which others are there already, or which nobody wants any more, are not
/// replaced. Unlike Nomad, which places them and stops them again.
void GroupReconciler::drop_needless_reschedules() {
  const auto wanted = to_count(group_.count);
  const auto others = known_others().size() + migrate_.size();
  auto room = wanted - std::min(wanted, others);
  AllocSet needless;
  for (const auto* alloc : by_name_index(reschedule_now_)) {
    if (is_canarying() && alloc->alloc().is_canary()) continue;
    if (room > 0)
      --room;
    else
      needless.push_back(alloc);
  }
  std::ranges::sort(needless);
  reschedule_now_ = difference(reschedule_now_, needless);
  // Who is only away may come back.
  const auto over = filtered(needless, [this](const AllocEntry& alloc) {
    return !context_.disconnected.contains(&alloc) && !alloc.row->server_terminal
           && alloc.alloc().client_status() != ClientStatus::UNKNOWN;
  });
  context_.stop(over, alloc_not_needed);
  changes_.stop += over.size();
}

}  // namespace nomad::scheduler
