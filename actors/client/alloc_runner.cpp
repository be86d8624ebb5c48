#include "actors/client/alloc_runner.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "actors/client/alloc_facts.hpp"
#include "actors/client/alloc_hooks.hpp"
#include "actors/client/alloc_tasks.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::client {

Result<> check_alloc(const ClientContext& context,
                     schema::Allocation::Reader alloc,
                     schema::Job::Reader job) {
  const auto group = workload::find_group(job, view(alloc.getTaskGroup()));
  if (!group)
    return Error{Errc::invalid_argument,
                 fmt::format("failed to lookup task group \"{}\"", view(alloc.getTaskGroup()))};
  for (const auto task : group->getTasks()) {
    const auto name = view(task.getName());
    if (!context.drivers.contains(copy(task.getDriver())))
      return Error{Errc::invalid_argument,
                   fmt::format("failed creating runner for task \"{}\": driver \"{}\" not found",
                               name, view(task.getDriver()))};
    bool has_resources = false;
    for (const auto entry : alloc.getAllocatedResources().getTasks())
      has_resources = has_resources || view(entry.getKey()) == name;
    if (!has_resources)
      return Error{Errc::invalid_argument,
                   fmt::format("failed creating runner for task \"{}\": no task resources found on "
                               "allocation",
                               name)};
  }
  return {};
}

namespace {

namespace event = workload::task_event;

class AllocState {
public:
  static constexpr const char* name = "alloc_runner";

  explicit AllocState(AllocSelf::pointer actor) : self_{actor} {}

  void init(AllocSetup setup);

  // What the parent says.
  void launch();  ///< Not `begin`: CAF would take the state for a container.
  void assign(Object<schema::Allocation> alloc, Object<schema::Job> job);
  void reconnect(Object<schema::Allocation> alloc, Object<schema::Job> job);
  void report_again();
  actor::Answer<alloc_runner::Done> destroy();
  actor::Answer<alloc_runner::Done> detach();
  actor::Answer<client_api::Done> restart(const client_api::RestartTask& msg);

  // What the tasks and hooks say.
  void task_changed(const task_runner::Changed& msg);
  void task_ended(const task_runner::Ended& msg);
  void health_decided(const hook::HealthDecided& msg);
  void review();
  void child_down(const actor::Address& source);

  AllocTasks& tasks() { return tasks_; }

private:
  enum class Step : std::uint8_t { idle, prerun, running, postrun, over, destroying, gone };

  bool should_run() const;
  void begin_tasks(const Result<>& prerun);
  void start_kill();
  void postrun();
  void over();
  void run_destroy();
  void save_health();
  void report();
  void request_review();
  actor::Answer<client_api::Done> restart_tasks(bool all_tasks);

  AllocSelf::pointer self_;
  AllocRunnerParent parent_;
  AllocFacts facts_;
  AllocTasks tasks_{self_, facts_};
  AllocHooks hooks_{self_, facts_};

  Step step_ = Step::idle;
  bool review_sent_ = false;
  bool setup_failed_ = false;
  bool again_ = false;         ///< The next report is sent even if it says nothing new.
  std::uint64_t version_ = 0;  ///< Of the last report.
  std::optional<schema::ClientStatus> reported_;
  std::vector<actor::Promise<alloc_runner::Done>> destroy_promises_;
};

void AllocState::init(AllocSetup setup) {
  parent_ = setup.parent;
  facts_ = {.context = setup.context,
            .id = copy(setup.alloc->getId()),
            .alloc = setup.alloc,
            .job = setup.job,
            .health = setup.saved_health};
  const auto assigned = setup.alloc->getDeploymentStatus();
  if (!facts_.health && assigned.getHealthy().isValue())
    facts_.health = workload::HealthStatus{.healthy = assigned.getHealthy().getValue(),
                                           .timestamp = assigned.getTimestamp()};
  tasks_.spawn(setup.saved_tasks, setup.restored, setup.restored || setup.may_run);
}

bool AllocState::should_run() const {
  return !workload::is_client_terminal(facts_.alloc->getClientStatus())
         && !workload::is_server_terminal(facts_.alloc->getDesiredStatus())
         && !workload::is_client_terminal(tasks_.status().status);
}

// -- life ----------------------------------------------------------------------------------------

void AllocState::launch() {
  if (step_ != Step::idle) return;
  step_ = Step::prerun;
  if (should_run())
    hooks_.prerun([this](const Result<>& outcome) { begin_tasks(outcome); });
  else
    begin_tasks({});
}

void AllocState::begin_tasks(const Result<>& prerun) {
  if (!prerun) {
    setup_failed_ = true;
    tasks_.tell(task_runner::FailSetup{"failed to setup alloc: " + prerun.error().what});
  }
  step_ = Step::running;
  tasks_.begin();
}

void AllocState::start_kill() {
  if (tasks_.is_killing() || step_ > Step::running) return;
  if (step_ == Step::idle || step_ == Step::prerun) hooks_.cancel_prerun();
  launch();  // Does nothing unless it is still idle; then the tasks end before they start.
  tasks_.begin_killing();
  hooks_.ask<hook::PreKill>(Phase::pre_kill, [this] { tasks_.hooks_answered(); });
}

void AllocState::postrun() {
  hooks_.ask<hook::Postrun>(Phase::postrun, [this] { over(); });
}

void AllocState::over() {
  step_ = Step::over;
  hooks_.stop();
  report();
  self_->send(parent_, alloc_runner::Status{facts_.id, tasks_.status().status, true});
  if (!destroy_promises_.empty()) run_destroy();
}

actor::Answer<alloc_runner::Done> AllocState::destroy() {
  destroy_promises_.push_back(self_->make_response_promise<alloc_runner::Done>());
  auto answer = destroy_promises_.back();
  if (step_ == Step::over)
    run_destroy();
  else if (step_ != Step::destroying)
    start_kill();
  return answer;
}

void AllocState::run_destroy() {
  step_ = Step::destroying;
  hooks_.destroy([this] {
    step_ = Step::gone;
    for (const auto& promise : destroy_promises_)
      promise.deliver(alloc_runner::Done{});
    self_->quit();
  });
}

actor::Answer<alloc_runner::Done> AllocState::detach() {
  step_ = Step::gone;  // What happens from now on is the next agent's to tell.
  const auto promise = self_->make_response_promise<alloc_runner::Done>();
  tasks_.detach([this, promise] {
    promise.deliver(alloc_runner::Done{});
    self_->quit();
  });
  return promise;
}

// -- changes -------------------------------------------------------------------------------------

void AllocState::assign(Object<schema::Allocation> alloc, Object<schema::Job> job) {
  if (alloc->getAllocModifyIndex() < facts_.alloc->getAllocModifyIndex()) return;
  if (step_ == Step::over || step_ == Step::destroying || step_ == Step::gone) return;
  const bool was_stopping = workload::is_server_terminal(facts_.alloc->getDesiredStatus());
  const bool stops = workload::is_server_terminal(alloc->getDesiredStatus());
  const bool new_deployment
      = view(alloc->getDeploymentId()) != view(facts_.alloc->getDeploymentId());
  facts_.alloc = std::move(alloc);
  facts_.job = std::move(job);

  const auto transition = facts_.alloc->getDesiredTransition().getNoShutdownDelay();
  if (transition.isValue() && transition.getValue()) tasks_.skip_delay();
  if (!stops) {
    if (new_deployment) {
      facts_.health.reset();
      save_health();
      // Otherwise prerun starts it, with the allocation as it is now.
      if (step_ == Step::running && hooks_.renew_health_watcher()) request_review();
    }
    hooks_.tell(hook::AllocChanged{facts_.alloc, facts_.job});
  }
  tasks_.tell(task_runner::Assign{facts_.alloc, facts_.job});
  if (stops && !was_stopping) start_kill();
}

void AllocState::reconnect(Object<schema::Allocation> alloc, Object<schema::Job> job) {
  if (alloc->getAllocModifyIndex() < facts_.alloc->getAllocModifyIndex()) return;
  tasks_.tell(task_runner::Tell{event::make(event::reconnected, facts_.unix_now())});
  facts_.alloc = std::move(alloc);
  facts_.job = std::move(job);
  tasks_.tell(task_runner::Assign{facts_.alloc, facts_.job});
  report_again();  // The servers' copy says "unknown": whatever it is now is news.
}

void AllocState::report_again() {
  if (step_ == Step::destroying || step_ == Step::gone) return;
  again_ = true;
  request_review();
}

void AllocState::save_health() {
  storage::ClientBatch batch;
  client_db::put_health(batch, facts_.id, facts_.health);
  self_->send(facts_.context->db, client_db::SaveLater{std::move(batch)});
}

void AllocState::health_decided(const hook::HealthDecided& msg) {
  if (facts_.health || tasks_.is_killing()) return;
  const auto now = facts_.unix_now();
  facts_.health = workload::HealthStatus{.healthy = msg.healthy, .timestamp = now};
  save_health();
  if (facts_.alloc->getDeploymentId().size() > 0)
    for (const auto& [index, reason] : msg.reasons)
      tasks_.tell_one(index, event::message(event::alloc_unhealthy, now, reason));
  request_review();
}

void AllocState::child_down(const actor::Address& source) {
  hooks_.child_down(source);
  if (step_ != Step::gone && tasks_.child_down(source)) request_review();
}

actor::Answer<client_api::Done> AllocState::restart(const client_api::RestartTask& msg) {
  if (!msg.task.empty() && msg.all_tasks)
    return Error{Errc::invalid_argument, "task name cannot be set when restarting all tasks"};
  return msg.task.empty() ? restart_tasks(msg.all_tasks) : tasks_.restart_one(msg.task);
}

actor::Answer<client_api::Done> AllocState::restart_tasks(bool all_tasks) {
  if (!should_run() || tasks_.is_killing())
    return Error{Errc::rejected, "restart of an alloc that should not run"};
  if (all_tasks) tasks_.reset_order();
  const auto promise = self_->make_response_promise<client_api::Done>();
  hooks_.ask<hook::PreTaskRestart>(
      Phase::pre_task_restart, [this, promise, all_tasks] { tasks_.restart(all_tasks, promise); });
  if (all_tasks) request_review();
  return promise;
}

// -- what follows from the states of tasks -------------------------------------------------------

void AllocState::task_changed(const task_runner::Changed& msg) {
  tasks_.changed(msg);
  request_review();
}

void AllocState::task_ended(const task_runner::Ended& msg) {
  tasks_.ended(msg);
  request_review();
}

void AllocState::request_review() {
  if (std::exchange(review_sent_, true)) return;
  actor::send_self(self_, alloc_runner::Review{});
}

void AllocState::review() {
  review_sent_ = false;
  if (step_ == Step::gone) return;
  if (tasks_.react_to_deaths()) start_kill();
  tasks_.advance();
  report();
  if (hooks_.has_actors()) hooks_.tell(hook::TasksChanged{tasks_.states(), setup_failed_});
  if (!tasks_.all_ended() || step_ != Step::running) return;
  step_ = Step::postrun;
  if (tasks_.is_killing())
    postrun();
  else
    hooks_.ask<hook::PreKill>(Phase::pre_kill, [this] { postrun(); });
}

void AllocState::report() {
  const auto summary = tasks_.status();
  const bool terminal = workload::is_client_terminal(summary.status);
  if (terminal && summary.status == schema::ClientStatus::FAILED && !facts_.health
      && facts_.alloc->getDeploymentId().size() > 0)
    facts_.health = workload::HealthStatus{.healthy = false, .timestamp = facts_.unix_now()};
  const workload::AllocReport about{.alloc_id = facts_.id,
                                    .node_id = facts_.context->node_id,
                                    .status = summary.status,
                                    .description = summary.description,
                                    .tasks = tasks_.reports(terminal),
                                    .health = facts_.health,
                                    .assigned = *facts_.alloc};
  const bool again = std::exchange(again_, false);
  sync::StateChanged change{facts_.id, ++version_, workload::make_update(about, facts_.unix_now()),
                            again};
  if (reported_ == summary.status && !again) {
    self_->send(facts_.context->sync, std::move(change));
    return;
  }
  actor::send_urgent(self_, facts_.context->sync, std::move(change));
  if (std::exchange(reported_, summary.status) != summary.status)
    self_->send(parent_, alloc_runner::Status{facts_.id, summary.status, false});
}

AllocSelf::behavior_type alloc_runner_actor(AllocSelf::stateful_pointer<AllocState> self,
                                            AllocSetup setup) {
  actor::on_down(self, [self](const actor::Down& down) { self->state.child_down(down.source); });
  self->state.init(std::move(setup));
  return {
      [self](alloc_runner::Begin) { self->state.launch(); },
      [self](alloc_runner::Assign& msg) {
        self->state.assign(std::move(msg.alloc), std::move(msg.job));
      },
      [self](alloc_runner::Reconnect& msg) {
        self->state.reconnect(std::move(msg.alloc), std::move(msg.job));
      },
      [self](alloc_runner::ReportAgain) { self->state.report_again(); },
      [self](alloc_runner::ServersContacted) {
        self->state.tasks().tell(task_runner::ServersContacted{});
      },
      [self](const alloc_runner::DriverReplaced& msg) { self->state.tasks().driver_replaced(msg); },
      [self](alloc_runner::Destroy) { return self->state.destroy(); },
      [self](alloc_runner::Detach) { return self->state.detach(); },
      [self](const client_api::RestartTask& msg) { return self->state.restart(msg); },
      [self](const client_api::SignalTask& msg) { return self->state.tasks().signal(msg); },
      [self](const client_api::AllocStats& msg) { return self->state.tasks().stats(msg); },
      [self](const client_api::AllocDirOf&) { return self->state.tasks().directory(); },
      [self](client_api::Exec& msg) { return self->state.tasks().exec(msg); },
      [self](const task_runner::Changed& msg) { self->state.task_changed(msg); },
      [self](const task_runner::Ended& msg) { self->state.task_ended(msg); },
      [self](const hook::HealthDecided& msg) { self->state.health_decided(msg); },
      [self](alloc_runner::Review) { self->state.review(); },
  };
}

}  // namespace

AllocRunner spawn_alloc_runner(const actor::Owner& owner, AllocSetup setup) {
  return actor::spawn(owner, alloc_runner_actor, std::move(setup));
}

}  // namespace nomad::client
