#include "actors/client/hooks/services_hook.hpp"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "actors/client/hooks/hook_objects.hpp"
#include "actors/client/task/task_config.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/back_off.hpp"
#include "runtime/base/log.hpp"
#include "runtime/jobspec/service_provider.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/alloc_update.hpp"
#include "runtime/workload/services/service_registrations.hpp"

namespace nomad::client {

namespace {

using workload::ServiceRegistration;

constexpr Nanoseconds first_pause = std::chrono::seconds{1};
constexpr Nanoseconds longest_pause = std::chrono::seconds{30};
constexpr auto host_timeout = std::chrono::seconds{40};
/// How long a phase waits for the servers.
constexpr Nanoseconds patience = std::chrono::seconds{5};
/// How long one waits until it is written down what a provider still owes.
constexpr auto debts_timeout = std::chrono::seconds{10};

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
  const auto task_name = view(scope.place->getTask());
  if (!task_name.empty()) {
    const auto task = find_task(*scope.alloc, *scope.job, task_name);
    return task ? std::optional{task->getServices()} : std::nullopt;
  }
  const auto group = workload::find_group(*scope.job, view(scope.alloc->getTaskGroup()));
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

  void init(HookTools tools, HookScope scope) {
    tools_ = std::move(tools);
    scope_ = std::move(scope);
  }

  actor::Answer<hook::Answered> run(hook::Run& msg) {
    scope_.alloc = std::move(msg.alloc);
    scope_.job = std::move(msg.job);
    choose_provider();
    const auto phase = msg.request->getPhase();
    const bool registers
        = phase == HookPhase::PRERUN || phase == HookPhase::POSTSTART
          || phase == HookPhase::TASK_RESTART
          || (phase == HookPhase::UPDATE && (!is_task() || msg.request->getRunning()));
    if (phase == HookPhase::UPDATE && !registers) return hook::Answered{};  // Poststart will.
    if (phase == HookPhase::TASK_RESTART || msg.request->getAgain()) known_.clear();
    auto after = registrations(*msg.request);
    if (!registers && !began_ && after) {  // Made anew: another one may have registered.
      holder_ = provider_;
      for (const auto& one : *after)
        known_.insert_or_assign(copy(one->getId()), one);
    }
    began_ = true;
    if (registers && !after) return after.error();
    wanted_ = registers ? std::move(*after) : std::vector<ServiceRegistration>{};
    waiting_.push_back(self_->make_response_promise<hook::Answered>());
    const auto answer = waiting_.back();
    pauses_.reset();
    actor::send_self_after(self_, patience, PatienceOver{++round_});
    go_on();
    return answer;
  }

  /// Nothing of what it was told is known there. What is to be deregistered still is: it may be
  /// known elsewhere.
  void provider_began(const std::string& provider) {
    if (provider != provider_ && provider != holder_) return;
    if (provider == holder_)
      for (const auto& one : wanted_)
        known_.erase(copy(one->getId()));
    pauses_.reset();
    go_on();
  }

  void try_again(std::uint64_t round) {
    if (round == tries_) go_on();
  }

  /// Nobody may ask this hook again, and its agent may die: what a provider of a plugin has not
  /// deregistered by now becomes somebody else's, who remembers it.
  void patience_over(std::uint64_t round) {
    if (round != round_) return;
    auto gone = changes().gone;
    if (gone.empty() || !tools_.debts || !jobspec::is_plugin_provider(holder_)) return answer_all();
    const ServiceDebt debt{holder_, copy(scope_.place->getAllocId()), std::move(gone)};
    self_->request(tools_.debts, debts_timeout, service_debts::Owe{debt})
        .then([this, debt](service_debts::Kept) { handed_over(debt); },
              [this](const Error& err) {
                log::warn("client",
                          "what provider \"{}\" has to deregister of allocation {} is not written "
                          "down, and lost with this agent: {}",
                          holder_, view(scope_.place->getAllocId()), err.what);
                answer_all();
              });
  }

private:
  void choose_provider() {
    const auto services = services_of(scope_);
    if (auto named = services ? provider_of(*services) : std::string{}; !named.empty())
      provider_ = std::move(named);
    if (watches_ || !tools_.providers || !jobspec::is_plugin_provider(provider_)) return;
    tools_.providers->watch(ServicesSelf{self_});
    watches_ = true;
  }

  bool is_task() const { return scope_.place->getTask().size() > 0; }

  Result<std::vector<ServiceRegistration>> registrations(
      schema::plugin::HookRequest::Reader request) const {
    const auto env = workload::TaskEnv::read(request.getEnvironment());
    const workload::ServiceOwner owner{*scope_.alloc, *scope_.job, env.node()};
    if (!is_task()) return workload::group_registrations(owner, env);
    const auto network = read_network(request.getNetwork());
    return workload::task_registrations(owner, view(scope_.place->getTask()), env,
                                        network.ip.empty() ? nullptr : &network);
  }

  std::vector<ServiceRegistration> known() const {
    std::vector<ServiceRegistration> list;
    for (const auto& [id, one] : known_)
      list.push_back(one);
    return list;
  }

  /// What leads from what its holder has to what is wanted there.
  workload::RegistrationChanges changes() const {
    const bool moves = holder_ != provider_;  // All of it goes from there first.
    return workload::registration_changes(known(),
                                          moves ? std::vector<ServiceRegistration>{} : wanted_);
  }

  /// Asks for the next thing that leads there.
  void go_on() {
    if (busy_) return;
    ++tries_;
    if (known_.empty()) holder_ = provider_;
    const auto next = changes();
    if (next.empty()) return answer_all();
    busy_ = true;
    if (jobspec::is_plugin_provider(holder_))
      ask_provider(next);
    else
      ask_servers(next);
  }

  void ask_servers(const workload::RegistrationChanges& changes) {
    Draft<schema::plugin::HostRequest> request;
    request->setAllocId(scope_.place->getAllocId());
    request->setTask(scope_.place->getTask());
    if (!changes.gone.empty()) {
      auto ids = request->initDeregister(changes.gone.size());
      for (unsigned i = 0; i < ids.size(); ++i)
        ids.set(i, text(changes.gone[i]));
    } else {
      auto services = request->initRegister(changes.put.size());
      for (unsigned i = 0; i < services.size(); ++i)
        services.setWithCaveats(i, *changes.put[i]);
    }
    self_->request(tools_.host, host_timeout, plugin_host::Ask{request.freeze()})
        .then([this, ticket = tries_,
               changes](const plugin_host::Answered&) { done(ticket, changes); },
              [this, ticket = tries_](const Error& err) {
                if (err.code == Errc::not_found)
                  forgotten(ticket);
                else
                  failed(ticket, err, "the servers");
              });
  }

  void ask_provider(const workload::RegistrationChanges& changes) {
    const auto alloc_id = copy(scope_.place->getAllocId());
    if (!changes.gone.empty())
      return ask_plugin(service_provider::Deregister{holder_, alloc_id, changes.gone}, changes);
    ServiceDebt forgiven{holder_, alloc_id};
    for (const auto& one : changes.put)
      forgiven.ids.push_back(copy(one->getId()));
    const auto ask = [this, alloc_id, changes] {
      ask_plugin(
          service_provider::Register{holder_, alloc_id, copy(scope_.place->getTask()), changes.put},
          changes);
    };
    if (!tools_.debts) return ask();
    self_->request(tools_.debts, debts_timeout, service_debts::Forgive{std::move(forgiven)})
        .then(
            [this, ticket = tries_, ask](service_debts::Kept) {
              if (ticket == tries_) ask();
            },
            [this, ticket = tries_](const Error& err) {
              failed(ticket, err, "what providers still owe");
            });
  }

  template <class Order>
  void ask_plugin(Order order, const workload::RegistrationChanges& changes) {
    const auto known = tools_.providers ? tools_.providers->find(holder_) : std::nullopt;
    const auto whom = fmt::format("provider \"{}\"", holder_);
    if (!known)
      return failed(tries_, {Errc::unavailable, "no plugin of this node brings it"}, whom);
    if (changes.gone.empty())
      for (const auto& one : changes.put)
        known_.try_emplace(copy(one->getId()), nameless(one->getId()));
    self_->request(known->provider, host_timeout, std::move(order))
        .then([this, ticket = tries_, changes](service_provider::Done) { done(ticket, changes); },
              [this, ticket = tries_, whom](const Error& err) { failed(ticket, err, whom); });
  }

  /// What was asked for and is not answered: perhaps it is there, and it is none that is wanted.
  static ServiceRegistration nameless(capnp::Text::Reader id) {
    Draft<schema::ServiceRegistration> one;
    one->setId(id);
    return one.freeze();
  }

  void done(std::uint64_t ticket, const workload::RegistrationChanges& changes) {
    if (ticket != tries_) return;
    busy_ = false;
    pauses_.reset();
    for (const auto& id : changes.gone)
      known_.erase(id);
    if (changes.gone.empty())
      for (const auto& one : changes.put)
        known_.insert_or_assign(copy(one->getId()), one);
    go_on();
  }

  /// The servers know the allocation no more.
  void forgotten(std::uint64_t ticket) {
    if (ticket != tries_) return;
    busy_ = false;
    known_.clear();
    wanted_.clear();
    answer_all();
  }

  void failed(std::uint64_t ticket, const Error& err, std::string_view whom) {
    if (ticket != tries_) return;
    busy_ = false;
    if (err.code != failure_)
      log::warn("client", "services of allocation {} wait for {}: {}",
                view(scope_.place->getAllocId()), whom, err.what);
    failure_ = err.code;
    actor::send_self_after(self_, pauses_.next(), TryAgain{tries_});
  }

  void handed_over(const ServiceDebt& debt) {
    if (debt.provider == holder_)
      for (const auto& id : debt.ids)
        known_.erase(id);
    busy_ = false;  // Whatever is still asked is not waited for.
    go_on();
    answer_all();
  }

  void answer_all() {
    for (const auto& promise : std::exchange(waiting_, {}))
      promise.deliver(hook::Answered{});
  }

  ServicesSelf::pointer self_;
  HookTools tools_;
  HookScope scope_;
  std::vector<ServiceRegistration> wanted_;
  std::map<std::string, ServiceRegistration> known_;  ///< That `holder_` has, by id.
  std::string provider_;  ///< Where they are wanted: "nomad", or one of a plugin.
  std::string holder_;    ///< Where they are; another one after an update.
  std::vector<actor::Promise<hook::Answered>> waiting_;
  BackOff pauses_{first_pause, longest_pause};
  std::optional<Errc> failure_;  ///< The last one; repeated ones are not logged.
  std::uint64_t tries_ = 0;      ///< Of what was asked last: other answers come too late.
  std::uint64_t round_ = 0;      ///< Of the latest request.
  bool busy_ = false;
  bool began_ = false;
  bool watches_ = false;  ///< It hears when providers begin.
};

ServicesSelf::behavior_type services_hook(ServicesSelf::stateful_pointer<ServicesState> self,
                                          HookTools tools,
                                          HookScope scope) {
  self->state.init(std::move(tools), std::move(scope));
  return {
      [self](hook::Run& msg) { return self->state.run(msg); },
      [](hook::Cancel) { return hook::Settled{}; },
      [](const hook::TasksChanged&) {},
      [self](const service_provider::Began& msg) { self->state.provider_began(msg.provider); },
      [self](TryAgain msg) { self->state.try_again(msg.round); },
      [self](PatienceOver msg) { self->state.patience_over(msg.round); },
  };
}

Hook spawn_services_hook(const actor::Owner& owner,
                         const HookTools& tools,
                         const HookScope& scope) {
  return actor::spawn(owner, services_hook, tools, scope);
}

}  // namespace

HookEntry group_services_hook() {
  return {.name = "group_services",
          .phases = {HookPhase::PRERUN, HookPhase::UPDATE, HookPhase::TASK_RESTART,
                     HookPhase::PRE_KILL, HookPhase::POSTRUN},
          .reads_environment = true,
          .wanted = has_services,
          .spawn = spawn_services_hook};
}

HookEntry task_services_hook() {
  return {.name = "task_services",
          .phases = {HookPhase::POSTSTART, HookPhase::UPDATE, HookPhase::PRE_KILL,
                     HookPhase::EXITED, HookPhase::STOP},
          .reads_environment = true,
          .wanted = has_services,
          .spawn = spawn_services_hook};
}

}  // namespace nomad::client
