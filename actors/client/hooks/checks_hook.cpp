#include "actors/client/hooks/checks_hook.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "actors/client/hooks/hook_objects.hpp"
#include "actors/core/newest.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/jobspec/service_provider.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/alloc_update.hpp"
#include "runtime/workload/checks/check_starts.hpp"

namespace nomad::client {

namespace {

constexpr auto watch_timeout = std::chrono::seconds{30};
constexpr Nanoseconds agent_slack = std::chrono::seconds{5};
constexpr auto restart_timeout = std::chrono::minutes{10};

/// The checks' runner may have lost what it was told: it is told again.
struct WatchAgain {
  using is_message = void;
};

using ChecksSelf = actor::WithInternal<Hook,
                                       void(check::Changed),
                                       void(check::RestartWanted),
                                       check::ScriptEnded(check::RunScript),
                                       void(service_provider::Began),
                                       void(WatchAgain)>;

/// Of what a check has said, a provider hears so much.
constexpr std::size_t most_told_output = 512;

/// The plugin that provides for the services of a group; all have the same. Empty: none does.
std::string plugin_provider_of(AllocView alloc, schema::Job::Reader job) {
  std::string provider;
  const auto look = [&provider](auto services) {
    for (const auto service : services)
      if (jobspec::is_plugin_provider(view(service.getProvider())))
        provider = copy(service.getProvider());
  };
  const auto group = workload::find_group(job, alloc.task_group());
  if (!group) return provider;
  look(group->getServices());
  for (const auto task : group->getTasks())
    look(task.getServices());
  return provider;
}

class ChecksState {
public:
  static constexpr const char* name = "checks_hook";

  explicit ChecksState(ChecksSelf::pointer self) : self_{self} {}

  void init(ChecksHookParts parts, PluginAgent agent, const HookScope& scope) {
    parts_ = std::move(parts);
    agent_ = std::move(agent);
    alloc_id_ = copy(scope.target->getAllocId());
  }

  actor::Answer<hook::Answered> run(const hook::Run& msg) {
    const auto phase = msg.request->getPhase();
    const bool begins = phase == HookPhase::PRERUN || phase == HookPhase::UPDATE;
    if (!begins) {
      self_->send(parts_.checks, check::Forget{alloc_id_});
      starts_.begin_anew();  // What runs is about to end.
    }
    watches_ = begins || phase == HookPhase::TASK_RESTART;
    if (!watches_) return hook::Answered{};
    choose_provider(msg);
    const auto& own = msg.environments->own;
    const auto& of_tasks = msg.environments->of_tasks;
    checks_ = workload::checks_of(
        *msg.alloc, *msg.job, [&](std::string_view task, std::string_view text) {
          if (task.empty()) return own.replace(text);
          const auto found = of_tasks.find(task);
          return found == of_tasks.end() ? std::string{text} : found->second.replace(text);
        });
    starts_.set_group(*workload::find_group(*msg.job, msg.alloc->task_group()));
    auto promise = self_->make_response_promise<hook::Answered>();
    watch([promise] { promise.deliver(hook::Answered{}); });
    return promise;
  }

  void watch(std::function<void()> then) {
    self_
        ->request(parts_.checks, watch_timeout,
                  check::Watch{alloc_id_, checks_, CheckListener{ChecksSelf{self_}}})
        .then(
            [this, then](const check::Watching& now) {
              results_ = now.checks;
              for (const auto& start : starts_.known())
                tell_started(start);
              tell();
              then();
            },
            [this, then](const Error&) {
              // It begins anew after a crash, and knows nothing then.
              actor::send_self_after(self_, std::chrono::seconds{1}, WatchAgain{});
              then();
            });
  }

  void provider_began(const std::string& provider) {
    if (provider != provider_) return;
    told_.clear();
    tell_provider();
  }

  /// What was said comes before it.
  hook::Settled settle() {
    standings_.flush(self_);
    return {};
  }

  void watch_again() {
    if (watches_) watch([] {});
  }

  void changed(const check::Changed& msg) {
    const auto known = std::ranges::find(results_, msg.check.id, &workload::RunCheck::id);
    if (known == results_.end())
      results_.push_back(msg.check);
    else
      *known = msg.check;
    tell();
  }

  void tasks_changed(const hook::TasksChanged& msg) {
    if (!watches_) return;
    for (const auto& start : starts_.look(msg.tasks->getTasks()))
      tell_started(start);
  }

  void restart(const check::RestartWanted& msg) {
    Draft<schema::plugin::AgentRequest> request;
    request->setAllocId(text(alloc_id_));
    request->setTask(text(msg.task));
    auto restart = request->initRestart();
    restart.setReason(text(msg.reason));
    restart.setFailure(true);
    self_->request(agent_, restart_timeout, plugin_agent::Ask{request.freeze()})
        .then([](const plugin_agent::Answered&) {},
              [this, task = msg.task](const Error& err) {
                log::warn("client", "checks could not restart a task",
                          {{"alloc", alloc_id_}, {"task", task}, {"error", err}});
                tell_started({task, 0});  // It runs on, and so do its checks.
              });
  }

  actor::Answer<check::ScriptEnded> run_script(const check::RunScript& msg) {
    Draft<schema::plugin::AgentRequest> request;
    request->setAllocId(text(alloc_id_));
    request->setTask(text(msg.task));
    auto command = request->initRun();
    command.setProgram(text(msg.command));
    auto arguments = command.initArguments(msg.args.size());
    for (unsigned i = 0; i < arguments.size(); ++i)
      arguments.set(i, text(msg.args[i]));
    command.setTimeout(msg.timeout.count());
    auto promise = self_->make_response_promise<check::ScriptEnded>();
    self_->request(agent_, msg.timeout + agent_slack, plugin_agent::Ask{request.freeze()})
        .then(
            [promise](const plugin_agent::Answered& answered) {
              const auto ended = answered.answer->getCommandEnded();
              const auto output = ended.getOutput();
              promise.deliver(check::ScriptEnded{
                  ended.getExitCode(),
                  {reinterpret_cast<const char*>(output.begin()), output.size()}});
            },
            [promise](const Error& err) { promise.deliver(err); });
    return promise;
  }

private:
  void tell_started(const workload::CheckStarts::Start& start) {
    self_->send(parts_.checks, check::Started{alloc_id_, start.task, start.at});
  }

  void tell() {
    const auto standings = workload::standings_of(checks_, results_);
    Draft<schema::plugin::Notice> draft;
    draft->setAllocId(text(alloc_id_));
    write_standings(standings, draft->initChecks(standings.size()));
    standings_.tell(self_, agent_, plugin_agent::Notice{draft.freeze()});
    tell_provider();
  }

  void choose_provider(const hook::Run& msg) {
    provider_ = plugin_provider_of(*msg.alloc, *msg.job);
    if (hears_ || !parts_.providers || provider_.empty()) return;
    parts_.providers->watch(ChecksSelf{self_});
    hears_ = true;
  }

  /// If a plugin provides for the services and wants to hear of checks, and one stands otherwise
  /// than it was told.
  void tell_provider() {
    if (provider_.empty() || !parts_.providers) return;
    const auto known = parts_.providers->find(provider_);
    if (!known || !known->hears_checks) return;
    std::vector<service_provider::Check> checks;
    for (const auto& check : checks_) {
      const auto run = std::ranges::find(results_, check.id, &workload::RunCheck::id);
      if (run == results_.end()) continue;
      checks.push_back({check.restarts_task, check.service, check.name, run->result.status,
                        std::string{utf8_prefix(run->result.output, most_told_output)}});
    }
    const auto same = [](const auto& a, const auto& b) { return a.stands_as(b); };
    if (std::ranges::equal(checks, told_, same)) return;
    told_ = checks;
    self_->send(known->provider,
                service_provider::ChecksChanged{provider_, alloc_id_, std::move(checks)});
  }

  ChecksSelf::pointer self_;
  ChecksHookParts parts_;
  PluginAgent agent_;
  actor::Newest<PluginAgent, plugin_agent::Notice> standings_;  ///< It tells nothing else.
  std::string alloc_id_;
  std::vector<workload::ServiceCheck> checks_;
  std::vector<workload::RunCheck> results_;
  bool watches_ = false;
  workload::CheckStarts starts_;
  std::string provider_;  ///< The plugin's that provides for the services; empty: none does.
  std::vector<service_provider::Check> told_;  ///< What it has heard.
  bool hears_ = false;                         ///< Began comes.
};

ChecksSelf::behavior_type checks_hook_actor(ChecksSelf::stateful_pointer<ChecksState> self,
                                            ChecksHookParts parts,
                                            PluginAgent agent,
                                            const HookScope& scope) {
  self->state.init(std::move(parts), std::move(agent), scope);
  return {
      [self](const hook::Run& msg) { return self->state.run(msg); },
      [self](hook::Cancel) { return self->state.settle(); },
      [self](const hook::TasksChanged& msg) { self->state.tasks_changed(msg); },
      [self](const check::Changed& msg) { self->state.changed(msg); },
      [self](const check::RestartWanted& msg) { self->state.restart(msg); },
      [self](const check::RunScript& msg) { return self->state.run_script(msg); },
      [self](const service_provider::Began& msg) { self->state.provider_began(msg.provider); },
      [self](WatchAgain) { self->state.watch_again(); },
  };
}

}  // namespace

HookEntry checks_hook(ChecksHookParts parts) {
  return {.name = "checks_hook",
          .phases = {HookPhase::PRERUN, HookPhase::UPDATE, HookPhase::TASK_RESTART,
                     HookPhase::PRE_KILL, HookPhase::POSTRUN, HookPhase::DESTROY},
          .watches_tasks = true,
          .reads_environment = {HookPhase::PRERUN, HookPhase::UPDATE, HookPhase::TASK_RESTART},
          .wanted =
              [](const HookScope& scope) {
                return !workload::checks_of(*scope.alloc, *scope.job, [](auto, auto text) {
                          return std::string{text};
                        }).empty();
              },
          .spawn =
              [parts = std::move(parts)](const actor::Owner& owner, const PluginAgent& agent,
                                         const HookScope& scope) {
                return Hook{actor::spawn(owner, checks_hook_actor, parts, agent, scope)};
              }};
}

}  // namespace nomad::client
