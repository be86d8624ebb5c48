#include "actors/client/node_allocs.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "actors/client/alloc_hooks.hpp"
#include "actors/client/alloc_tasks.hpp"
#include "actors/client/countdown.hpp"
#include "actors/client/drivers/driver_objects.hpp"
#include "runtime/access/migrate_token.hpp"
#include "runtime/base/failpoint.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/host/host_stats.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/alloc_diff.hpp"
#include "runtime/workload/client_status.hpp"

namespace nomad::client {
namespace {

using namespace std::chrono_literals;

constexpr auto save_timeout = 1min;
constexpr auto disk_timeout = 50s;

}  // namespace

Error NodeAllocs::unknown(const std::string& alloc_id) {
  return {Errc::not_found, fmt::format("Unknown allocation \"{}\"", alloc_id)};
}

Result<access::Allowed> NodeAllocs::check_caller(const std::string& alloc_id,
                                                 const access::Asking& asking) const {
  const auto found = allocs_.find(alloc_id);
  if (found == allocs_.end()) return unknown(alloc_id);
  return access::authorize(asking, {view(found->second.alloc->getNamespace())});
}

AllocRunner NodeAllocs::run(AllocSetup setup) {
  const auto alloc_id = copy(setup.alloc->getId());
  cpus_.hold(*setup.alloc);
  auto runner = facts_.parts.make_runner(self_, std::move(setup));
  runners_.emplace(runner.address(), alloc_id);
  return runner;
}

/// Keeps the row of `job` for the allocation, and no longer that of another version.
void NodeAllocs::hold_job(Alloc& alloc,
                          const Object<schema::Job>& job,
                          storage::ClientBatch& batch) {
  if (jobs_[client_db::job_key(*job)]++ == 0) client_db::put_job(batch, job);
  release_job(alloc, batch);
  alloc.saved_job = job;
}

void NodeAllocs::release_job(Alloc& alloc, storage::ClientBatch& batch) {
  const auto job = std::exchange(alloc.saved_job, {});
  if (!job) return;
  const auto held = jobs_.find(client_db::job_key(*job));
  if (--held->second > 0) return;
  client_db::erase_job(batch, held->first);
  jobs_.erase(held);
}

/// Once, however often it is called.
void NodeAllocs::erase_rows(const std::string& alloc_id) {
  auto& alloc = allocs_.at(alloc_id);
  if (!alloc.saved_job) return;
  storage::ClientBatch batch;
  client_db::erase_alloc(batch, alloc_id);
  release_job(alloc, batch);
  self_->send(facts_.parts.db, client_db::SaveLater{std::move(batch)});
}

// -- after a restart -----------------------------------------------------------------------------

void NodeAllocs::take_up(client_db::Loaded loaded) {
  gc_ = workload::GcQueue{facts_.options.gc};
  storage::ClientBatch batch;
  for (const auto& key : loaded.unused_jobs)
    client_db::erase_job(batch, key);
  storage::ClientBatch saved_already;
  for (const auto& saved : loaded.allocs)  // All first: one that goes must not take another's job.
    hold_job(allocs_[copy(saved.alloc->getId())], saved.job, saved_already);
  for (auto& saved : loaded.allocs)
    restore(saved);
  self_->send(facts_.parts.db, client_db::SaveLater{std::move(batch)});
  for (const auto& [id, alloc] : allocs_)
    if (alloc.runner) self_->send(alloc.runner, alloc_runner::Begin{});
  heartbeat_stop_ = workload::HeartbeatStop{now()};
  for (const auto& [id, alloc] : allocs_)
    if (alloc.runner) watch_patience(id);
}

void NodeAllocs::restore(client_db::SavedAlloc& saved) {
  const auto alloc_id = copy(saved.alloc->getId());
  if (saved.tasks.empty()) {
    // Nothing of it had begun, or it was destroyed: the servers send it again if they want it.
    erase_rows(alloc_id);
    allocs_.erase(alloc_id);
    return;
  }
  if (saved.acknowledged)
    self_->send(facts_.context->sync, sync::Restore{alloc_id, *saved.acknowledged});
  auto& alloc = allocs_[alloc_id];
  alloc.index = saved.alloc->getAllocModifyIndex();
  alloc.alloc = saved.alloc;
  alloc.job = saved.job;
  alloc.restored = true;
  alloc.end_acknowledged
      = saved.acknowledged && workload::is_client_terminal(saved.acknowledged->status);
  if (const auto fit = facts_.parts.check_alloc(*facts_.context, *saved.alloc, *saved.job); !fit) {
    give_up(alloc_id, fit.error().what);
    return;
  }
  alloc.runner = run({.context = facts_.context,
                      .alloc = saved.alloc,
                      .job = saved.job,
                      .parent = self_,
                      .restored = true,
                      .saved_tasks = std::move(saved.tasks),
                      .saved_health = saved.health});
}

// -- what the servers say ------------------------------------------------------------------------

void NodeAllocs::apply(AssignedAllocs set, std::function<void(bool impatient)> then) {
  std::vector<workload::AssignedIndex> assigned;
  assigned.reserve(set.allocs.size());
  std::uint64_t reported = 0;
  for (const auto& each : set.allocs) {
    reported = std::max(reported, each.alloc->getReportNumber());
    assigned.push_back({copy(each.alloc->getId()), each.alloc->getAllocModifyIndex()});
  }
  go_on_above(reported);
  auto diff = workload::diff_allocs(existing(), assigned, set.complete);
  for (const auto& alloc_id : diff.removed)
    remove(alloc_id);

  storage::ClientBatch batch;
  for (const auto place : diff.updated)
    save_update(set.allocs[place], batch);
  for (const auto place : diff.added)
    add(set.allocs[place], batch);

  const auto go_on = [this, diff = std::move(diff), set = std::move(set),
                      then = std::move(then)](const Result<>& saved) {
    if (facts_.stopping) return;
    NOMAD_FAILPOINT("client.assigned");
    impatient_ = false;
    for (const auto place : diff.updated)
      update(set.allocs[place]);
    for (const auto place : diff.added)
      run_added(set.allocs[place], saved);
    then(impatient_);
  };
  if (batch.empty()) {
    go_on({});
    return;
  }
  self_->request(facts_.parts.db, save_timeout, client_db::Save{std::move(batch)})
      .then([go_on](const client_db::Committed&) { go_on({}); },
            [go_on](const Error& err) { go_on(err); });
}

workload::ExistingAllocs NodeAllocs::existing() const {
  return {.index_of = [this](const std::string& alloc_id) -> std::optional<std::uint64_t> {
            const auto found = allocs_.find(alloc_id);
            if (found == allocs_.end() || found->second.removed) return std::nullopt;
            return found->second.index;
          },
          .each =
              [this](const std::function<void(const std::string&)>& take) {
                for (const auto& [alloc_id, alloc] : allocs_)
                  if (!alloc.removed) take(alloc_id);
              }};
}

/// Reports of a node that has lost its local state must not pass for old ones.
void NodeAllocs::go_on_above(std::uint64_t report_number) {
  const auto incarnation = facts_.report_numbers->heard(report_number);
  if (!incarnation) return;
  storage::ClientBatch batch;
  client_db::put_incarnation(batch, *incarnation);
  self_->send(facts_.parts.db, client_db::SaveLater{std::move(batch)});
}

/// Enters a new allocation. It runs after `batch` is saved, if its status here stays pending.
void NodeAllocs::add(const AssignedAlloc& assigned, storage::ClientBatch& batch) {
  const auto alloc_id = copy(assigned.alloc->getId());
  auto& alloc = allocs_[alloc_id];
  if (alloc.removed) {  // its end is under way: it can begin anew after that
    alloc.wanted_again = true;
    return;
  }
  alloc.index = assigned.alloc->getAllocModifyIndex();
  alloc.alloc = assigned.alloc;
  alloc.job = assigned.job;
  alloc.status = schema::ClientStatus::PENDING;
  if (workload::is_client_terminal(assigned.alloc->getClientStatus())) {
    alloc.status
        = assigned.alloc->getClientStatus();  // It ended here before; its remains are gone.
    alloc.end_acknowledged = true;
    return;
  }
  if (const auto fit = facts_.parts.check_alloc(*facts_.context, *assigned.alloc, *assigned.job);
      !fit) {
    reject(alloc_id, fit.error().what);
    return;
  }
  client_db::put_alloc(batch, assigned.alloc);
  hold_job(alloc, assigned.job, batch);
}

/// Runs an allocation that was entered, if it is still wanted and `saved`.
void NodeAllocs::run_added(const AssignedAlloc& assigned, const Result<>& saved) {
  const auto alloc_id = copy(assigned.alloc->getId());
  const auto found = allocs_.find(alloc_id);
  if (found == allocs_.end() || found->second.removed
      || found->second.status != schema::ClientStatus::PENDING)
    return;
  if (!saved) {
    erase_rows(alloc_id);
    return reject(alloc_id, "saving local state: " + saved.error().what);
  }
  found->second.runner = run({.context = facts_.context,
                              .alloc = assigned.alloc,
                              .job = assigned.job,
                              .parent = self_,
                              .may_run = !contacted_,
                              .saved_tasks = {},
                              .saved_health = {}});
  self_->send(found->second.runner, alloc_runner::Begin{});
  watch_patience(alloc_id);
}

/// Tells the servers that the allocation cannot run here. It is not tried again.
void NodeAllocs::reject(const std::string& alloc_id, std::string_view reason) {
  log::error("client", "cannot run allocation {}: {}", short_id(alloc_id), reason);
  auto& alloc = allocs_.at(alloc_id);
  alloc.status = schema::ClientStatus::FAILED;
  alloc.rejection
      = workload::make_rejection(*alloc.alloc, *alloc.job, reason, facts_.options.unix_now());
  tell_end(alloc, false);
}

/// Enters a change. The allocation's row and that of its job go together: a restart that finds one
/// without the other would leave a running task to itself.
void NodeAllocs::save_update(const AssignedAlloc& assigned, storage::ClientBatch& batch) {
  const auto alloc_id = copy(assigned.alloc->getId());
  auto& alloc = allocs_.at(alloc_id);
  alloc.index = assigned.alloc->getAllocModifyIndex();
  if (!alloc.runner) return;
  client_db::put_alloc(batch, assigned.alloc);
  hold_job(alloc, assigned.job, batch);
  // A restart that found the old deployment's verdict would never give the new one another.
  if (view(assigned.alloc->getDeploymentId()) != view(alloc.alloc->getDeploymentId()))
    client_db::put_health(batch, alloc_id, std::nullopt);
}

void NodeAllocs::update(const AssignedAlloc& assigned) {
  auto& alloc = allocs_.at(copy(assigned.alloc->getId()));
  alloc.alloc = assigned.alloc;
  alloc.job = assigned.job;
  if (!alloc.runner) {
    // Servers whose state was restored may take for running what ended here and was collected.
    if (workload::is_client_terminal(alloc.status)
        && !workload::is_client_terminal(assigned.alloc->getClientStatus())) {
      self_->send(facts_.context->sync, sync::Forget{copy(assigned.alloc->getId())});
      tell_end(alloc, true);
    }
    return;
  }
  watch_patience(copy(assigned.alloc->getId()));
  const bool reconnects = assigned.alloc->getClientStatus() == schema::ClientStatus::UNKNOWN
                          && !workload::is_server_terminal(assigned.alloc->getDesiredStatus());
  if (reconnects)
    self_->send(alloc.runner, alloc_runner::Reconnect{assigned.alloc, assigned.job});
  else
    self_->send(alloc.runner, alloc_runner::Assign{assigned.alloc, assigned.job});
}

void NodeAllocs::remove(const std::string& alloc_id) {
  auto& alloc = allocs_.at(alloc_id);
  alloc.removed = true;
  if (alloc.destroying) return;
  if (alloc.runner) return gc_.demand(alloc_id);
  erase_rows(alloc_id);
  self_->send(facts_.context->sync, sync::Forget{alloc_id});
  allocs_.erase(alloc_id);
}

void NodeAllocs::servers_contacted() {
  contacted_ = true;
  for (const auto& [id, alloc] : allocs_)
    if (alloc.runner) self_->send(alloc.runner, alloc_runner::ServersContacted{});
  orphans_.end_tasks(kept_tasks());
  leave_orphaned_networks();
}

std::vector<driver::TaskId> NodeAllocs::kept_tasks() const {
  std::vector<driver::TaskId> kept;
  for (const auto& [id, alloc] : allocs_) {
    if (!alloc.runner && !alloc.destroying) continue;
    if (const auto group = workload::find_group(*alloc.job, view(alloc.alloc->getTaskGroup())))
      for (const auto task : group->getTasks())
        kept.push_back({id, copy(task.getName())});
  }
  return kept;
}

void NodeAllocs::leave_orphaned_networks() {
  if (!contacted_) return;
  orphans_.take_networks_down([this](const std::string& id) { return allocs_.contains(id); });
}

/// How an allocation ended that has no runner any more to tell it. `again`: whatever the servers
/// have acknowledged.
void NodeAllocs::tell_end(const Alloc& alloc, bool again) {
  const workload::AllocReport report{.alloc_id = view(alloc.alloc->getId()),
                                     .node_id = facts_.identity.id,
                                     .status = alloc.status,
                                     .description = view(alloc.alloc->getClientDescription()),
                                     .tasks = {},
                                     .health = {},
                                     .assigned = *alloc.alloc};
  auto update = alloc.rejection ? *alloc.rejection
                                : workload::make_update(report, facts_.options.unix_now());
  self_->send(facts_.context->sync, sync::StateChanged{std::string{report.alloc_id},
                                                       ++rest_version_, std::move(update), again});
}

void NodeAllocs::report_all() {
  for (const auto& [id, alloc] : allocs_)
    if (alloc.runner)
      self_->send(alloc.runner, alloc_runner::ReportAgain{});
    else if (alloc.rejection || alloc.status == schema::ClientStatus::LOST
             || (workload::is_client_terminal(alloc.status) && !alloc.end_acknowledged))
      tell_end(alloc, true);
}

void NodeAllocs::end_acknowledged(const std::vector<std::string>& alloc_ids) {
  for (const auto& alloc_id : alloc_ids)
    if (const auto found = allocs_.find(alloc_id); found != allocs_.end())
      found->second.end_acknowledged = true;
}

// -- without servers -----------------------------------------------------------------------------

void NodeAllocs::watch_patience(const std::string& alloc_id) {
  const auto& alloc = allocs_.at(alloc_id);
  const auto group = workload::find_group(*alloc.job, view(alloc.alloc->getTaskGroup()));
  heartbeat_stop_.forget(alloc_id);
  if (!group || !group->getStopAfterClientDisconnect().isValue()) return;
  const Nanoseconds patience{group->getStopAfterClientDisconnect().getValue()};
  if (patience <= 0s || workload::is_client_terminal(alloc.status)) return;
  const bool tightens = !heartbeat_stop_.shortest() || patience < *heartbeat_stop_.shortest();
  heartbeat_stop_.watch(alloc_id, patience);
  if (!tightens) return;
  impatient_ = true;
  arm_stop_look();
}

void NodeAllocs::arm_stop_look() {
  if (const auto pause = heartbeat_stop_.next_look(now()))
    actor::send_self_after(self_, *pause, client_timer::StopLook{++stop_look_round_});
}

void NodeAllocs::stop_look(std::uint64_t round) {
  if (round != stop_look_round_ || facts_.stopping) return;
  for (const auto& alloc_id : heartbeat_stop_.expire(now())) {
    const auto found = allocs_.find(alloc_id);
    if (found == allocs_.end() || !found->second.runner || found->second.destroying) continue;
    log::warn("client", "stopping allocation {}: without servers for longer than its group allows",
              short_id(alloc_id));
    destroy(alloc_id);
  }
  arm_stop_look();
}

// -- collection ----------------------------------------------------------------------------------

void NodeAllocs::status_changed(const alloc_runner::Status& msg) {
  const auto found = allocs_.find(msg.alloc_id);
  if (found == allocs_.end()) return;
  found->second.status = msg.status;
  if (workload::is_client_terminal(msg.status)) heartbeat_stop_.forget(msg.alloc_id);
  if (msg.over || msg.status != schema::ClientStatus::PENDING) stop_keeping(msg.alloc_id);
  if (msg.over) tell_over(msg.alloc_id);
  if (!msg.over || found->second.destroying) return;
  gc_.mark(msg.alloc_id);
  collect();
}

actor::Answer<alloc_runner::Ended> NodeAllocs::await_end(const alloc_runner::AwaitEnd& msg) {
  const auto found = allocs_.find(msg.alloc_id);
  if (found == allocs_.end()) return alloc_runner::Ended{};
  const auto& alloc = found->second;
  awaited_.keep(msg.alloc_id, msg.for_whom);
  if (alloc.over || (!alloc.runner && !alloc.destroying)) return alloc_runner::Ended{.here = true};
  auto promise = self_->make_response_promise<alloc_runner::Ended>();
  awaited_.await(msg.alloc_id, promise);
  return promise;
}

void NodeAllocs::tell_over(const std::string& alloc_id) {
  allocs_.at(alloc_id).over = true;
  cpus_.release(alloc_id);
  awaited_.ended(alloc_id);
}

void NodeAllocs::stop_keeping(const std::string& for_whom) {
  const auto free = awaited_.release(for_whom);
  for (const auto& alloc_id : free)
    gc_.demand(alloc_id);
  if (!free.empty()) collect();
}

void NodeAllocs::collect() {
  usage_.allocs = runners_.size();
  while (const auto alloc_id = gc_.next(usage_, 0))
    collect_one(*alloc_id);
}

void NodeAllocs::look_at_disk() {
  if (gc_.marked() == 0) return;
  self_
      ->request(facts_.parts.steps, disk_timeout,
                step::make([root = facts_.options.alloc_dir] { return host::disk_usage(root); }))
      .then(
          [this](step::Outcome& outcome) {
            const auto usage = outcome.as<host::DiskUsage>();
            usage_.disk_used_percent = usage.used_percent;
            usage_.inodes_used_percent = usage.inodes_used_percent;
            collect();
          },
          [](const Error& err) { log::warn("client", "reading disk usage failed: {}", err.what); });
}

void NodeAllocs::collect_one(const std::string& alloc_id) {
  const auto found = allocs_.find(alloc_id);
  if (found == allocs_.end() || !found->second.runner || found->second.destroying) {
    gc_.destroyed();
    return;
  }
  if (awaited_.put_off(alloc_id)) {
    gc_.destroyed();
    return;
  }
  found->second.by_collection = true;
  destroy(alloc_id);
}

/// Ends what runs of the allocation and removes what is left. It has a runner.
void NodeAllocs::destroy(const std::string& alloc_id) {
  const auto found = allocs_.find(alloc_id);
  found->second.destroying = true;
  heartbeat_stop_.forget(alloc_id);
  // A runner that ends without an answer has crashed, or was told to leave the tasks alone.
  self_->request(found->second.runner, actor::infinite, alloc_runner::Destroy{})
      .then([this, alloc_id](const alloc_runner::Done&) { gone(alloc_id); },
            [alloc_id](const Error& err) {
              log::warn("client", "allocation {} was not removed by its runner: {}",
                        short_id(alloc_id), err.what);
            });
}

/// Nothing is left of it but its rows.
void NodeAllocs::gone(const std::string& alloc_id) {
  allocs_.at(alloc_id).runner = AllocRunner{};
  stop_keeping(alloc_id);
  tell_over(alloc_id);
  NOMAD_FAILPOINT("client.before_erase");
  erase_rows(alloc_id);
  self_->request(facts_.parts.db, save_timeout, client_db::Save{})
      .then([this, alloc_id](const client_db::Committed&) { destroyed(alloc_id); },
            [this, alloc_id](const Error&) { destroyed(alloc_id); });
}

void NodeAllocs::destroyed(const std::string& alloc_id) {
  auto& alloc = allocs_.at(alloc_id);
  if (std::exchange(alloc.by_collection, false)) gc_.destroyed();
  gc_.unmark(alloc_id);
  alloc.destroying = false;
  NOMAD_FAILPOINT("client.removed");
  if (alloc.removed) {
    wants_all_ = wants_all_ || alloc.wanted_again;
    self_->send(facts_.context->sync, sync::Forget{alloc_id});
    allocs_.erase(alloc_id);
  }
  answer_garbage(alloc_id);
  collect();
}

actor::Answer<client_api::Done> NodeAllocs::collect_garbage(const client_api::CollectGarbage& msg) {
  NOMAD_TRY(msg.alloc_id.empty() ? access::authorize(msg.asking, {})
                                 : check_caller(msg.alloc_id, msg.asking));
  if (msg.alloc_id.empty()) {
    std::vector<std::string> marked;
    for (const auto& [id, alloc] : allocs_)
      if (gc_.is_marked(id)) marked.push_back(id);
    if (marked.empty()) return client_api::Done{};
    for (const auto& id : marked)
      gc_.demand(id);
  } else {
    if (!gc_.is_marked(msg.alloc_id))
      return Error{Errc::rejected,
                   "No such allocation on client, or allocation not eligible for GC"};
    gc_.demand(msg.alloc_id);
  }
  garbage_.push_back({msg.alloc_id, self_->make_response_promise<client_api::Done>()});
  auto answer = garbage_.back().promise;
  collect();
  return answer;
}

/// Answers those who asked for `alloc_id` to be collected, or for all that there were.
void NodeAllocs::answer_garbage(const std::string& alloc_id) {
  const bool all_gone = gc_.marked() == 0
                        && std::none_of(allocs_.begin(), allocs_.end(),
                                        [](const auto& item) { return item.second.destroying; });
  std::erase_if(garbage_, [&](auto& waiting) {
    if (waiting.alloc_id != alloc_id && !(waiting.alloc_id.empty() && all_gone)) return false;
    waiting.promise.deliver(client_api::Done{});
    return true;
  });
}

// -- runners -------------------------------------------------------------------------------------

bool NodeAllocs::child_down(const actor::Down& down) {
  const auto found = runners_.find(down.source);
  if (found == runners_.end()) return false;
  const auto alloc_id = found->second;
  runners_.erase(found);
  if (down.crashed && !facts_.stopping) runner_crashed(alloc_id, down);
  return true;
}

void NodeAllocs::driver_replaced(const alloc_runner::DriverReplaced& msg) {
  for (const auto& [id, alloc] : allocs_)
    if (alloc.runner) self_->send(alloc.runner, alloc_runner::DriverReplaced{msg});
  if (msg.driver.driver && orphans_.owes(msg.name))
    orphans_.end_tasks_of(msg.name, msg.driver.driver, kept_tasks());
}

void NodeAllocs::stop(bool with_tasks, std::function<void()> then) {
  const Countdown one_less{std::move(then)};
  for (const auto& [id, alloc] : allocs_) {
    if (!alloc.runner) continue;
    one_less.await();
    const auto gone = [one_less](const alloc_runner::Done&) { one_less(); };
    const auto failed = [one_less](const Error&) { one_less(); };
    if (with_tasks)
      self_->request(alloc.runner, 10min, alloc_runner::Destroy{}).then(gone, failed);
    else
      self_->request(alloc.runner, 15s, alloc_runner::Detach{}).then(gone, failed);
  }
  one_less();
}

/// A bug ended the runner.
void NodeAllocs::runner_crashed(const std::string& alloc_id, const actor::Down& down) {
  const auto found = allocs_.find(alloc_id);
  if (found == allocs_.end() || found->second.runner.address() != down.source) return;
  found->second.runner = AllocRunner{};
  give_up(alloc_id, "its runner failed: " + down.reason.what);
}

/// Nobody runs it any more, or can: the allocation fails, unless it had ended, so that the servers
/// place it elsewhere, nothing of it is left running, and then the hooks remove what they left: not
/// the directory of a task that may still run.
void NodeAllocs::give_up(const std::string& alloc_id, std::string_view reason) {
  auto& alloc = allocs_.at(alloc_id);
  alloc.destroying = true;
  erase_rows(alloc_id);
  if (!workload::is_client_terminal(alloc.status)) reject(alloc_id, reason);
  const HookScope about = AllocFacts{.context = facts_.context,
                                     .id = alloc_id,
                                     .alloc = alloc.alloc,
                                     .job = alloc.job}
                              .scope();
  const auto may_run = std::make_shared<bool>(false);
  const Countdown one_less{[this, about, alloc_id, may_run] {
    if (*may_run) return gone(alloc_id);
    run_destroy_hooks(self_, facts_.context, about, [this, alloc_id] { gone(alloc_id); });
  }};
  if (const auto group = workload::find_group(*alloc.job, view(alloc.alloc->getTaskGroup())))
    for (const auto task : group->getTasks()) {
      one_less.await();
      end_abandoned(self_, *facts_.context, alloc_id, task, [one_less, may_run](bool ended) {
        if (!ended) *may_run = true;
        one_less();
      });
    }
  one_less();
}

void NodeAllocs::each_live(const std::function<void(const Live&)>& take) const {
  for (const auto& [id, alloc] : allocs_)
    if (!workload::is_client_terminal(alloc.status)) take({alloc.alloc, alloc.job, alloc.runner});
}

client_api::AllocCounts NodeAllocs::counts() const {
  client_api::AllocCounts counts;
  for (const auto& [id, alloc] : allocs_) {
    if (workload::is_client_terminal(alloc.status))
      ++counts.terminal;
    else if (alloc.status == schema::ClientStatus::RUNNING)
      ++counts.running;
    else
      ++counts.pending;
  }
  return counts;
}

actor::Answer<client_api::ExecStarted> NodeAllocs::exec(client_api::Exec& msg) {
  if (facts_.options.disable_remote_exec)
    return Error{Errc::permission_denied, "Permission denied"};
  NOMAD_TRY(check_caller(msg.alloc_id, msg.asking));
  if (msg.task.empty()) return Error{Errc::invalid_argument, "must provide task name"};
  if (msg.command.command.empty()) return Error{Errc::invalid_argument, "command is not present"};
  // Never its arguments: they may hold secrets.
  log::info("client", "a command is asked for in allocation {}, task {}: {}{}", msg.alloc_id,
            msg.task, msg.command.command.front(), msg.command.tty ? " (with a terminal)" : "");
  return pass_on<client_api::ExecStarted>(msg);
}

/// The token is looked at first, so that nobody without one learns what is here.
actor::Answer<client_api::AllocDir> NodeAllocs::disk_of(const client_api::DiskOf& msg) {
  if (!access::is_migrate_token(msg.migrate_token, msg.alloc_id, facts_.identity.secret))
    return Error{Errc::permission_denied, "Permission denied"};
  const auto found = allocs_.find(msg.alloc_id);
  if (found == allocs_.end() || !found->second.runner) return unknown(msg.alloc_id);
  return self_->delegate(
      found->second.runner,
      client_api::AllocDirOf{msg.alloc_id, access::Asking::of_cluster("disk_migration")});
}

actor::Answer<client_api::CheckReports> NodeAllocs::checks(const client_api::AllocChecks& msg) {
  NOMAD_TRY(check_caller(msg.alloc_id, msg.asking));
  return self_->delegate(facts_.context->checks, check::ReportsOf{msg.alloc_id});
}

}  // namespace nomad::client
