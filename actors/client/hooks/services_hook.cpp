#include "actors/client/hooks/services_hook.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "actors/client/hooks/hook_objects.hpp"
#include "actors/client/task/task_config.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/alloc_update.hpp"
#include "runtime/workload/services/service_registrations.hpp"

namespace nomad::client {

using enum schema::plugin::Phase;

namespace {

using workload::ServiceRegistration;

constexpr Nanoseconds first_pause = std::chrono::seconds{1};
constexpr Nanoseconds longest_pause = std::chrono::seconds{30};
constexpr auto host_timeout = std::chrono::seconds{40};
/// How long a phase waits for the servers.
constexpr Nanoseconds patience = std::chrono::seconds{5};

struct TryAgain {
  using is_message = void;
  std::uint64_t round;
};

struct PatienceOver {
  using is_message = void;
  std::uint64_t round;
};

using ServicesSelf = actor::WithInternal<Hook, void(TryAgain), void(PatienceOver)>;

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
    const auto phase = msg.request->getPhase();
    const bool registers = phase == PRERUN || phase == POSTSTART || phase == TASK_RESTART
                           || (phase == UPDATE && (!is_task() || msg.request->getRunning()));
    if (phase == UPDATE && !registers) return hook::Answered{};  // Poststart will.
    if (phase == TASK_RESTART || msg.request->getAgain()) known_.clear();
    auto after = registrations(*msg.request);
    if (!registers && !began_
        && after)  // Made anew after a crash: another one may have registered.
      for (const auto& one : *after)
        known_.insert_or_assign(copy(one->getId()), one);
    began_ = true;
    if (registers && !after) return after.error();
    wanted_ = registers ? std::move(*after) : std::vector<ServiceRegistration>{};
    waiting_.push_back(self_->make_response_promise<hook::Answered>());
    const auto answer = waiting_.back();
    pause_ = first_pause;
    actor::send_self_after(self_, patience, PatienceOver{++round_});
    go_on();
    return answer;
  }

  void try_again(std::uint64_t round) {
    if (round == tries_) go_on();
  }

  void patience_over(std::uint64_t round) {
    if (round == round_) answer_all();
  }

private:
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

  /// Asks for the next thing that leads from what the servers have to what is wanted.
  void go_on() {
    if (busy_) return;
    ++tries_;
    const auto changes = workload::registration_changes(known(), wanted_);
    if (changes.empty()) return answer_all();
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
    busy_ = true;
    self_->request(tools_.host, host_timeout, plugin_host::Ask{request.freeze()})
        .then([this, changes](const plugin_host::Answered&) { done(changes); },
              [this](const Error& err) { failed(err); });
  }

  void done(const workload::RegistrationChanges& changes) {
    busy_ = false;
    pause_ = first_pause;
    for (const auto& id : changes.gone)
      known_.erase(id);
    if (changes.gone.empty())
      for (const auto& one : changes.put)
        known_.insert_or_assign(copy(one->getId()), one);
    go_on();
  }

  void failed(const Error& err) {
    busy_ = false;
    if (err.code == Errc::not_found) {  // The servers have forgotten the allocation.
      known_.clear();
      wanted_.clear();
      return answer_all();
    }
    if (err.code != failure_)
      log::warn("client", "services of allocation {} wait for the servers: {}",
                view(scope_.place->getAllocId()), err.what);
    failure_ = err.code;
    actor::send_self_after(self_, pause_, TryAgain{tries_});
    pause_ = std::min(pause_ * 2, longest_pause);
  }

  void answer_all() {
    for (const auto& promise : std::exchange(waiting_, {}))
      promise.deliver(hook::Answered{});
  }

  ServicesSelf::pointer self_;
  HookTools tools_;
  HookScope scope_;
  std::vector<ServiceRegistration> wanted_;
  std::map<std::string, ServiceRegistration> known_;  ///< That the servers have, by id.
  std::vector<actor::Promise<hook::Answered>> waiting_;
  Nanoseconds pause_ = first_pause;
  std::optional<Errc> failure_;  ///< The last one; repeated ones are not logged.
  std::uint64_t tries_ = 0;
  std::uint64_t round_ = 0;  ///< Of the latest request.
  bool busy_ = false;
  bool began_ = false;
};

ServicesSelf::behavior_type services_hook(ServicesSelf::stateful_pointer<ServicesState> self,
                                          HookTools tools,
                                          HookScope scope) {
  self->state.init(std::move(tools), std::move(scope));
  return {
      [self](hook::Run& msg) { return self->state.run(msg); },
      [](hook::Cancel) { return hook::Settled{}; },
      [](const hook::TasksChanged&) {},
      [self](TryAgain msg) { self->state.try_again(msg.round); },
      [self](PatienceOver msg) { self->state.patience_over(msg.round); },
  };
}

bool has_nomad_services(capnp::List<schema::Service>::Reader services) {
  for (const auto service : services)
    if (view(service.getProvider()) == "nomad") return true;
  return false;
}

Hook spawn_services_hook(const actor::Owner& owner,
                         const HookTools& tools,
                         const HookScope& scope) {
  return actor::spawn(owner, services_hook, tools, scope);
}

}  // namespace

HookEntry group_services_hook() {
  return {.name = "group_services",
          .phases = {PRERUN, UPDATE, TASK_RESTART, PRE_KILL, POSTRUN},
          .reads_environment = true,
          .wanted =
              [](const HookScope& scope) {
                const auto group
                    = workload::find_group(*scope.job, view(scope.alloc->getTaskGroup()));
                return group && has_nomad_services(group->getServices());
              },
          .spawn = spawn_services_hook};
}

HookEntry task_services_hook() {
  return {.name = "task_services",
          .phases = {POSTSTART, UPDATE, PRE_KILL, EXITED, STOP},
          .reads_environment = true,
          .wanted =
              [](const HookScope& scope) {
                const auto task = find_task(*scope.alloc, *scope.job, view(scope.place->getTask()));
                return task && has_nomad_services(task->getServices());
              },
          .spawn = spawn_services_hook};
}

}  // namespace nomad::client
