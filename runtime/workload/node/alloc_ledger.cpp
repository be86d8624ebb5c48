#include "runtime/workload/node/alloc_ledger.hpp"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "runtime/base/ids.hpp"
#include "runtime/object/disconnect.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/client_status.hpp"

namespace nomad::workload {

std::string job_key(AllocView alloc) {
  return fmt::format("{}/{}/{}/{}", alloc.ns(), alloc.job_id(), alloc.job_create_index(),
                     alloc.job_version());
}

std::string job_key(schema::Job::Reader job) {
  return fmt::format("{}/{}/{}/{}", view(job.getNamespace()), view(job.getId()),
                     job.getCreateIndex(), job.getVersion());
}

// -- small ones ----------------------------------------------------------------------------------

const AllocLedger::Entry* AllocLedger::find(const std::string& alloc_id) const {
  const auto found = entries_.find(alloc_id);
  return found == entries_.end() ? nullptr : &found->second;
}

void AllocLedger::go(Entry& entry, Phase phase) {
  const auto exists = [](Phase of) { return of != Phase::saving && of != Phase::rest; };
  if (exists(entry.phase)) --usage_.allocs;
  if (exists(phase)) ++usage_.allocs;
  entry.phase = phase;
}

/// Keeps the row of `job` for the allocation, and no longer that of another version.
void AllocLedger::hold_job(Entry& entry, const Object<schema::Job>& job, RowChanges& rows) {
  if (jobs_[job_key(*job)]++ == 0) rows.emplace_back(ledger_action::PutJob{job});
  release_job(entry, rows);
  entry.saved_job = job;
}

void AllocLedger::release_job(Entry& entry, RowChanges& rows) {
  const auto job = std::exchange(entry.saved_job, {});
  if (!job) return;
  const auto held = jobs_.find(job_key(*job));
  if (--held->second > 0) return;
  rows.emplace_back(ledger_action::EraseJob{held->first});
  jobs_.erase(held);
}

/// Once, however often it is called.
void AllocLedger::erase_rows(Entry& entry) {
  if (!entry.saved_job) return;
  RowChanges rows;
  rows.emplace_back(ledger_action::EraseAlloc{std::string{entry.alloc->id()}});
  release_job(entry, rows);
  act(ledger_action::SaveLater{std::move(rows)});
}

/// How an allocation ended that has no runner any more to tell it.
void AllocLedger::tell_end(const Entry& entry, bool again, EventTime now) {
  auto alloc_id = std::string{entry.alloc->id()};
  const AllocReport report{.alloc_id = alloc_id,
                           .node_id = traits_.node_id,
                           .status = entry.status,
                           .description = entry.alloc->client_description(),
                           .tasks = {},
                           .health = {},
                           .assigned = *entry.alloc};
  auto update = entry.rejection ? *entry.rejection : make_update(report, now.unix);
  act(ledger_action::Report{std::move(alloc_id), ++version_, std::move(update), again});
}

/// Tells the servers that it cannot run here. It is not tried again.
void AllocLedger::reject(Entry& entry, std::string_view reason, EventTime now) {
  act(ledger_action::Log{.is_error = true,
                         .alloc_id = std::string{entry.alloc->id()},
                         .text = "the allocation cannot run here",
                         .error = std::string{reason}});
  entry.status = ClientStatus::FAILED;
  entry.rejection = make_rejection(*entry.alloc, *entry.job, reason, now.unix);
  tell_end(entry, false, now);
}

// -- after a restart -----------------------------------------------------------------------------

void AllocLedger::begin(LedgerTraits traits,
                        const std::vector<RestoredAlloc>& saved,
                        EventTime now) {
  traits_ = std::move(traits);
  gc_ = GcQueue{traits_.gc};
  heartbeat_stop_ = HeartbeatStop{now.steady};
  RowChanges saved_already;
  for (const auto& each : saved) {  // All first: one that goes must not take another's job.
    auto& entry = entries_[std::string{each.assigned.alloc->id()}];
    entry.alloc = each.assigned.alloc;
    hold_job(entry, each.assigned.job, saved_already);
  }
  for (const auto& each : saved)
    restore(each, now);
  for (const auto& [id, entry] : entries_)
    if (entry.has_runner()) act(ledger_action::Begin{id});
  for (const auto& [id, entry] : entries_)
    if (entry.has_runner()) watch_patience(id, entry, now);
}

void AllocLedger::restore(const RestoredAlloc& saved, EventTime now) {
  const auto alloc_id = std::string{saved.assigned.alloc->id()};
  auto& entry = entries_.at(alloc_id);
  if (!saved.has_begun) {
    // It was not run, or was destroyed: the servers send it again if they want it.
    erase_rows(entry);
    entries_.erase(alloc_id);
    return;
  }
  if (saved.acknowledged) act(ledger_action::RestoreReports{alloc_id, *saved.acknowledged});
  entry.index = saved.assigned.alloc->alloc_modify_index();
  entry.job = saved.assigned.job;
  entry.end_acknowledged = saved.acknowledged && is_client_terminal(saved.acknowledged->status);
  if (entry.end_acknowledged) entry.status = saved.acknowledged->status;
  if (const auto fit = traits_.fits(*entry.alloc, *entry.job); !fit)
    return abandon(alloc_id, fit.error().what, now);
  go(entry, Phase::running);
  act(ledger_action::Run{.alloc_id = alloc_id, .restored = true, .may_run = false});
}

// -- what the servers say ------------------------------------------------------------------------

/// An allocation changes only when its AllocModifyIndex grows: what the client itself reported
/// comes back with a higher ModifyIndex and is no news, and an older state never replaces a newer
/// one.
void AllocLedger::assign(const AssignedAllocs& set, EventTime now) {
  if (set.complete) {
    std::unordered_set<std::string_view> named;
    for (const auto& each : set.allocs)
      named.insert(each.alloc->id());
    std::vector<std::string> gone;
    for (const auto& [id, entry] : entries_)
      if (entry.wanted == Wanted::yes && !named.contains(id)) gone.push_back(id);
    for (const auto& id : gone)
      forget(id);
  }
  RowChanges rows;
  ++round_;
  auto& applies = applying_.emplace();
  for (const auto& each : set.allocs) {
    const auto found = entries_.find(std::string{each.alloc->id()});
    if (found == entries_.end() || found->second.wanted != Wanted::yes) {
      if (!note_new(each, rows, now)) continue;
    } else if (each.alloc->alloc_modify_index() > found->second.index) {
      note_newer(found->second, each, rows);
    } else {
      continue;
    }
    applies.push_back(each);
  }
  if (rows.empty()) return saved(round_, {}, now);
  act(ledger_action::Save{round_, std::move(rows)});
}

/// Whether it is to run as soon as its rows are saved.
bool AllocLedger::note_new(const AssignedAlloc& assigned, RowChanges& rows, EventTime now) {
  auto& entry = entries_[std::string{assigned.alloc->id()}];
  if (entry.wanted != Wanted::yes) {  // Its end is under way: it can begin anew after that.
    entry.wanted = Wanted::again;
    return false;
  }
  entry.index = assigned.alloc->alloc_modify_index();
  entry.alloc = assigned.alloc;
  entry.job = assigned.job;
  if (assigned.alloc->is_client_terminal()) {
    entry.status = assigned.alloc->client_status();  // It ended here; its remains are gone.
    entry.end_acknowledged = true;
    return false;
  }
  if (const auto fit = traits_.fits(*entry.alloc, *entry.job); !fit) {
    reject(entry, fit.error().what, now);
    return false;
  }
  go(entry, Phase::saving);
  rows.emplace_back(ledger_action::PutAlloc{assigned.alloc});
  hold_job(entry, assigned.job, rows);
  return true;
}

/// The allocation's row and that of its job go together: a restart that finds one without the other
/// would leave a running task to itself.
void AllocLedger::note_newer(Entry& entry, const AssignedAlloc& assigned, RowChanges& rows) {
  entry.index = assigned.alloc->alloc_modify_index();
  if (!entry.has_runner()) return;
  rows.emplace_back(ledger_action::PutAlloc{assigned.alloc});
  hold_job(entry, assigned.job, rows);
  if (assigned.alloc->deployment_id() != entry.alloc->deployment_id())
    rows.emplace_back(ledger_action::ClearHealth{std::string{assigned.alloc->id()}});
}

void AllocLedger::saved(Round round, const Result<>& outcome, EventTime now) {
  if (!applying_ || round != round_) return;
  const auto applying = std::exchange(applying_, {});
  impatient_ = false;
  if (!outcome) save_again(*applying);
  for (const auto& each : *applying)
    apply(each, outcome, now);
  act(ledger_action::Applied{impatient_});
  collect();
}

/// What runs on as the servers have changed it counts on the rows that were not saved, and so do
/// others that run the same jobs. First of all: nobody may erase a job before that.
void AllocLedger::save_again(const std::vector<AssignedAlloc>& allocs) {
  RowChanges rows;
  for (const auto& each : allocs) {
    const auto& entry = entries_.at(std::string{each.alloc->id()});
    if (!entry.has_runner()) continue;
    rows.emplace_back(ledger_action::PutAlloc{each.alloc});
    rows.emplace_back(ledger_action::PutJob{each.job});
  }
  if (!rows.empty()) act(ledger_action::SaveLater{std::move(rows)});
}

void AllocLedger::apply(const AssignedAlloc& assigned, const Result<>& saved, EventTime now) {
  const auto alloc_id = std::string{assigned.alloc->id()};
  auto& entry = entries_.at(alloc_id);
  if (entry.phase == Phase::saving)
    run_new(alloc_id, entry, saved, now);
  else
    update(entry, assigned, now);
}

void AllocLedger::run_new(const std::string& alloc_id,
                          Entry& entry,
                          const Result<>& saved,
                          EventTime now) {
  if (!saved) {
    go(entry, Phase::rest);
    erase_rows(entry);
    return reject(entry, "saving local state: " + saved.error().what, now);
  }
  go(entry, Phase::running);
  act(ledger_action::Run{.alloc_id = alloc_id, .restored = false, .may_run = !contacted_});
  act(ledger_action::Begin{alloc_id});
  watch_patience(alloc_id, entry, now);
}

void AllocLedger::update(Entry& entry, const AssignedAlloc& assigned, EventTime now) {
  const auto alloc_id = std::string{assigned.alloc->id()};
  const auto theirs = assigned.alloc->client_status();
  entry.alloc = assigned.alloc;
  entry.job = assigned.job;
  if (entry.has_runner()) {
    watch_patience(alloc_id, entry, now);
    act(ledger_action::Assign{
        alloc_id, theirs == ClientStatus::UNKNOWN && !assigned.alloc->is_server_terminal()});
  } else if (is_client_terminal(entry.status) && !is_client_terminal(theirs)) {
    // Servers whose state was restored may take for running what ended here and was collected.
    act(ledger_action::ForgetReports{alloc_id});
    tell_end(entry, true, now);
  }
}

void AllocLedger::forget(const std::string& alloc_id) {
  auto& entry = entries_.at(alloc_id);
  entry.wanted = Wanted::no;
  if (entry.is_leaving()) return;
  if (entry.has_runner()) return gc_.demand(alloc_id);
  erase_rows(entry);
  leave(alloc_id);
}

void AllocLedger::leave(const std::string& alloc_id) {
  act(ledger_action::ForgetReports{alloc_id});
  entries_.erase(alloc_id);
}

void AllocLedger::contacted() {
  contacted_ = true;
  for (const auto& [id, entry] : entries_)
    if (entry.has_runner()) act(ledger_action::TellContacted{id});
}

void AllocLedger::report_all(EventTime now) {
  for (const auto& [id, entry] : entries_)
    if (entry.has_runner())
      act(ledger_action::ReportAgain{id});
    else if (entry.rejection || entry.status == ClientStatus::LOST
             || (is_client_terminal(entry.status) && !entry.end_acknowledged))
      tell_end(entry, true, now);
}

void AllocLedger::end_acknowledged(const std::vector<std::string>& alloc_ids) {
  for (const auto& alloc_id : alloc_ids)
    if (const auto found = entries_.find(alloc_id); found != entries_.end())
      found->second.end_acknowledged = true;
}

// -- without servers -----------------------------------------------------------------------------

void AllocLedger::watch_patience(const std::string& alloc_id, const Entry& entry, EventTime now) {
  const auto group = find_group(*entry.job, entry.alloc->task_group());
  heartbeat_stop_.forget(alloc_id);
  const auto limit = group ? disconnect_rules(*group).stop_on_client_after : std::nullopt;
  if (!limit) return;
  const Nanoseconds patience{*limit};
  if (patience <= Nanoseconds{0} || is_client_terminal(entry.status)) return;
  const bool tightens = !heartbeat_stop_.shortest() || patience < *heartbeat_stop_.shortest();
  heartbeat_stop_.watch(alloc_id, patience);
  if (!tightens) return;
  impatient_ = true;
  wait_to_look(now);
}

void AllocLedger::wait_to_look(EventTime now) {
  if (const auto pause = heartbeat_stop_.next_look(now.steady))
    act(ledger_action::WaitToLook{++look_round_, *pause});
}

void AllocLedger::look(Round round, EventTime now) {
  if (round != look_round_) return;
  for (const auto& alloc_id : heartbeat_stop_.expire(now.steady)) {
    auto& entry = entries_.at(alloc_id);
    if (!entry.has_runner() || entry.is_leaving()) continue;
    act(ledger_action::Log{
        .is_error = false,
        .alloc_id = alloc_id,
        .text = "stopping the allocation: without servers for longer than its group allows"});
    destroy(alloc_id, entry);
  }
  wait_to_look(now);
}

// -- what runners say ----------------------------------------------------------------------------

void AllocLedger::status_changed(const std::string& alloc_id, ClientStatus status, bool over) {
  const auto found = entries_.find(alloc_id);
  if (found == entries_.end()) return;
  auto& entry = found->second;
  if (!entry.rejection) entry.status = status;  // The last word may come after the runner's end.
  if (!entry.has_runner()) return;
  if (is_client_terminal(status)) heartbeat_stop_.forget(alloc_id);
  if (over || status != ClientStatus::PENDING) stop_keeping(alloc_id);
  if (!over) return;
  tell_over(alloc_id);
  if (entry.is_leaving()) return go(entry, Phase::removing);
  go(entry, Phase::over);
  gc_.mark(alloc_id);
  collect();
}

/// A bug ended the runner.
void AllocLedger::runner_crashed(const std::string& alloc_id,
                                 const std::string& why,
                                 EventTime now) {
  const auto* entry = find(alloc_id);
  if (entry && entry->has_runner()) abandon(alloc_id, "its runner failed: " + why, now);
}

/// Nobody runs it any more, or can: the allocation fails, unless it had ended, so that the servers
/// place it elsewhere, and nothing of it is left running.
void AllocLedger::abandon(const std::string& alloc_id, std::string_view reason, EventTime now) {
  auto& entry = entries_.at(alloc_id);
  go(entry, Phase::abandoned);
  heartbeat_stop_.forget(alloc_id);
  erase_rows(entry);
  if (!is_client_terminal(entry.status)) reject(entry, reason, now);
  act(ledger_action::RemoveAbandoned{alloc_id});
}

void AllocLedger::await_end(const std::string& alloc_id,
                            const std::string& for_whom,
                            std::uint64_t ticket) {
  const auto* entry = find(alloc_id);
  if (!entry) return act(ledger_action::AnswerEnd{ticket, false});
  previous_.keep(alloc_id, for_whom);
  switch (entry->phase) {
    case Phase::running:
    case Phase::destroying:
    case Phase::abandoned:
      return previous_.await(alloc_id, ticket);
    default:
      act(ledger_action::AnswerEnd{ticket, true});
  }
}

void AllocLedger::tell_over(const std::string& alloc_id) {
  act(ledger_action::Release{alloc_id});
  for (const auto ticket : previous_.ended(alloc_id))
    act(ledger_action::AnswerEnd{ticket, true});
}

void AllocLedger::stop_keeping(const std::string& for_whom) {
  const auto free = previous_.release(for_whom);
  for (const auto& alloc_id : free)
    gc_.demand(alloc_id);
  if (!free.empty()) collect();
}

// -- collection ----------------------------------------------------------------------------------

void AllocLedger::disk_looked(double used_percent, double inodes_used_percent) {
  usage_.disk_used_percent = used_percent;
  usage_.inodes_used_percent = inodes_used_percent;
  collect();
}

void AllocLedger::collect() {
  while (const auto alloc_id = gc_.next(usage_)) {
    const auto found = entries_.find(*alloc_id);
    if (found == entries_.end() || !found->second.has_runner() || found->second.is_leaving()
        || previous_.put_off(*alloc_id))
      gc_.destroyed(*alloc_id);
    else
      destroy(*alloc_id, found->second);
  }
}

void AllocLedger::collect(const std::string& alloc_id, std::uint64_t ticket) {
  std::vector<std::string> marked;
  for (const auto& [id, entry] : entries_)
    if ((alloc_id.empty() || alloc_id == id) && gc_.is_marked(id)) marked.push_back(id);
  if (marked.empty() && alloc_id.empty()) return act(ledger_action::AnswerCollection{ticket, {}});
  if (marked.empty())
    return act(ledger_action::AnswerCollection{
        ticket,
        Error{Errc::rejected, "No such allocation on client, or allocation not eligible for GC"}});
  for (const auto& id : marked)
    gc_.demand(id);
  collections_.push_back({alloc_id, ticket});
  collect();
}

/// Answers those who asked for `alloc_id` to be collected, or for all that there were.
void AllocLedger::answer_collections(const std::string& alloc_id) {
  if (collections_.empty()) return;
  const bool all_gone = gc_.marked() == 0 && std::ranges::none_of(entries_, [](const auto& it) {
                          return it.second.is_leaving();
                        });
  std::erase_if(collections_, [&](const Collection& waiting) {
    if (waiting.alloc_id != alloc_id && !(waiting.alloc_id.empty() && all_gone)) return false;
    act(ledger_action::AnswerCollection{waiting.ticket, {}});
    return true;
  });
}

/// Ends what runs of the allocation and removes what is left.
void AllocLedger::destroy(const std::string& alloc_id, Entry& entry) {
  go(entry, entry.phase == Phase::over ? Phase::removing : Phase::destroying);
  heartbeat_stop_.forget(alloc_id);
  act(ledger_action::Destroy{alloc_id});
}

void AllocLedger::removed(const std::string& alloc_id) {
  const auto found = entries_.find(alloc_id);
  if (found == entries_.end() || !found->second.is_leaving()
      || found->second.phase == Phase::erasing)
    return;
  const bool was_over = found->second.phase == Phase::removing;
  go(found->second, Phase::erasing);
  stop_keeping(alloc_id);
  if (!was_over) tell_over(alloc_id);
  erase_rows(found->second);
  act(ledger_action::Flush{alloc_id});
}

void AllocLedger::rows_erased(const std::string& alloc_id) {
  const auto found = entries_.find(alloc_id);
  if (found == entries_.end() || found->second.phase != Phase::erasing) return;
  gc_.destroyed(alloc_id);
  gc_.unmark(alloc_id);
  go(found->second, Phase::rest);
  if (found->second.wanted != Wanted::yes) {
    wants_all_ = wants_all_ || found->second.wanted == Wanted::again;
    leave(alloc_id);
  }
  answer_collections(alloc_id);
  collect();
}

}  // namespace nomad::workload
