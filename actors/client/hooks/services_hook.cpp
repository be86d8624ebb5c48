#include "actors/client/hooks/services_hook.hpp"

#include <map>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "actors/client/hooks/hook_objects.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/log.hpp"
#include "runtime/jobspec/service_provider.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/alloc_update.hpp"
#include "runtime/workload/services/service_convergence.hpp"

namespace nomad::client {

namespace {

namespace service_action = workload::service_action;

using workload::ServiceRegistration;

constexpr auto agent_timeout = std::chrono::seconds{40};
/// How long one waits until it is written down what a provider still owes.
constexpr auto pending_timeout = std::chrono::seconds{10};

struct TryAgain {
  using is_message = void;
  std::uint64_t round;
};

struct PatienceOver {
  using is_message = void;
  std::uint64_t round;
};

using ServicesSelf
    = actor::WithInternal<Hook, void(service_provider::Began), void(TryAgain), void(PatienceOver)>;

using Services = capnp::List<schema::Service>::Reader;

/// Whom services that clients register name; all of a group the same. Empty: there are none.
std::string provider_of(Services services) {
  for (const auto service : services)
    if (jobspec::is_served_by_clients(view(service.getProvider())))
      return copy(service.getProvider());
  return {};
}

/// Of the group, or of the task.
std::optional<Services> services_of(const HookScope& scope) {
  const auto task_name = view(scope.target->getTask());
  if (!task_name.empty()) {
    const auto task = workload::find_task(*scope.alloc, *scope.job, task_name);
    return task ? std::optional{task->getServices()} : std::nullopt;
  }
  const auto group = workload::find_group(*scope.job, scope.alloc->task_group());
  return group ? std::optional{group->getServices()} : std::nullopt;
}

bool has_services(const HookScope& scope) {
  const auto services = services_of(scope);
  return services && !provider_of(*services).empty();
}

class ServicesState {
public:
  static constexpr const char* name = "services_hook";

  explicit ServicesState(ServicesSelf::pointer self) : self_{self} {}

  void init(ServicesHookParts parts, PluginAgent agent, HookScope scope) {
    parts_ = std::move(parts);
    agent_ = std::move(agent);
    scope_ = std::move(scope);
    machine_.emplace(static_cast<bool>(parts_.deregistrations));
  }

  actor::Answer<hook::Answered> run(hook::Run& msg) {
    scope_.alloc = std::move(msg.alloc);
    scope_.job = std::move(msg.job);
    const auto phase = msg.request->getPhase();
    const bool registers
        = phase == HookPhase::PRERUN || phase == HookPhase::POSTSTART
          || phase == HookPhase::TASK_RESTART
          || (phase == HookPhase::UPDATE && (!is_task() || msg.request->getRunning()));
    const auto services = services_of(scope_);
    auto provider = services ? provider_of(*services) : std::string{};
    watch(provider);
    if (phase == HookPhase::UPDATE && !registers) return hook::Answered{};  // Poststart will.
    NOMAD_TRY(machine_->order({.ticket = ++last_ticket_,
                               .provider = std::move(provider),
                               .registers = registers,
                               .anew = phase == HookPhase::TASK_RESTART || msg.request->getAgain(),
                               .services = registrations(msg)}));
    auto promise = self_->make_response_promise<hook::Answered>();
    waiting_.emplace(last_ticket_, promise);
    perform();
    return promise;
  }

  /// Tells the machine what happened, and does what follows from it.
  template <class Event>
  void on(Event event) {
    event(*machine_);
    perform();
  }

private:
  void watch(const std::string& provider) {
    if (watches_ || !parts_.providers || !jobspec::is_plugin_provider(provider)) return;
    parts_.providers->watch(ServicesSelf{self_});
    watches_ = true;
  }

  std::string alloc_id() const { return copy(scope_.target->getAllocId()); }

  bool is_task() const { return scope_.target->getTask().size() > 0; }

  Result<std::vector<ServiceRegistration>> registrations(const hook::Run& msg) const {
    const auto& env = msg.environments->own;
    const workload::ServiceOwner owner{*scope_.alloc, *scope_.job, env.node()};
    if (!is_task()) return workload::group_registrations(owner, env);
    const auto network = read_network(msg.request->getNetwork());
    return workload::task_registrations(owner, view(scope_.target->getTask()), env,
                                        network.ip.empty() ? nullptr : &network);
  }

  // -- what the machine wants ---------------------------------------------------------------------

  void perform() {
    for (auto actions = machine_->take(); !actions.empty(); actions = machine_->take())
      for (const auto& action : actions)
        std::visit([this](const auto& it) { perform(it); }, action);
  }

  void perform(const service_action::Register& it) {
    if (jobspec::is_plugin_provider(it.provider))
      return ask_plugin(it.round, it.provider,
                        service_provider::Register{it.provider, alloc_id(),
                                                   copy(scope_.target->getTask()), it.services});
    Draft<schema::plugin::AgentRequest> request;
    auto services = request->initRegister(it.services.size());
    for (unsigned i = 0; i < services.size(); ++i)
      services.setWithCaveats(i, *it.services[i]);
    ask_servers(it.round, request);
  }

  void perform(const service_action::Deregister& it) {
    if (jobspec::is_plugin_provider(it.provider))
      return ask_plugin(it.round, it.provider,
                        service_provider::Deregister{it.provider, alloc_id(), it.ids});
    Draft<schema::plugin::AgentRequest> request;
    auto ids = request->initDeregister(it.ids.size());
    for (unsigned i = 0; i < ids.size(); ++i)
      ids.set(i, text(it.ids[i]));
    ask_servers(it.round, request);
  }

  void perform(const service_action::Leave& it) {
    self_
        ->request(parts_.deregistrations, pending_timeout,
                  pending_deregistrations::Keep{{it.provider, alloc_id(), it.ids}})
        .then(
            [this, round = it.round](pending_deregistrations::Kept) {
              on([round](auto& machine) { machine.left(round, {}); });
            },
            [this, round = it.round](const Error& err) {
              on([&](auto& machine) { machine.left(round, err); });
            });
  }

  void perform(const service_action::Withdraw& it) {
    self_
        ->request(parts_.deregistrations, pending_timeout,
                  pending_deregistrations::Withdraw{{it.provider, alloc_id(), it.ids}})
        .then(
            [this, round = it.round](const pending_deregistrations::Withdrawn& msg) {
              on([&](auto& machine) { machine.withdrawn(round, msg.ids); });
            },
            [this, round = it.round](const Error& err) {
              failed(round, err, "what providers still owe");
            });
  }

  void perform(const service_action::Wait& it) {
    actor::send_self_after(self_, it.delay, TryAgain{it.round});
  }

  void perform(const service_action::WaitAtMost& it) {
    actor::send_self_after(self_, it.delay, PatienceOver{it.round});
  }

  void perform(const service_action::AnswerOrder& it) {
    waiting_.extract(it.ticket).mapped().deliver(hook::Answered{});
  }

  void perform(const service_action::Warn& it) {
    log::warn("client", it.text,
              {{"alloc", alloc_id()},
               {"task", view(scope_.target->getTask())},
               {"provider", it.provider},
               {"error", it.error}});
  }

  void ask_servers(std::uint64_t round, Draft<schema::plugin::AgentRequest>& request) {
    request->setAllocId(scope_.target->getAllocId());
    request->setTask(scope_.target->getTask());
    machine_->asked(round);
    self_->request(agent_, agent_timeout, plugin_agent::Ask{request.freeze()})
        .then([this, round](const plugin_agent::Answered&) { done(round); },
              [this, round](const Error& err) {
                if (err.code == Errc::not_found)
                  on([round](auto& machine) { machine.forgotten(round); });
                else
                  failed(round, err, "the servers");
              });
  }

  template <class Order>
  void ask_plugin(std::uint64_t round, const std::string& provider, Order order) {
    const auto known = parts_.providers ? parts_.providers->find(provider) : std::nullopt;
    const auto whom = fmt::format("provider \"{}\"", provider);
    if (!known)
      return machine_->failed(round, {Errc::unavailable, "no plugin of this node brings it"}, whom);
    machine_->asked(round);
    self_->request(known->provider, agent_timeout, std::move(order))
        .then([this, round](service_provider::Done) { done(round); },
              [this, round, whom](const Error& err) { failed(round, err, whom); });
  }

  void done(std::uint64_t round) {
    on([round](auto& machine) { machine.done(round); });
  }

  void failed(std::uint64_t round, const Error& err, std::string_view whom) {
    on([&](auto& machine) { machine.failed(round, err, whom); });
  }

  ServicesSelf::pointer self_;
  ServicesHookParts parts_;
  PluginAgent agent_;
  HookScope scope_;
  std::optional<workload::ServiceConvergence> machine_;
  std::map<std::uint64_t, actor::Promise<hook::Answered>> waiting_;  ///< By ticket.
  std::uint64_t last_ticket_ = 0;
  bool watches_ = false;  ///< It hears when providers begin.
};

ServicesSelf::behavior_type services_hook(ServicesSelf::stateful_pointer<ServicesState> self,
                                          ServicesHookParts parts,
                                          PluginAgent agent,
                                          HookScope scope) {
  self->state.init(std::move(parts), std::move(agent), std::move(scope));
  return {
      [self](hook::Run& msg) { return self->state.run(msg); },
      [](hook::Cancel) { return hook::Settled{}; },
      [](const hook::TasksChanged&) {},
      [self](const service_provider::Began& msg) {
        self->state.on([&msg](auto& machine) { machine.provider_began(msg.provider); });
      },
      [self](TryAgain msg) {
        self->state.on([msg](auto& machine) { machine.time_over(msg.round); });
      },
      [self](PatienceOver msg) {
        self->state.on([msg](auto& machine) { machine.patience_over(msg.round); });
      },
  };
}

SpawnHook spawn_services_hook(ServicesHookParts parts) {
  return [parts = std::move(parts)](const actor::Owner& owner, const PluginAgent& agent,
                                    const HookScope& scope) {
    return actor::spawn(owner, services_hook, parts, agent, scope);
  };
}

}  // namespace

HookEntry group_services_hook(ServicesHookParts parts) {
  constexpr HookPhases phases{HookPhase::PRERUN, HookPhase::UPDATE, HookPhase::TASK_RESTART,
                              HookPhase::PRE_KILL, HookPhase::POSTRUN};
  return {.name = "group_services",
          .phases = phases,
          .reads_environment = phases,
          .wanted = has_services,
          .spawn = spawn_services_hook(std::move(parts))};
}

HookEntry task_services_hook(ServicesHookParts parts) {
  constexpr HookPhases phases{HookPhase::POSTSTART, HookPhase::UPDATE, HookPhase::PRE_KILL,
                              HookPhase::EXITED, HookPhase::STOP};
  return {.name = "task_services",
          .phases = phases,
          .reads_environment = phases,
          .wanted = has_services,
          .spawn = spawn_services_hook(std::move(parts))};
}

}  // namespace nomad::client
