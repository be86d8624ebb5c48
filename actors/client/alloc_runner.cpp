#include "actors/client/alloc_runner.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "actors/client/alloc/await_end.hpp"
#include "actors/client/alloc/task_orders.hpp"
#include "actors/client/alloc_facts.hpp"
#include "actors/client/alloc_hooks.hpp"
#include "actors/client/alloc_tasks.hpp"
#include "actors/client/hooks/hook_objects.hpp"
#include "actors/client/hooks/hook_resources.hpp"
#include "actors/client/hooks/network_hook.hpp"
#include "actors/client/task/task_commands.hpp"
#include "actors/client/task/task_config.hpp"
#include "actors/core/newest.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::client {

namespace {

namespace event = workload::task_event;

constexpr auto report_timeout = std::chrono::seconds{30};

/// Whether an earlier agent has started a task, or was about to.
bool have_begun(const AllocTasks::Saved& tasks) {
  return std::ranges::any_of(tasks, [](const auto& saved) {
    const auto& task = *saved.second;
    return task.getRunId().size() > 0 || task.getState().getStartedAt() != 0;
  });
}

/// The allocation with the network that it has here: the servers hear of it later, and hooks go by
/// it. One without an address of its own is left as it is.
Object<schema::Allocation> with_network(Object<schema::Allocation> alloc,
                                        const Object<schema::AllocNetworkStatus>& network) {
  if (!network || network->getAddress().size() == 0) return alloc;
  if (view(alloc->network_status().getAddress()) == view(network->getAddress())) return alloc;
  Draft<schema::Allocation> changed{alloc};
  changed->setNetworkStatus(*network);
  return changed.freeze();
}

class AllocState {
public:
  static constexpr const char* name = "alloc_runner";

  explicit AllocState(AllocSelf::pointer actor) : self_{actor} {}

  void init(std::shared_ptr<const AllocParts> parts, AllocSetup setup);

  // What the parent says.
  void launch();  ///< Not `begin`: CAF would take the state for a container.
  void assign(Object<schema::Allocation> alloc, Object<schema::Job> job);
  void reconnect(Object<schema::Allocation> alloc, Object<schema::Job> job);
  void report_again();
  void disk_looked(const alloc_runner::DiskLooked& msg);
  actor::Answer<alloc_runner::Done> destroy();
  actor::Answer<alloc_runner::Done> detach();
  actor::Answer<door::NodeReply> answer(const door::NodeAsk& msg);

  // What the tasks and hooks say.
  void task_changed(const task_runner::Changed& msg);
  void task_ended(const task_runner::Ended& msg);
  void heard(const schema::plugin::Notice::Reader& notice);
  actor::Answer<plugin_agent::Answered> asked(const schema::plugin::AgentRequest::Reader& request);
  void review();
  void delay_over();
  void child_down(const actor::Down& down);

  AllocTasks& tasks() { return tasks_; }

  /// Few allocations ever have either.
  TaskCommands& commands() {
    if (!commands_) commands_ = std::make_unique<TaskCommands>(self_);
    return *commands_;
  }

  HookResources& resources() {
    if (!resources_) resources_ = std::make_unique<HookResources>();
    return *resources_;
  }

private:
  enum class Phase : std::uint8_t { idle, prerun, running, postrun, over, destroying, gone };

  bool should_run() const;
  void begin_tasks(const Result<>& prerun);
  void start_kill();
  void wait_shutdown_delay();
  void postrun();
  void over();
  void run_destroy();
  void save_health();
  void health_decided(schema::plugin::Health::Reader health);
  void hook_failed(const HookEntry& hook, const Error& err);
  void report();
  void request_review();
  actor::Answer<door::NodeReply> restart(schema::door::RestartTasks::Reader order);
  actor::Answer<door::NodeReply> restart_tasks(bool all_tasks);
  actor::Answer<plugin_agent::Answered> tell_servers(
      const schema::plugin::AgentRequest::Reader& request);
  actor::Answer<plugin_agent::Answered> restart_for_hook(
      const schema::plugin::AgentRequest::Reader& request);

  std::int64_t unix_now() const { return context_->unix_now(); }

  AllocSelf::pointer self_;
  std::shared_ptr<const AllocParts> parts_;
  std::shared_ptr<const RunnerContext> context_;
  AllocRunnerParent parent_;
  AllocFacts facts_;
  AllocTasks tasks_{self_, facts_};
  AllocHooks hooks_{self_, facts_,
                    [this](const HookEntry& hook, const Error& err) { hook_failed(hook, err); }};
  std::unique_ptr<TaskCommands> commands_;    ///< `commands`
  std::unique_ptr<HookResources> resources_;  ///< `resources`
  workload::DiskWatch disk_;
  std::vector<workload::CheckStanding> checks_;  ///< As a hook told last.
  Object<schema::AllocNetworkStatus> network_;   ///< Likewise, or the host's.

  Phase phase_ = Phase::idle;
  bool review_sent_ = false;
  bool setup_failed_ = false;
  bool waits_delay_ = false;   ///< The group's shutdown_delay is under way.
  bool again_ = false;         ///< The next report is sent even if it says nothing new.
  std::uint64_t version_ = 0;  ///< Of the last report.
  std::optional<schema::ClientStatus> reported_;
  actor::Newest<AllocSync, sync::StateChanged> reports_;
  std::vector<actor::Promise<alloc_runner::Done>> destroy_promises_;
};

void AllocState::init(std::shared_ptr<const AllocParts> parts, AllocSetup setup) {
  parts_ = std::move(parts);
  context_ = setup.context;
  parent_ = setup.parent;
  facts_ = {.id = std::string{setup.alloc->id()},
            .alloc = setup.alloc,
            .job = setup.job,
            .health = setup.saved_health,
            .begun = have_begun(setup.saved_tasks)};
  if (setup.alloc->has_network_status())
    network_ = Object<schema::AllocNetworkStatus>::freeze(setup.alloc->network_status());
  else if (const auto group = workload::find_group(*setup.job, setup.alloc->task_group()))
    network_ = workload::host_network_status(*group);
  if (const auto health = setup.alloc->health(); health && !facts_.health)
    facts_.health = workload::HealthStatus{
        .healthy = *health, .timestamp = setup.alloc->deployment_status().getTimestamp()};
  const auto& for_tasks = parts_->tasks;
  hooks_.equip({for_tasks->hooks->of_allocs, *for_tasks->node, *for_tasks->drivers});
  tasks_.spawn({for_tasks, parts_->task_metrics.get()}, setup.saved_tasks, setup.restored,
               setup.restored || setup.may_run);
}

bool AllocState::should_run() const {
  return !facts_.alloc->is_client_terminal() && !facts_.alloc->is_server_terminal()
         && !is_client_terminal(tasks_.status().status);
}

// -- life ----------------------------------------------------------------------------------------

void AllocState::launch() {
  if (phase_ != Phase::idle) return;
  phase_ = Phase::prerun;
  if (should_run())
    hooks_.prerun([this](const Result<>& outcome) { begin_tasks(outcome); });
  else
    begin_tasks({});
}

void AllocState::begin_tasks(const Result<>& prerun) {
  if (phase_ != Phase::prerun) return;  // The agent ends.
  if (!prerun) {
    setup_failed_ = true;
    tasks_.tell(task_runner::FailSetup{"failed to setup alloc: " + prerun.error().what});
  }
  phase_ = Phase::running;
  if (const auto joined = resources_ ? resources_->text(namespace_resource) : std::string{};
      !joined.empty())
    tasks_.tell(task_runner::Joins{joined});
  tasks_.begin();
}

void AllocState::start_kill() {
  if (tasks_.is_killing() || phase_ > Phase::running) return;
  if (phase_ == Phase::idle || phase_ == Phase::prerun) hooks_.cancel_prerun();
  launch();  // Does nothing unless it is still idle; then the tasks end before they start.
  tasks_.begin_killing();
  hooks_.ask(HookPhase::PRE_KILL, [this] { wait_shutdown_delay(); });
}

/// Services are gone by now; who still has their addresses is given time to hear of it.
void AllocState::wait_shutdown_delay() {
  Nanoseconds delay{0};
  if (const auto group = workload::find_group(*facts_.job, facts_.alloc->task_group()))
    if (group->getShutdownDelay().isValue())
      delay = Nanoseconds{group->getShutdownDelay().getValue()};
  waits_delay_ = true;
  if (delay.count() <= 0 || tasks_.skips_delay() || tasks_.all_ended()) return delay_over();
  actor::send_self_after(self_, delay, alloc_runner::DelayOver{});
}

void AllocState::delay_over() {
  if (std::exchange(waits_delay_, false)) tasks_.hooks_answered();
}

void AllocState::postrun() {
  hooks_.ask(HookPhase::POSTRUN, [this] { hooks_.dismiss_watchers([this] { over(); }); });
}

void AllocState::over() {
  phase_ = Phase::over;
  hooks_.stop();
  report();
  self_->send(parent_, alloc_runner::Status{facts_.id, tasks_.status().status, true});
  if (!destroy_promises_.empty()) run_destroy();
}

actor::Answer<alloc_runner::Done> AllocState::destroy() {
  destroy_promises_.push_back(self_->make_response_promise<alloc_runner::Done>());
  auto answer = destroy_promises_.back();
  if (phase_ == Phase::over)
    run_destroy();
  else if (phase_ != Phase::destroying)
    start_kill();
  return answer;
}

void AllocState::run_destroy() {
  phase_ = Phase::destroying;
  const auto& for_tasks = *parts_->tasks;
  const auto scope = facts_.scope(for_tasks.node->alloc_root(facts_.id));
  run_destroy_hooks(self_, for_tasks.hooks, scope, [this] {
    phase_ = Phase::gone;
    reports_.flush(self_);  // Before the parent hears it, and tells who takes reports to forget it.
    for (const auto& promise : destroy_promises_)
      promise.deliver(alloc_runner::Done{});
    self_->quit();
  });
}

actor::Answer<alloc_runner::Done> AllocState::detach() {
  phase_ = Phase::gone;  // What happens from now on is the next agent's to tell.
  const auto promise = self_->make_response_promise<alloc_runner::Done>();
  hooks_.cancel_prerun();
  tasks_.detach([this, promise] {
    hooks_.ask(HookPhase::SHUTDOWN, [this, promise] {
      reports_.flush(self_);
      promise.deliver(alloc_runner::Done{});
      self_->quit();
    });
  });
  return promise;
}

// -- changes -------------------------------------------------------------------------------------

void AllocState::assign(Object<schema::Allocation> alloc, Object<schema::Job> job) {
  if (alloc->alloc_modify_index() < facts_.alloc->alloc_modify_index()) return;
  if (phase_ == Phase::over || phase_ == Phase::destroying || phase_ == Phase::gone) return;
  const bool was_stopping = facts_.alloc->is_server_terminal();
  const bool stops = alloc->is_server_terminal();
  const bool new_deployment = alloc->deployment_id() != facts_.alloc->deployment_id();
  facts_.alloc = with_network(std::move(alloc), network_);
  facts_.job = std::move(job);

  if (facts_.alloc->skips_shutdown_delay()) {
    tasks_.skip_delay();
    delay_over();
  }
  if (!stops) {
    if (new_deployment) {
      facts_.health.reset();
      save_health();
    }
    if (phase_ == Phase::running) hooks_.update();  // Otherwise prerun sees what it is now.
    if (new_deployment) request_review();
  }
  tasks_.tell(task_runner::Assign{facts_.alloc, facts_.job});
  if (stops && !was_stopping) start_kill();
}

void AllocState::reconnect(Object<schema::Allocation> alloc, Object<schema::Job> job) {
  if (alloc->alloc_modify_index() < facts_.alloc->alloc_modify_index()) return;
  tasks_.tell(task_runner::Tell{event::make(event::reconnected, unix_now())});
  facts_.alloc = with_network(std::move(alloc), network_);
  facts_.job = std::move(job);
  tasks_.tell(task_runner::Assign{facts_.alloc, facts_.job});
  report_again();  // The servers' copy says "unknown": whatever it is now is news.
}

void AllocState::report_again() {
  if (phase_ == Phase::destroying || phase_ == Phase::gone) return;
  again_ = true;
  request_review();
  if (phase_ != Phase::running) return;
  hooks_.update(/*again=*/true);
  tasks_.tell(task_runner::TellServersAgain{});
}

void AllocState::disk_looked(const alloc_runner::DiskLooked& msg) {
  if (phase_ != Phase::running || tasks_.is_killing()) return;
  const auto running = tasks_.running();
  auto verdict = disk_.look(
      msg.look,
      {.size_mb = facts_.alloc->resources().getShared().getDiskMb(), .enforce = msg.enforce},
      running, unix_now());
  for (auto& [task, event] : verdict.news)
    if (task.empty())
      tasks_.tell(task_runner::Tell{std::move(event)});
    else
      tasks_.tell_one(task, std::move(event));
  if (verdict.kill) start_kill();
}

void AllocState::save_health() {
  storage::ClientBatch batch;
  client_db::put_health(batch, facts_.id, facts_.health);
  self_->send(parts_->db, client_db::SaveLater{std::move(batch)});
}

void AllocState::health_decided(schema::plugin::Health::Reader health) {
  // A failure is reported, and its siblings are killed, before the watcher can say why.
  const bool explains
      = !health.getHealthy() && tasks_.any_failed() && !facts_.alloc->is_server_terminal();
  if ((facts_.health || tasks_.is_killing()) && !explains) return;
  const auto now = unix_now();
  if (!facts_.health)
    facts_.health = workload::HealthStatus{.healthy = health.getHealthy(), .timestamp = now};
  save_health();
  if (!facts_.alloc->deployment_id().empty())
    for (const auto reason : health.getReasons())
      tasks_.tell_one(view(reason.getKey()),
                      event::message(event::alloc_unhealthy, now, copy(reason.getValue())));
  request_review();
}

void AllocState::child_down(const actor::Down& down) {
  hooks_.child_down(down);
  if (phase_ != Phase::gone && tasks_.child_down(down.source)) request_review();
}

// -- what hooks say and ask ----------------------------------------------------------------------

void AllocState::hook_failed(const HookEntry& hook, const Error& err) {
  log::error("client", "a hook failed",
             {{"alloc", facts_.id}, {"hook", hook.name}, {"error", err}});
  tasks_.tell(task_runner::Tell{
      event::message(event::hook_failed, unix_now(), fmt::format("{}: {}", hook.name, err.what))});
}

void AllocState::heard(const schema::plugin::Notice::Reader& notice) {
  using Which = schema::plugin::Notice::Which;
  switch (notice.which()) {
    case Which::EVENT:
      if (notice.getTask().size() > 0)
        tasks_.tell_one(view(notice.getTask()), read_event(notice.getEvent()));
      else
        tasks_.tell(task_runner::Tell{read_event(notice.getEvent())});
      request_review();
      return;
    case Which::HEALTH:
      health_decided(notice.getHealth());
      return;
    case Which::CHECKS:
      checks_ = read_standings(notice.getChecks());
      request_review();
      return;
    case Which::NETWORK:
      network_ = Object<schema::AllocNetworkStatus>::freeze(notice.getNetwork());
      facts_.alloc = with_network(std::move(facts_.alloc), network_);
      tasks_.tell(task_runner::Assign{facts_.alloc, facts_.job});
      request_review();
      return;
    default:
      log::warn("client", "a hook told something that is not its to tell", {{"alloc", facts_.id}});
  }
}

actor::Answer<plugin_agent::Answered> AllocState::asked(
    const schema::plugin::AgentRequest::Reader& request) {
  using Which = schema::plugin::AgentRequest::Which;
  switch (request.which()) {
    case Which::RESTART:
      return restart_for_hook(request);
    case Which::KILL:
      if (request.getTask().size() > 0)
        return kill_task(self_, tasks_.runner_of(view(request.getTask())), request.getKill());
      if (phase_ > Phase::running) return Error{Errc::rejected, "the allocation has ended"};
      tasks_.tell(task_runner::Tell{read_event(request.getKill())});
      start_kill();
      return plugin_agent::Answered{};
    case Which::GET_RESOURCE:
      return plugin_agent::Answered{resources().get(view(request.getGetResource()))};
    case Which::PUT_RESOURCE: {
      auto put = resources().put(request.getPutResource());
      if (!put) return put.error();
      return plugin_agent::Answered{std::move(*put)};
    }
    case Which::RUN: {
      const auto task = tasks_.runner_of(view(request.getTask()));
      if (!task) return Error{Errc::not_found, "the task does not run"};
      return commands().run(task, request.getRun());
    }
    case Which::SIGNAL:
      return signal_task(self_, tasks_.runner_of(view(request.getTask())), request.getSignal());
    case Which::AWAIT_END:
      return await_end(self_, facts_, {context_->node_id, parts_->servers}, parent_,
                       copy(request.getAwaitEnd()));
    case Which::REGISTER:
    case Which::DEREGISTER:
      return tell_servers(request);
    default:
      return Error{Errc::rejected, "this agent cannot answer that"};
  }
}

/// What servers ask about this allocation; who asks was judged by NodeAllocs.
actor::Answer<door::NodeReply> AllocState::answer(const door::NodeAsk& msg) {
  if (msg->isRestartTasks()) return restart(msg->getRestartTasks());
  if (msg->isSignalTasks()) return tasks_.signal(msg->getSignalTasks());
  if (msg->isPauseTask()) return tasks_.pause(msg->getPauseTask());
  if (msg->isReadPause()) return tasks_.read_pause(view(msg->getReadPause()));
  if (msg->isReadUsageHistory()) return tasks_.history(copy(msg->getReadUsageHistory()));
  return Error{Errc::not_found, "a runner does not answer that"};
}

actor::Answer<door::NodeReply> AllocState::restart(schema::door::RestartTasks::Reader order) {
  const auto task = copy(order.getTask());
  if (!task.empty() && order.getAll())
    return Error{Errc::invalid_argument, "task name cannot be set when restarting all tasks"};
  return task.empty() ? restart_tasks(order.getAll()) : tasks_.restart_one(task);
}

actor::Answer<door::NodeReply> AllocState::restart_tasks(bool all_tasks) {
  if (!should_run() || tasks_.is_killing())
    return Error{Errc::rejected, "restart of an alloc that should not run"};
  if (all_tasks) tasks_.reset_order();
  const auto promise = self_->make_response_promise<door::NodeReply>();
  hooks_.ask(HookPhase::TASK_RESTART,
             [this, promise, all_tasks] { tasks_.restart(all_tasks, promise); });
  if (all_tasks) request_review();
  return promise;
}

/// The services of this allocation, and no other's: the servers see to that.
actor::Answer<plugin_agent::Answered> AllocState::tell_servers(
    const schema::plugin::AgentRequest::Reader& request) {
  const auto promise = self_->make_response_promise<plugin_agent::Answered>();
  const auto done = [promise](const door::Reply&) { promise.deliver(plugin_agent::Answered{}); };
  const auto failed = [promise](const Error& err) { promise.deliver(err); };
  door::Rows rows;
  if (request.isRegister())
    for (const auto service : request.getRegister())
      rows.emplace_back(Object<schema::ServiceRegistration>::freeze(service));
  auto order = door::make_ask(
      context_->node_id,
      [&](auto& ask) {
        if (request.isRegister()) return ask.setRegisterServices();
        auto gone = ask.initDeregisterServices();
        gone.setAllocId(text(facts_.id));
        gone.setIds(request.getDeregister());
      },
      std::move(rows));
  self_->request(parts_->servers, report_timeout, std::move(order)).then(done, failed);
  return promise;
}

/// As the reference has it for checks: running tasks only, and the restart policy may count it.
actor::Answer<plugin_agent::Answered> AllocState::restart_for_hook(
    const schema::plugin::AgentRequest::Reader& request) {
  if (!should_run() || tasks_.is_killing())
    return Error{Errc::rejected, "restart of an alloc that should not run"};
  const auto promise = self_->make_response_promise<plugin_agent::Answered>();
  task_runner::Restart order{
      .event = event::restart_asked(unix_now(), view(request.getRestart().getReason())),
      .failure = request.getRestart().getFailure()};
  const auto then = [promise] { promise.deliver(plugin_agent::Answered{}); };
  if (request.getTask().size() > 0)
    tasks_.restart_running(copy(request.getTask()), order, then);
  else
    hooks_.ask(HookPhase::TASK_RESTART,
               [this, order, then] { tasks_.restart_running({}, order, then); });
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
  if (phase_ == Phase::gone) return;
  if (tasks_.react_to_deaths()) start_kill();
  tasks_.advance();
  report();
  if (hooks_.is_watched())
    hooks_.tell({task_states(tasks_.names(), tasks_.states(), setup_failed_, checks_)});
  if (!tasks_.all_ended() || phase_ != Phase::running) return;
  phase_ = Phase::postrun;
  if (tasks_.is_killing())
    postrun();
  else
    hooks_.ask(HookPhase::PRE_KILL, [this] { postrun(); });
}

void AllocState::report() {
  const auto summary = tasks_.status();
  const bool terminal = is_client_terminal(summary.status);
  if (terminal && summary.status == schema::ClientStatus::FAILED && !facts_.health
      && !facts_.alloc->deployment_id().empty())
    facts_.health = workload::HealthStatus{.healthy = false, .timestamp = unix_now()};
  const workload::AllocReport about{.alloc_id = facts_.id,
                                    .node_id = context_->node_id,
                                    .status = summary.status,
                                    .description = summary.description,
                                    .tasks = tasks_.reports(terminal),
                                    .health = facts_.health,
                                    .assigned = *facts_.alloc,
                                    .network = *network_};
  sync::StateChanged change{facts_.id, ++version_, workload::make_update(about, unix_now()),
                            std::exchange(again_, false)};
  const bool is_urgent = change.again || reported_ != summary.status;
  reports_.tell(self_, context_->sync, std::move(change),
                is_urgent ? actor::Priority::urgent : actor::Priority::normal);
  if (std::exchange(reported_, summary.status) != summary.status)
    self_->send(parent_, alloc_runner::Status{facts_.id, summary.status, false});
}

AllocSelf::behavior_type alloc_runner_actor(AllocSelf::stateful_pointer<AllocState> self,
                                            std::shared_ptr<const AllocParts> parts,
                                            AllocSetup setup) {
  actor::on_down(self, [self](const actor::Down& down) { self->state.child_down(down); });
  self->state.init(std::move(parts), std::move(setup));
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
      [self](const alloc_runner::DiskLooked& msg) { self->state.disk_looked(msg); },
      [self](alloc_runner::Destroy) { return self->state.destroy(); },
      [self](alloc_runner::Detach) { return self->state.detach(); },
      [self](const door::NodeAsk& msg) { return self->state.answer(msg); },
      [self](const alloc_runner::ReadUsage& msg) { return self->state.tasks().usage(msg.task); },
      [self](const client_api::AllocDirOf&) { return self->state.tasks().directory(); },
      [self](client_api::Exec& msg) { return self->state.tasks().exec(msg); },
      [self](const task_runner::Changed& msg) { self->state.task_changed(msg); },
      [self](const task_runner::Ended& msg) { self->state.task_ended(msg); },
      [self](const plugin_agent::Notice& msg) { self->state.heard(*msg.notice); },
      [self](const plugin_agent::Ask& msg) { return self->state.asked(*msg.request); },
      [self](alloc_runner::Review) { self->state.review(); },
      [self](alloc_runner::DelayOver) { self->state.delay_over(); },
      [self](const alloc_runner::CommandTimeOver& msg) { self->state.commands().time_over(msg); },
  };
}

}  // namespace

AllocRunner spawn_alloc_runner(const actor::Owner& owner,
                               std::shared_ptr<const AllocParts> parts,
                               AllocSetup setup) {
  return actor::spawn(owner, alloc_runner_actor, std::move(parts), std::move(setup));
}

}  // namespace nomad::client
