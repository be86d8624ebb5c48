#include "actors/nodesim/simulated_runner.hpp"

#include <algorithm>
#include <functional>

#include "actors/core/supervise.hpp"
#include "runtime/base/random.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::nodesim {
namespace {

using namespace client;
using schema::ClientStatus;
using schema::TaskRunState;

enum class Step { start, run, become_healthy, tell_event, end };

constexpr std::chrono::seconds signer_patience{40};  // More than a question to the servers takes.
constexpr std::chrono::seconds pause_before_asking_again{1};

struct Due {
  using is_message = void;
  Step step;
};

using RunnerSelf = actor::WithInternal<AllocRunner, void(Due)>;

struct RunnerState {
  static constexpr const char* name = "simulated_runner";

  using Self = RunnerSelf::stateful_pointer<RunnerState>;

  Self self = nullptr;
  AllocSetup setup;
  RunPlan plan;
  IdentitySigner signer;
  Random random{0};
  ClientStatus status = ClientStatus::PENDING;
  std::vector<std::pair<std::string, workload::TaskState>> tasks;
  std::optional<workload::HealthStatus> health;
  std::uint64_t version = 0;
  bool over = false;

  std::int64_t now() const { return setup.context->unix_now(); }

  void init(Self actor, AllocSetup given, RunPlan how, IdentitySigner signs) {
    self = actor;
    setup = std::move(given);
    plan = how;
    signer = std::move(signs);
    random = Random{setup.context->seed ^ std::hash<std::string>{}(std::string{setup.alloc->id()})};
    if (const auto group = workload::find_group(*setup.job, setup.alloc->task_group()))
      for (const auto task : group->getTasks())
        tasks.emplace_back(copy(task.getName()), workload::TaskState{});
  }

  void after(std::chrono::milliseconds delay, Step step) {
    actor::send_self_after(self, delay, Due{step});
  }

  std::chrono::milliseconds spread() {
    return std::chrono::milliseconds{
        random.below(static_cast<std::uint64_t>(plan.run_spread.count()) + 1)};
  }

  /// `again`: even if the servers have acknowledged the same.
  void report(bool urgent, bool again = false) {
    workload::AllocReport report{.alloc_id = setup.alloc->id(),
                                 .node_id = setup.context->node_id,
                                 .status = status,
                                 .description = {},
                                 .tasks = {},
                                 .health = health,
                                 .assigned = *setup.alloc};
    for (const auto& [task, state] : tasks)
      report.tasks.push_back({task, &state});
    sync::StateChanged changed{std::string{setup.alloc->id()}, ++version,
                               workload::make_update(report, now())};
    changed.again = again;
    if (urgent)
      actor::send_urgent(self, setup.context->sync, std::move(changed));
    else
      self->send(setup.context->sync, std::move(changed));
  }

  void become(ClientStatus next, TaskRunState of_tasks) {
    status = next;
    over = next == ClientStatus::COMPLETE || next == ClientStatus::FAILED;
    for (auto& [task, state] : tasks) {
      state.enter(of_tasks, now());
      if (next == ClientStatus::FAILED) state.failed = true;
    }
    report(true);
    self->send(setup.parent, alloc_runner::Status{std::string{setup.alloc->id()}, status, over});
  }

  bool is_stopped() const { return setup.alloc->desired_status() != schema::DesiredStatus::RUN; }

  void start() {
    if (is_stopped()) return become(ClientStatus::COMPLETE, TaskRunState::DEAD);
    auto wanted = shown_identities();
    if (!signer || wanted.empty()) return after(plan.start_time, Step::run);
    self->request(signer, signer_patience,
                  identity_signer::Sign{std::string{setup.alloc->id()}, std::move(wanted)})
        .then([this](const identity_signer::Signed& made) { take(made); },
              [this](const Error&) { after(pause_before_asking_again, Step::start); });
  }

  std::vector<identity_signer::Wanted> shown_identities() const {
    std::vector<identity_signer::Wanted> wanted;
    const auto group = workload::find_group(*setup.job, setup.alloc->task_group());
    if (!group) return wanted;
    for (const auto task : group->getTasks()) {
      const auto add = [&](schema::Identity::Reader identity) {
        if (identity.getEnv() || identity.getFile())
          wanted.push_back({.workload = copy(task.getName()), .name = copy(identity.getName())});
      };
      if (task.hasIdentity()) add(task.getIdentity());
      for (const auto identity : task.getIdentities())
        add(identity);
    }
    return wanted;
  }

  void take(const identity_signer::Signed& made) {
    if (over) return;
    if (std::ranges::any_of(made.identities, [](const auto& one) { return one.token.empty(); }))
      return become(ClientStatus::FAILED, TaskRunState::DEAD);
    after(plan.start_time, Step::run);
  }

  void take(Step step) {
    if (over) return;
    switch (step) {
      case Step::start:
        return start();
      case Step::run:
        become(ClientStatus::RUNNING, TaskRunState::RUNNING);
        if (!setup.alloc->deployment_id().empty()) after(plan.healthy_after, Step::become_healthy);
        if (plan.run_time.count() > 0) after(plan.run_time + spread(), Step::end);
        if (plan.event_interval.count() > 0) after(plan.event_interval, Step::tell_event);
        return;
      case Step::become_healthy:
        health = workload::HealthStatus{true, now()};
        report(false);
        return;
      case Step::tell_event:
        for (auto& [task, state] : tasks)
          state.append(
              workload::TaskEvent{.type = "Driver", .time = now(), .display_message = "tick"});
        report(false);
        after(plan.event_interval, Step::tell_event);
        return;
      case Step::end:
        become(random.chance(plan.fail_rate) ? ClientStatus::FAILED : ClientStatus::COMPLETE,
               TaskRunState::DEAD);
        return;
    }
  }

  void assign(const Object<schema::Allocation>& alloc, const Object<schema::Job>& job) {
    if (alloc->alloc_modify_index() < setup.alloc->alloc_modify_index()) return;
    const bool another_deployment = alloc->deployment_id() != setup.alloc->deployment_id();
    setup.alloc = alloc;
    setup.job = job;
    if (over) return;
    if (is_stopped()) {
      become(ClientStatus::COMPLETE, TaskRunState::DEAD);
    } else if (another_deployment && status == ClientStatus::RUNNING) {
      health.reset();
      after(plan.healthy_after, Step::become_healthy);
    }
  }

  alloc_runner::Done leave() {
    over = true;
    self->quit();
    return {};
  }

  static Error no_tasks() {
    return {Errc::rejected, "the allocation is simulated: it has no tasks"};
  }
};

RunnerSelf::behavior_type simulated_runner(RunnerState::Self self,
                                           AllocSetup setup,
                                           RunPlan plan,
                                           IdentitySigner signer) {
  auto* state = &self->state;
  state->init(self, std::move(setup), plan, std::move(signer));

  return {
      [state](const alloc_runner::Begin&) { state->start(); },
      [state](const alloc_runner::Assign& msg) { state->assign(msg.alloc, msg.job); },
      [state](const alloc_runner::Reconnect& msg) {
        state->assign(msg.alloc, msg.job);
        state->report(true);
      },
      [state](const alloc_runner::ReportAgain&) { state->report(true, true); },
      [](const alloc_runner::ServersContacted&) {},
      [](const alloc_runner::DriverReplaced&) {},
      [](const alloc_runner::DiskLooked&) {},
      [state](const alloc_runner::Destroy&) { return state->leave(); },
      [state](const alloc_runner::Detach&) { return state->leave(); },
      [](const door::NodeAsk&) -> actor::Answer<door::NodeReply> {
        return RunnerState::no_tasks();
      },
      [](const alloc_runner::ReadUsage&) { return client_api::AllocUsage{}; },
      [](const client_api::AllocDirOf&) -> actor::Answer<client_api::AllocDir> {
        return RunnerState::no_tasks();
      },
      [](const client_api::Exec&) -> actor::Answer<client_api::ExecStarted> {
        return RunnerState::no_tasks();
      },
      [state](Due msg) { state->take(msg.step); },
  };
}

}  // namespace

AllocRunner spawn_simulated_runner(const actor::Owner& owner,
                                   AllocSetup setup,
                                   RunPlan plan,
                                   IdentitySigner signer) {
  return actor::spawn(owner, simulated_runner, std::move(setup), plan, std::move(signer));
}

}  // namespace nomad::nodesim
