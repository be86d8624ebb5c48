#include "actors/client/node_allocs.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "actors/client/alloc_facts.hpp"
#include "actors/client/alloc_hooks.hpp"
#include "actors/client/alloc_tasks.hpp"
#include "actors/client/drivers/driver_objects.hpp"
#include "actors/client/tools/countdown.hpp"
#include "actors/client/tools/pass_question.hpp"
#include "actors/roles/node_replies.hpp"
#include "runtime/access/migrate_token.hpp"
#include "runtime/base/failpoint.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/overloaded.hpp"
#include "runtime/host/host_usage_reader.hpp"
#include "runtime/workload/client_status.hpp"
#include "runtime/workload/node/task_action.hpp"

namespace nomad::client {

namespace ledger_action = workload::ledger_action;

namespace {

using namespace std::chrono_literals;

constexpr auto save_timeout = 1min;
constexpr auto disk_timeout = 50s;

storage::ClientBatch batch_of(const ledger_action::RowChanges& rows) {
  storage::ClientBatch batch;
  for (const auto& row : rows)
    std::visit(
        Overloaded{
            [&](const ledger_action::PutAlloc& it) { client_db::put_alloc(batch, it.alloc); },
            [&](const ledger_action::PutJob& it) { client_db::put_job(batch, it.job); },
            [&](const ledger_action::ClearHealth& it) {
              client_db::put_health(batch, it.alloc_id, std::nullopt);
            },
            [&](const ledger_action::EraseAlloc& it) {
              client_db::erase_alloc(batch, it.alloc_id);
            },
            [&](const ledger_action::EraseJob& it) { client_db::erase_job(batch, it.job_key); }},
        row);
  return batch;
}

}  // namespace

const KnownDrivers& NodeAllocs::drivers() const {
  return *parts_.for_runners->tasks->drivers;
}

Error NodeAllocs::unknown(const std::string& alloc_id) {
  return {Errc::not_found, fmt::format("Unknown allocation \"{}\"", alloc_id)};
}

Result<access::Allowed> NodeAllocs::check_caller(const std::string& alloc_id,
                                                 const access::Asking& asking) const {
  const auto* entry = ledger_.find(alloc_id);
  if (!entry) return unknown(alloc_id);
  return access::authorize(asking, {entry->alloc->ns()});
}

// -- what it hears -------------------------------------------------------------------------------

void NodeAllocs::take_up(client_db::Loaded loaded, const workload::GcLimits& limits) {
  storage::ClientBatch unused;
  for (const auto& key : loaded.unused_jobs)
    client_db::erase_job(unused, key);
  self_->send(parts_.db, client_db::SaveLater{std::move(unused)});
  std::vector<workload::RestoredAlloc> restored;
  for (auto& saved : loaded.allocs) {
    restored.push_back({{saved.alloc, saved.job}, !saved.tasks.empty(), saved.acknowledged});
    saved_.emplace(std::string{saved.alloc->id()}, std::move(saved));
  }
  ledger_.begin(
      {.node_id = parts_.identity.id,
       .gc = limits,
       .fits = [this](auto alloc, auto job) { return parts_.check_alloc(drivers(), alloc, job); }},
      restored, time());
  perform();
  saved_.clear();
  actor::send_self_after(self_, parts_.gc_interval, CollectDue{});
}

void NodeAllocs::apply(workload::AssignedAllocs set, std::function<void(bool impatient)> then) {
  std::uint64_t reported = 0;
  for (const auto& each : set.allocs)
    reported = std::max(reported, each.alloc->report_number());
  go_on_above(reported);
  applied_ = std::move(then);
  ledger_.assign(set, time());
  perform();
}

/// Reports of a node that has lost its local state must not pass for old ones.
void NodeAllocs::go_on_above(std::uint64_t report_number) {
  const auto incarnation = parts_.report_numbers->heard(report_number);
  if (!incarnation) return;
  storage::ClientBatch batch;
  client_db::put_incarnation(batch, *incarnation);
  self_->send(parts_.db, client_db::SaveLater{std::move(batch)});
}

void NodeAllocs::servers_contacted() {
  ledger_.contacted();
  perform();
  orphans_.end_tasks(drivers(), kept_tasks());
  leave_orphaned_networks();
}

std::vector<driver::TaskId> NodeAllocs::kept_tasks() const {
  std::vector<driver::TaskId> kept;
  for (const auto& [id, entry] : ledger_.entries()) {
    if (!entry.has_runner() && !entry.is_leaving()) continue;
    if (const auto group = workload::find_group(*entry.job, entry.alloc->task_group()))
      for (const auto task : group->getTasks())
        kept.push_back({id, copy(task.getName())});
  }
  return kept;
}

void NodeAllocs::leave_orphaned_networks() {
  if (!ledger_.was_contacted()) return;
  orphans_.take_networks_down(
      *parts_.network, [this](const std::string& id) { return ledger_.find(id) != nullptr; });
}

void NodeAllocs::report_all() {
  ledger_.report_all(time());
  perform();
}

void NodeAllocs::stop_look(std::uint64_t round) {
  if (parts_.stopping) return;
  ledger_.look(round, time());
  perform();
}

void NodeAllocs::collect() {
  if (parts_.stopping) return;
  actor::send_self_after(self_, parts_.gc_interval, CollectDue{});
  look_at_disk();
  leave_orphaned_networks();
}

void NodeAllocs::look_at_disk() {
  if (!ledger_.has_to_collect()) return;
  self_
      ->request(parts_.steps, disk_timeout,
                blocking::make([root = parts_.alloc_dir] { return host::disk_usage(root); }))
      .then(
          [this](blocking::Outcome& outcome) {
            const auto usage = outcome.as<host::DiskUsage>();
            ledger_.disk_looked(usage.used_percent, usage.inodes_used_percent);
            perform();
          },
          [](const Error& err) {
            log::warn("client", "reading disk usage failed", {{"error", err}});
          });
}

actor::Answer<door::NodeReply> NodeAllocs::ask_runner(door::NodeAsk& msg) {
  const auto alloc_id = copy(msg->getAllocId());
  NOMAD_TRY(check_caller(alloc_id, door::asking(msg)));
  const auto runner = runners_.find(alloc_id);
  if (runner == runners_.end()) return unknown(alloc_id);
  return self_->delegate(runner->second, std::move(msg));
}

actor::Answer<door::NodeReply> NodeAllocs::answer(const door::NodeAsk& msg) {
  if (msg->isReadAllocUsage()) return usage(msg);
  if (msg->isReadChecks()) return checks(msg);
  if (msg->isReadIdentities()) return identities(msg);
  return collect_garbage(msg);
}

actor::Answer<door::NodeReply> NodeAllocs::collect_garbage(const door::NodeAsk& msg) {
  const auto alloc_id = msg->isCollectAlloc() ? copy(msg->getAllocId()) : std::string{};
  const auto asking = door::asking(msg);
  NOMAD_TRY(!msg->isCollectAlloc() ? access::authorize(asking, {})
                                   : check_caller(alloc_id, asking));
  auto promise = self_->make_response_promise<door::NodeReply>();
  collecting_.emplace(++last_ticket_, promise);
  ledger_.collect(alloc_id, last_ticket_);
  perform();
  return promise;
}

void NodeAllocs::status_changed(const alloc_runner::Status& msg) {
  ledger_.status_changed(msg.alloc_id, msg.status, msg.over);
  perform();
}

actor::Answer<alloc_runner::Ended> NodeAllocs::await_end(const alloc_runner::AwaitEnd& msg) {
  auto promise = self_->make_response_promise<alloc_runner::Ended>();
  awaiting_.emplace(++last_ticket_, promise);
  ledger_.await_end(msg.alloc_id, msg.for_whom, last_ticket_);
  perform();
  return promise;
}

bool NodeAllocs::child_down(const actor::Down& down) {
  const auto found = alloc_ids_.extract(down.source);
  if (!found) return false;
  const auto runner = runners_.find(found.mapped());
  if (!down.crashed || parts_.stopping || runner == runners_.end()
      || runner->second.address() != down.source)
    return true;
  runners_.erase(runner);
  ledger_.runner_crashed(found.mapped(), down.reason.what, time());
  perform();
  return true;
}

/// Nothing is left of it but its rows.
void NodeAllocs::removed(const std::string& alloc_id) {
  runners_.erase(alloc_id);
  NOMAD_FAILPOINT("client.before_erase");
  ledger_.removed(alloc_id);
  perform();
}

void NodeAllocs::rows_erased(const std::string& alloc_id) {
  NOMAD_FAILPOINT("client.removed");
  ledger_.rows_erased(alloc_id);
  perform();
}

// -- what the ledger decides ---------------------------------------------------------------------

void NodeAllocs::perform() {
  if (std::exchange(performing_, true)) return;  // What follows from an action comes after it.
  for (auto actions = ledger_.take(); !actions.empty(); actions = ledger_.take())
    for (const auto& action : actions)
      std::visit([this](const auto& it) { perform(it); }, action);
  performing_ = false;
}

void NodeAllocs::perform(const ledger_action::SaveLater& it) {
  self_->send(parts_.db, client_db::SaveLater{batch_of(it.rows)});
}

void NodeAllocs::perform(const ledger_action::Save& it) {
  const auto saved = [this, round = it.round](const Result<>& outcome) {
    if (parts_.stopping) return;
    NOMAD_FAILPOINT("client.assigned");
    ledger_.saved(round, outcome, time());
    perform();
  };
  self_->request(parts_.db, save_timeout, client_db::Save{batch_of(it.rows)})
      .then([saved](const client_db::Committed&) { saved({}); },
            [saved](const Error& err) { saved(err); });
}

void NodeAllocs::perform(const ledger_action::Flush& it) {
  self_->request(parts_.db, save_timeout, client_db::Save{})
      .then([this, alloc_id = it.alloc_id](const client_db::Committed&) { rows_erased(alloc_id); },
            [this, alloc_id = it.alloc_id](const Error&) { rows_erased(alloc_id); });
}

void NodeAllocs::perform(const ledger_action::Run& it) {
  const auto& entry = *ledger_.find(it.alloc_id);
  AllocSetup setup{.context = parts_.context,
                   .alloc = entry.alloc,
                   .job = entry.job,
                   .parent = self_.handle(),
                   .restored = it.restored,
                   .may_run = it.may_run,
                   .saved_tasks = {},
                   .saved_health = {}};
  if (it.restored) {
    auto& saved = saved_.at(it.alloc_id);
    setup.saved_tasks = std::move(saved.tasks);
    setup.saved_health = saved.health;
  }
  parts_.cpus.hold(*entry.alloc);
  auto runner = parts_.make_runner(self_, parts_.for_runners, std::move(setup));
  alloc_ids_.emplace(runner.address(), it.alloc_id);
  runners_.emplace(it.alloc_id, std::move(runner));
  parts_.runs_another();
}

void NodeAllocs::perform(const ledger_action::Begin& it) {
  self_->send(runners_.at(it.alloc_id), alloc_runner::Begin{});
}

void NodeAllocs::perform(const ledger_action::Assign& it) {
  const auto& entry = *ledger_.find(it.alloc_id);
  if (it.reconnects)
    self_->send(runners_.at(it.alloc_id), alloc_runner::Reconnect{entry.alloc, entry.job});
  else
    self_->send(runners_.at(it.alloc_id), alloc_runner::Assign{entry.alloc, entry.job});
}

void NodeAllocs::perform(const ledger_action::TellContacted& it) {
  self_->send(runners_.at(it.alloc_id), alloc_runner::ServersContacted{});
}

void NodeAllocs::perform(const ledger_action::ReportAgain& it) {
  self_->send(runners_.at(it.alloc_id), alloc_runner::ReportAgain{});
}

void NodeAllocs::perform(const ledger_action::Destroy& it) {
  // A runner that ends without an answer has crashed, or was told to leave the tasks alone.
  self_->request(runners_.at(it.alloc_id), actor::infinite, alloc_runner::Destroy{})
      .then([this, alloc_id = it.alloc_id](const alloc_runner::Done&) { removed(alloc_id); },
            [alloc_id = it.alloc_id](const Error& err) {
              log::warn("client", "an allocation was not removed by its runner",
                        {{"alloc", alloc_id}, {"error", err}});
            });
}

/// First its tasks end, then the hooks remove what they left: not the directory of a task that may
/// still run.
void NodeAllocs::perform(const ledger_action::RemoveAbandoned& it) {
  const auto& alloc_id = it.alloc_id;
  const auto& entry = *ledger_.find(alloc_id);
  const HookScope about = AllocFacts{.id = alloc_id, .alloc = entry.alloc, .job = entry.job}.scope(
      parts_.alloc_dir + '/' + alloc_id);
  const auto some_task_runs = std::make_shared<bool>(false);
  const Countdown one_less{[this, about, alloc_id, some_task_runs] {
    if (*some_task_runs) return removed(alloc_id);
    run_destroy_hooks(self_, parts_.for_runners->tasks->hooks, about,
                      [this, alloc_id] { removed(alloc_id); });
  }};
  if (const auto group = workload::find_group(*entry.job, entry.alloc->task_group()))
    for (const auto task : group->getTasks()) {
      one_less.await();
      end_abandoned(self_, *parts_.for_runners->tasks, alloc_id, task,
                    [one_less, some_task_runs](bool ended) {
                      if (!ended) *some_task_runs = true;
                      one_less();
                    });
    }
  one_less();
}

void NodeAllocs::perform(const ledger_action::Release& it) {
  parts_.cpus.release(it.alloc_id);
}

void NodeAllocs::perform(const ledger_action::Report& it) {
  self_->send(parts_.sync, sync::StateChanged{it.alloc_id, it.version, it.update, it.again});
}

void NodeAllocs::perform(const ledger_action::RestoreReports& it) {
  self_->send(parts_.sync, sync::Restore{it.alloc_id, it.acknowledged});
}

void NodeAllocs::perform(const ledger_action::ForgetReports& it) {
  self_->send(parts_.sync, sync::Forget{it.alloc_id});
}

void NodeAllocs::perform(const ledger_action::Applied& it) {
  applied_(it.impatient);
}

void NodeAllocs::perform(const ledger_action::WaitToLook& it) {
  actor::send_self_after(self_, it.delay, StopLook{it.round});
}

void NodeAllocs::perform(const ledger_action::AnswerEnd& it) {
  awaiting_.extract(it.ticket).mapped().deliver(alloc_runner::Ended{.here = it.here});
}

void NodeAllocs::perform(const ledger_action::AnswerCollection& it) {
  auto asked = collecting_.extract(it.ticket);
  if (it.outcome)
    asked.mapped().deliver(door::node_done());
  else
    asked.mapped().deliver(it.outcome.error());
}

void NodeAllocs::perform(const ledger_action::Log& it) {
  if (it.is_error)
    log::error("client", it.text, {{"alloc", it.alloc_id}, {"error", it.error}});
  else
    log::warn("client", it.text, {{"alloc", it.alloc_id}, {"error", it.error}});
}

// -- runners -------------------------------------------------------------------------------------

void NodeAllocs::driver_replaced(const alloc_runner::DriverReplaced& msg) {
  for (const auto& [id, runner] : runners_)
    self_->send(runner, alloc_runner::DriverReplaced{msg});
  if (msg.driver.driver && orphans_.owes(msg.name))
    orphans_.end_tasks_of(msg.name, msg.driver.driver, kept_tasks());
}

void NodeAllocs::stop(bool with_tasks, std::function<void()> then) {
  const Countdown one_less{std::move(then)};
  for (const auto& [id, runner] : runners_) {
    one_less.await();
    const auto gone = [one_less](const alloc_runner::Done&) { one_less(); };
    const auto failed = [one_less](const Error&) { one_less(); };
    if (with_tasks)
      self_->request(runner, 10min, alloc_runner::Destroy{}).then(gone, failed);
    else
      self_->request(runner, 15s, alloc_runner::Detach{}).then(gone, failed);
  }
  one_less();
}

void NodeAllocs::each_live(const std::function<void(const Live&)>& take) const {
  const AllocRunner none;
  for (const auto& [id, entry] : ledger_.entries()) {
    if (is_client_terminal(entry.status)) continue;
    const auto runner = runners_.find(id);
    take({entry.alloc, entry.job, runner == runners_.end() ? none : runner->second});
  }
}

bool NodeAllocs::has_live() const {
  return std::ranges::any_of(ledger_.entries(), [](const auto& entry) {
    return !is_client_terminal(entry.second.status);
  });
}

client_api::AllocCounts NodeAllocs::counts() const {
  client_api::AllocCounts counts;
  for (const auto& [id, entry] : ledger_.entries()) {
    if (!entry.is_gone()) ++counts.kept;
    if (is_client_terminal(entry.status))
      ++counts.terminal;
    else if (entry.status == schema::ClientStatus::RUNNING)
      ++counts.running;
    else
      ++counts.pending;
  }
  return counts;
}

actor::Answer<client_api::ExecStarted> NodeAllocs::exec(client_api::Exec& msg) {
  NOMAD_TRY(check_exec({msg.alloc_id, msg.task, msg.asking.who}));
  if (msg.task.empty()) return Error{Errc::invalid_argument, "must provide task name"};
  if (!msg.action.empty()) NOMAD_TRY(find_action(msg));
  if (msg.command.command.empty()) return Error{Errc::invalid_argument, "command is not present"};
  // Never its arguments: they may hold secrets.
  log::info("client", "a command is asked for beside a task",
            {{"alloc", msg.alloc_id},
             {"task", msg.task},
             {"action", msg.action},
             {"command", msg.command.command.front()},
             {"tty", msg.command.tty ? "true" : "false"}});
  return pass_on<client_api::ExecStarted>(msg);
}

/// Takes the command from the job.
Result<> NodeAllocs::find_action(client_api::Exec& msg) const {
  const auto* const entry = ledger_.find(msg.alloc_id);
  if (!entry) return unknown(msg.alloc_id);
  msg.command.command = NOMAD_TRY(workload::command_of_action({.alloc = *entry->alloc,
                                                               .job = *entry->job,
                                                               .job_id = msg.job_id,
                                                               .task = msg.task,
                                                               .action = msg.action}));
  return {};
}

Result<> NodeAllocs::check_exec(const client_api::MayExec& msg) const {
  using access::Capability;
  if (parts_.disable_remote_exec) return access::permission_denied();
  NOMAD_TRY(check_caller(msg.alloc_id, {msg.who, Capability::alloc_exec}));
  if (!is_isolated(msg.alloc_id, msg.task))
    NOMAD_TRY(check_caller(msg.alloc_id, {msg.who, Capability::alloc_node_exec}));
  return {};
}

actor::Answer<client_api::ExecAllowed> NodeAllocs::may_exec(const client_api::MayExec& msg) const {
  NOMAD_TRY(check_exec(msg));
  return client_api::ExecAllowed{};
}

/// Whether something keeps the task from its node. Of a task that is not known, whoever is asked
/// next says that.
bool NodeAllocs::is_isolated(const std::string& alloc_id, const std::string& task) const {
  const auto* const entry = ledger_.find(alloc_id);
  if (!entry) return true;
  const auto known = workload::find_task(*entry->alloc, *entry->job, task);
  if (!known) return true;
  const auto driver = drivers().find(copy(known->getDriver()));
  if (driver == drivers().end()) return false;
  const auto isolation = view(driver->second.capabilities().getFsIsolation());
  return isolation == "chroot" || isolation == "image";
}

/// The token is looked at first, so that nobody without one learns what is here.
actor::Answer<client_api::AllocDir> NodeAllocs::disk_of(const client_api::DiskOf& msg) {
  if (!access::is_migrate_token(msg.migrate_token, msg.alloc_id, parts_.identity.secret))
    return Error{Errc::permission_denied, "Permission denied"};
  const auto runner = runners_.find(msg.alloc_id);
  if (runner == runners_.end()) return unknown(msg.alloc_id);
  return self_->delegate(
      runner->second,
      client_api::AllocDirOf{msg.alloc_id, access::Asking::of_cluster("disk_migration")});
}

actor::Answer<door::NodeReply> NodeAllocs::usage(const door::NodeAsk& msg) {
  const auto alloc_id = copy(msg->getAllocId());
  NOMAD_TRY(check_caller(alloc_id, door::asking(msg)));
  const auto runner = runners_.find(alloc_id);
  if (runner == runners_.end()) return unknown(alloc_id);
  return pass_question<client_api::AllocUsage>(
      self_, runner->second, alloc_runner::ReadUsage{copy(msg->getReadAllocUsage())}, usage_reply);
}

actor::Answer<door::NodeReply> NodeAllocs::checks(const door::NodeAsk& msg) {
  const auto alloc_id = copy(msg->getAllocId());
  NOMAD_TRY(check_caller(alloc_id, door::asking(msg)));
  return pass_question<client_api::CheckReports>(self_, parts_.checks, check::ReportsOf{alloc_id},
                                                 checks_reply);
}

actor::Answer<door::NodeReply> NodeAllocs::identities(const door::NodeAsk& msg) {
  const auto alloc_id = copy(msg->getAllocId());
  NOMAD_TRY(check_caller(alloc_id, door::asking(msg)));
  return identities_reply(parts_.node_identities.list(alloc_id));
}

}  // namespace nomad::client
