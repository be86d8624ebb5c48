// The allocations of a node: taken up after a restart, added, changed, forgotten, collected.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "actors/client/client_state.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/client_status.hpp"

namespace nomad::client::detail {
namespace {

using namespace std::chrono_literals;

constexpr auto save_timeout = 1min;
constexpr auto destroy_timeout = 24 * 60min;

/// An answer without news this early means that the servers do not hold the question.
constexpr auto too_early = 1s;

/// How an allocation ended that has no runner any more to tell it.
template <class KnownAlloc>
sync::StateChanged end_of(const KnownAlloc& alloc,
                          const std::string& node_id,
                          std::uint64_t version,
                          std::int64_t now) {
  const workload::AllocReport report{.alloc_id = view(alloc.alloc->getId()),
                                     .node_id = node_id,
                                     .status = alloc.status,
                                     .description = view(alloc.alloc->getClientDescription()),
                                     .tasks = {},
                                     .health = {},
                                     .assigned = *alloc.alloc};
  return {std::string{report.alloc_id}, version, workload::make_update(report, now), true};
}

}  // namespace

Error ClientState::unknown(const std::string& alloc_id) {
  return {Errc::not_found, fmt::format("Unknown allocation \"{}\"", alloc_id)};
}

AllocRunner ClientState::run(AllocSetup setup) {
  const auto alloc_id = copy(setup.alloc->getId());
  auto runner = parts_.make_runner(self_->system(), std::move(setup));
  self_->monitor(runner);
  runners_.emplace(runner.address(), alloc_id);
  return runner;
}

void ClientState::hold_job(const Object<schema::Job>& job, storage::ClientBatch& batch) {
  if (jobs_[client_db::job_key(*job)]++ == 0) client_db::put_job(batch, job);
}

void ClientState::release_job(schema::Job::Reader job, storage::ClientBatch& batch) {
  const auto key = client_db::job_key(job);
  const auto held = jobs_.find(key);
  if (held == jobs_.end() || --held->second > 0) return;
  jobs_.erase(held);
  client_db::erase_job(batch, key);
}

// -- after a restart -----------------------------------------------------------------------------

void ClientState::restore(client_db::SavedAlloc& saved) {
  const auto alloc_id = copy(saved.alloc->getId());
  if (saved.tasks.empty()) {
    // Nothing of it had begun, or it was destroyed: the servers send it again if they want it.
    storage::ClientBatch batch;
    client_db::erase_alloc(batch, alloc_id);
    release_job(*saved.job, batch);
    self_->send(parts_.db, client_db::SaveLater{std::move(batch)});
    return;
  }
  if (saved.acknowledged) self_->send(sync_, sync::Restore{alloc_id, *saved.acknowledged});
  indexes_[alloc_id] = saved.alloc->getAllocModifyIndex();
  auto& alloc = allocs_[alloc_id];
  alloc.alloc = saved.alloc;
  alloc.job = saved.job;
  alloc.restored = true;
  if (const auto fit = parts_.check_alloc(*context_, *saved.alloc, *saved.job); !fit) {
    reject(saved.alloc, saved.job, fit.error().what);
    return;
  }
  alloc.runner = run({.context = context_,
                      .alloc = saved.alloc,
                      .job = saved.job,
                      .parent = self_,
                      .restored = true,
                      .saved_tasks = std::move(saved.tasks),
                      .saved_health = saved.health});
}

// -- what the servers say ------------------------------------------------------------------------

void ClientState::apply(server_link::AllocSet set) {
  watch_failures_ = 0;
  if (stopping_) return;
  const bool first = min_index_ == 0 && set.complete;
  if (set.index <= min_index_ && !first) {
    actor::send_self_after(self_, too_early, WatchDue{});
    return;
  }
  std::vector<workload::AssignedIndex> assigned;
  assigned.reserve(set.allocs.size());
  for (const auto& each : set.allocs)
    assigned.push_back({copy(each.alloc->getId()), each.alloc->getAllocModifyIndex()});
  auto diff = workload::diff_allocs(indexes_, assigned, set.complete);
  for (const auto& alloc_id : diff.removed)
    remove(alloc_id);

  storage::ClientBatch batch;
  for (const auto place : diff.updated)
    save_update(set.allocs[place], batch);
  for (const auto place : diff.added)
    add(set.allocs[place], batch);

  // Nothing of it becomes visible before it is saved.
  const auto go_on = [this, diff = std::move(diff), set = std::move(set)](const Result<>& saved) {
    if (stopping_) return;
    for (const auto place : diff.updated)
      update(set.allocs[place]);
    for (const auto place : diff.added) {
      const auto& each = set.allocs[place];
      const auto found = allocs_.find(copy(each.alloc->getId()));
      if (found == allocs_.end() || found->second.removed) continue;
      auto& alloc = found->second;
      if (alloc.status != schema::ClientStatus::PENDING) continue;
      if (!saved) {
        reject(each.alloc, each.job, "saving local state: " + saved.error().what);
        continue;
      }
      alloc.runner = run({.context = context_,
                          .alloc = each.alloc,
                          .job = each.job,
                          .parent = self_,
                          .saved_tasks = {},
                          .saved_health = {}});
      self_->send(alloc.runner, alloc_runner::Begin{});
      watch_patience(copy(each.alloc->getId()));
    }
    min_index_ = std::max<std::uint64_t>(set.index, 1);
    applied();
  };
  if (batch.empty()) {
    go_on({});
    return;
  }
  self_->request(parts_.db, save_timeout, client_db::Save{std::move(batch)})
      .then([go_on](const client_db::Committed&) { go_on({}); },
            [go_on](const Error& err) { go_on(err); });
}

/// Enters a new allocation. It runs after `batch` is saved, if its status here stays pending.
void ClientState::add(const server_link::AssignedAlloc& assigned, storage::ClientBatch& batch) {
  const auto alloc_id = copy(assigned.alloc->getId());
  auto& alloc = allocs_[alloc_id];
  if (alloc.removed) {  // its end is under way: it can begin anew after that
    alloc.wanted_again = true;
    return;
  }
  indexes_[alloc_id] = assigned.alloc->getAllocModifyIndex();
  alloc.alloc = assigned.alloc;
  alloc.job = assigned.job;
  alloc.status = schema::ClientStatus::PENDING;
  if (workload::is_client_terminal(assigned.alloc->getClientStatus())) {
    alloc.status
        = assigned.alloc->getClientStatus();  // It ended here before; its remains are gone.
    return;
  }
  if (const auto fit = parts_.check_alloc(*context_, *assigned.alloc, *assigned.job); !fit) {
    reject(assigned.alloc, assigned.job, fit.error().what);
    return;
  }
  client_db::put_alloc(batch, assigned.alloc);
  hold_job(assigned.job, batch);
}

/// Tells the servers, once, that the allocation cannot run here. It is not tried again.
void ClientState::reject(const Object<schema::Allocation>& alloc,
                         const Object<schema::Job>& job,
                         std::string_view reason) {
  const auto alloc_id = copy(alloc->getId());
  log::error("client", "cannot run allocation {}: {}", short_id(alloc_id), reason);
  allocs_[alloc_id].status = schema::ClientStatus::FAILED;
  constexpr std::uint64_t last_version = std::uint64_t{1} << 62;  // Nothing comes after it.
  self_->send(sync_, sync::StateChanged{
                         alloc_id, last_version,
                         workload::make_rejection(*alloc, *job, reason, options_.unix_now())});
}

/// Enters a change. The allocation's row and that of its job go together: a restart that finds one
/// without the other would leave a running task to itself.
void ClientState::save_update(const server_link::AssignedAlloc& assigned,
                              storage::ClientBatch& batch) {
  const auto alloc_id = copy(assigned.alloc->getId());
  indexes_[alloc_id] = assigned.alloc->getAllocModifyIndex();
  auto& alloc = allocs_.at(alloc_id);
  if (!alloc.runner) return;
  client_db::put_alloc(batch, assigned.alloc);
  if (client_db::job_key(*alloc.job) == client_db::job_key(*assigned.job)) return;
  hold_job(assigned.job, batch);
  alloc.next_job = assigned.job;
}

void ClientState::update(const server_link::AssignedAlloc& assigned) {
  auto& alloc = allocs_.at(copy(assigned.alloc->getId()));
  if (const auto next_job = std::exchange(alloc.next_job, {})) {
    storage::ClientBatch batch;
    release_job(alloc.runner ? *alloc.job : *next_job, batch);
    self_->send(parts_.db, client_db::SaveLater{std::move(batch)});
  }
  alloc.alloc = assigned.alloc;
  alloc.job = assigned.job;
  if (!alloc.runner) {
    // Servers whose state was restored may take for running what ended here and was collected.
    if (workload::is_client_terminal(alloc.status)
        && !workload::is_client_terminal(assigned.alloc->getClientStatus())) {
      self_->send(sync_, sync::Forget{copy(assigned.alloc->getId())});
      self_->send(sync_, end_of(alloc, identity_.id, ++rest_version_, options_.unix_now()));
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

void ClientState::remove(const std::string& alloc_id) {
  auto& alloc = allocs_.at(alloc_id);
  alloc.removed = true;
  indexes_.erase(alloc_id);
  if (alloc.runner) {
    if (!alloc.destroying) gc_.demand(alloc_id);
    return;
  }
  self_->send(sync_, sync::Forget{alloc_id});
  allocs_.erase(alloc_id);
}

/// The servers' answer is in force.
void ClientState::applied() {
  if (!contacted_) {
    contacted_ = true;
    self_->send(sync_, sync::Open{});
    for (const auto& [id, alloc] : allocs_)
      if (alloc.restored && alloc.runner)
        self_->send(alloc.runner, alloc_runner::ServersContacted{});
  }
  collect();
  watch();
}

// -- collection ----------------------------------------------------------------------------------

workload::GcUsage ClientState::usage() const {
  auto usage = disk_;
  usage.allocs = runners_.size();
  return usage;
}

void ClientState::status_changed(const alloc_runner::Status& msg) {
  const auto found = allocs_.find(msg.alloc_id);
  if (found == allocs_.end()) return;
  found->second.status = msg.status;
  if (workload::is_client_terminal(msg.status)) heartbeat_stop_.forget(msg.alloc_id);
  if (!msg.over || found->second.destroying) return;
  gc_.mark(msg.alloc_id);
  collect();
}

void ClientState::collect(std::size_t coming) {
  while (const auto alloc_id = gc_.next(usage(), coming))
    collect_one(*alloc_id);
}

void ClientState::collect_one(const std::string& alloc_id) {
  const auto found = allocs_.find(alloc_id);
  if (found == allocs_.end() || !found->second.runner || found->second.destroying) {
    gc_.destroyed();
    return;
  }
  found->second.by_collection = true;
  destroy(alloc_id);
}

/// Ends what runs of the allocation and removes what is left. It has a runner.
void ClientState::destroy(const std::string& alloc_id) {
  const auto found = allocs_.find(alloc_id);
  found->second.destroying = true;
  heartbeat_stop_.forget(alloc_id);
  const auto gone = [this, alloc_id] {
    storage::ClientBatch batch;
    client_db::erase_alloc(batch, alloc_id);
    release_job(*allocs_.at(alloc_id).job, batch);
    self_->request(parts_.db, save_timeout, client_db::Save{std::move(batch)})
        .then([this, alloc_id](const client_db::Committed&) { destroyed(alloc_id); },
              [this, alloc_id](const Error&) { destroyed(alloc_id); });
  };
  self_->request(found->second.runner, destroy_timeout, alloc_runner::Destroy{})
      .then([gone](const alloc_runner::Done&) { gone(); },
            [gone, alloc_id](const Error& err) {
              log::error("client", "removing allocation {} failed: {}", short_id(alloc_id),
                         err.what);
              gone();
            });
}

void ClientState::destroyed(const std::string& alloc_id) {
  auto& alloc = allocs_.at(alloc_id);
  if (std::exchange(alloc.by_collection, false)) gc_.destroyed();
  gc_.unmark(alloc_id);
  alloc.destroying = false;
  alloc.runner = AllocRunner{};
  if (alloc.removed) {
    ask_for_all_ = ask_for_all_ || alloc.wanted_again;
    self_->send(sync_, sync::Forget{alloc_id});
    allocs_.erase(alloc_id);
  }
  answer_garbage(alloc_id);
  collect();
}

actor::Answer<client_api::Done> ClientState::collect_garbage(
    const client_api::CollectGarbage& msg) {
  if (msg.alloc_id.empty()) {
    std::vector<std::string> marked;
    for (const auto& [id, alloc] : allocs_)
      if (gc_.is_marked(id)) marked.push_back(id);
    if (marked.empty()) return client_api::Done{};
    for (const auto& id : marked)
      gc_.demand(id);
  } else {
    const auto found = allocs_.find(msg.alloc_id);
    if (found == allocs_.end()) return unknown(msg.alloc_id);
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
void ClientState::answer_garbage(const std::string& alloc_id) {
  const bool all_gone = gc_.marked() == 0
                        && std::none_of(allocs_.begin(), allocs_.end(),
                                        [](const auto& item) { return item.second.destroying; });
  std::erase_if(garbage_, [&](auto& waiting) {
    if (waiting.alloc_id != alloc_id && !(waiting.alloc_id.empty() && all_gone)) return false;
    waiting.promise.deliver(client_api::Done{});
    return true;
  });
}

/// A bug ended the runner: the allocation fails, so that the servers place it elsewhere, and
/// nothing of it is left running.
void ClientState::runner_crashed(const std::string& alloc_id, const Error& reason) {
  const auto found = allocs_.find(alloc_id);
  if (found == allocs_.end()) return;
  auto& alloc = found->second;
  alloc.runner = AllocRunner{};
  if (const auto group = workload::find_group(*alloc.job, view(alloc.alloc->getTaskGroup())))
    for (const auto task : group->getTasks())
      if (const auto driver = drivers_.find(copy(task.getDriver())); driver != drivers_.end())
        self_->request(driver->second, 1min, driver::DestroyTask{{alloc_id, copy(task.getName())}})
            .then([](const driver::Done&) {}, [](const Error&) {});
  storage::ClientBatch batch;
  client_db::erase_alloc(batch, alloc_id);
  release_job(*alloc.job, batch);
  self_->send(parts_.db, client_db::SaveLater{std::move(batch)});
  reject(alloc.alloc, alloc.job, "its runner failed: " + reason.what);
}

client_api::AllocCounts ClientState::counts() const {
  client_api::AllocCounts counts;
  counts.contacted = contacted_;
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

}  // namespace nomad::client::detail
