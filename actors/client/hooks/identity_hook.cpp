#include "actors/client/hooks/identity_hook.hpp"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "actors/core/supervise.hpp"
#include "runtime/base/failpoint.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/workload/task_event.hpp"

namespace nomad::client {

namespace {

using schema::plugin::HostRequest;
using workload::IdentityMachine;
namespace identity_action = workload::identity_action;

/// As long as the task is wanted: the servers may be away for any time.
constexpr auto identities_patience = std::chrono::hours{24 * 365};
/// Above what a question of the signer takes, with those before it.
constexpr auto signer_patience = std::chrono::minutes{5};
/// A process may take long to end.
constexpr auto identity_restart_timeout = std::chrono::hours{24};
constexpr auto identity_order_timeout = std::chrono::minutes{1};

IdentitySubject subject_of(const HookScope& scope) {
  return {scope.alloc, scope.job, copy(scope.place->getAllocRoot()), copy(scope.place->getTask())};
}

/// Something is due.
struct RenewalDue {
  using is_message = void;
  std::uint64_t round = 0;
};

using IdentityHookSelf = actor::WithInternal<Hook, void(RenewalDue)>;

class IdentityHookState {
public:
  static constexpr const char* name = "identity_hook";

  explicit IdentityHookState(IdentityHookSelf::pointer self) : self_{self} {}

  void init(IdentityHookParts parts, PluginHost host, HookScope scope) {
    parts_ = std::move(parts);
    host_ = std::move(host);
    scope_ = std::move(scope);
    shown_ = shown_identities(subject_of(scope_));
    tokens_.resize(shown_.size());
    acquired_.resize(shown_.size());
    std::vector<workload::IdentityTerms> terms;
    for (const auto& one : shown_)
      terms.push_back({.has_file = !one.file.empty(),
                       .has_variable = !one.variable.empty(),
                       .acts = one.change != ShownIdentity::Change::noop});
    machine_.emplace(std::move(terms), parts_.random());
  }

  actor::Answer<hook::Answered> run(hook::Run& msg) {
    scope_.alloc = std::move(msg.alloc);
    scope_.job = std::move(msg.job);
    switch (msg.request->getPhase()) {
      case HookPhase::PRESTART:
        return prestart(msg.request);
      case HookPhase::POSTSTART:
        machine_->started(now());
        perform();
        return hook::Answered{};
      case HookPhase::EXITED:
        machine_->exited();
        return hook::Answered{};
      case HookPhase::STOP:
        stopping_ = self_->make_response_promise<hook::Answered>();
        return on(stopping_, [this] { machine_->stop(); });
      default:
        return hook::Answered{};
    }
  }

  actor::Answer<hook::Settled> cancel() {
    cancelled_ = self_->make_response_promise<hook::Settled>();
    return on(cancelled_, [this] { machine_->cancel(); });
  }

  void look(std::uint64_t round) {
    machine_->look(round, now());
    perform();
  }

private:
  IdentityMachine::Time now() const { return self_->now().time_since_epoch(); }

  /// Tells the machine what `promise` is an answer to.
  template <class Promise, class Event>
  Promise on(Promise promise, Event event) {
    event();
    perform();
    return promise;
  }

  // -- a start ------------------------------------------------------------------------------------

  actor::Answer<hook::Answered> prestart(const Object<schema::plugin::HookRequest>& request) {
    waiting_ = self_->make_response_promise<hook::Answered>();
    request_ = request;
    if (!request->getRunning()) {
      notes_.clear();  // It starts with what is newest.
      for (std::size_t i = 0; i < shown_.size(); ++i)
        if (!tokens_[i].empty()) notes_[shown_[i].name] = acquired_[i];
      return on(waiting_, [this] { machine_->start(false, {}, now()); });
    }
    const auto promise = waiting_;
    self_
        ->request(parts_.steps, actor::infinite,
                  blocking::make([disk = parts_.disk, subject = subject_of(scope_)]()
                                     -> Result<IdentityNotes> { return disk.read_notes(subject); }))
        .then([this](const blocking::Outcome& outcome) { taken_up(outcome.as<IdentityNotes>()); },
              [this](const Error&) { taken_up({}); });
    return promise;
  }

  /// The task runs already, and an earlier agent has left this.
  void taken_up(IdentityNotes notes) {
    IdentityMachine::Left left;
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      const auto note = notes.find(shown_[i].name);
      if (note == notes.end()) continue;
      left[i]
          = {.life = note->second.life, .age = Nanoseconds{parts_.unix_now() - note->second.since}};
    }
    notes_ = std::move(notes);
    if (!waiting_.pending()) return;  // cancelled meanwhile
    machine_->start(true, left, now());
    perform();
  }

  // -- what the machine wants ---------------------------------------------------------------------

  void perform() {
    if (std::exchange(performing_, true)) return;  // What follows from an action comes after it.
    for (auto actions = machine_->take(); !actions.empty(); actions = machine_->take())
      for (auto& action : actions)
        std::visit([this](auto& it) { perform(it); }, action);
    performing_ = false;
  }

  void perform(const identity_action::Ask& it) {
    NOMAD_FAILPOINT("client.identities_asked");
    identity_signer::Sign order{std::string{scope_.alloc->id()}, copy(scope_.place->getTask()), {}};
    for (const auto place : it.which)
      order.names.push_back(shown_[place].name);
    self_->request(parts_.signer, signer_patience, std::move(order))
        .then(
            [this, which = it.which](identity_signer::Signed& made) {
              NOMAD_FAILPOINT("client.identities_signed");
              take(which, made.identities);
              perform();
            },
            [this](const Error& err) {
              log::debug("client", "identities of task {}: {}", view(scope_.place->getTask()),
                         err.what);
              machine_->not_signed(now());
              perform();
            });
  }

  void take(const std::vector<std::size_t>& which,
            std::vector<identity_signer::Identity>& identities) {
    IdentityMachine::Lives lives;
    for (std::size_t i = 0; i < which.size(); ++i) {
      if (!identities[i].token.empty()) continue;
      const auto why
          = fmt::format("identity \"{}\": {}", shown_[which[i]].name, identities[i].refused);
      log::warn("client", "task {}: {}", view(scope_.place->getTask()), why);
      return machine_->refused({Errc::rejected, why}, now());
    }
    for (std::size_t i = 0; i < which.size(); ++i) {
      auto& one = identities[i];
      const auto& shown = shown_[which[i]];
      acquired_[which[i]] = {.since = parts_.unix_now(), .life = one.life};
      // What an earlier agent gave a task is what stays in its environment until it is told.
      const bool has_older
          = tokens_[which[i]].empty() && !shown.variable.empty() && notes_.count(shown.name) > 0;
      if (!has_older) notes_[shown.name] = acquired_[which[i]];
      tokens_[which[i]] = std::move(one.token);
      lives[which[i]] = one.life;
    }
    machine_->is_signed(lives, now());
  }

  void perform(const identity_action::Write& it) {
    std::vector<IdentityFile> files;
    for (const auto place : it.which)
      if (!shown_[place].file.empty()) files.push_back({shown_[place].file, tokens_[place]});
    const auto write = [disk = parts_.disk, subject = subject_of(scope_), request = request_,
                        notes = notes_, files = std::move(files)]() -> Result<> {
      NOMAD_FAILPOINT_ERROR("client.before_identities");
      NOMAD_TRY(disk.write(subject, workload::TaskEnv::read(request->getEnvironment()), files));
      NOMAD_FAILPOINT("client.identities_written");
      NOMAD_TRY(disk.note(subject, notes));
      NOMAD_FAILPOINT("client.identities_noted");
      return {};
    };
    self_->request(parts_.steps, actor::infinite, blocking::make(write))
        .then([this](const blocking::Outcome&) { written({}); },
              [this](const Error& err) {
                log::warn("client", "identities of task {}: {}", view(scope_.place->getTask()),
                          err.what);
                written(err);
              });
  }

  void written(const Result<>& outcome) {
    machine_->written(outcome, now());
    perform();
  }

  void perform(const identity_action::Act& it) {
    std::set<std::string> signals;
    for (const auto place : it.which) {
      const auto& one = shown_[place];
      if (one.change == ShownIdentity::Change::restart) return restart(one);
      signals.insert(one.signal);
    }
    for (const auto& signal : signals)
      send(signal);
  }

  HostRequest::Builder address(Draft<HostRequest>& draft) const {
    draft->setAllocId(scope_.place->getAllocId());
    draft->setTask(scope_.place->getTask());
    return *draft;
  }

  void restart(const ShownIdentity& of) {
    Draft<HostRequest> draft;
    const auto reason = fmt::format("Identity[{}]: new token acquired", of.name);
    address(draft).initRestart().setReason(text(reason));
    self_->request(host_, identity_restart_timeout, plugin_host::Ask{draft.freeze()})
        .then([](const plugin_host::Answered&) {},
              [](const Error&) {});  // It does not run: it starts with the new ones.
  }

  void send(const std::string& signal) {
    Draft<HostRequest> draft;
    auto order = address(draft).initSignal();
    order.setSignal(text(signal));
    order.setReason(text("Identity: new token acquired"));
    self_->request(host_, identity_order_timeout, plugin_host::Ask{draft.freeze()})
        .then([](const plugin_host::Answered&) {},
              [this, signal](const Error& err) {
                if (err.code != Errc::not_found) fail(signal, err);
              });
  }

  void fail(const std::string& signal, const Error& why) {
    Draft<HostRequest> draft;
    auto event = address(draft).initKill();
    event.setType(text(std::string{workload::task_event::killing}));
    event.setTime(parts_.unix_now());
    event.setMessage(text(fmt::format("Identity: failed to send signal {}: {}", signal, why.what)));
    event.setFailsTask(true);
    self_->request(host_, identity_order_timeout, plugin_host::Ask{draft.freeze()})
        .then([](const plugin_host::Answered&) {}, [](const Error&) {});  // It has ended anyway.
  }

  void perform(const identity_action::Wait& it) {
    self_->cancel(timer_);
    timer_ = actor::send_self_after(self_, it.delay, RenewalDue{it.round});
  }

  void perform(const identity_action::AnswerStart& it) {
    const auto waiting = std::exchange(waiting_, {});
    if (!it.outcome) return waiting.deliver(it.outcome.error());
    std::map<std::string, std::string> variables;
    for (std::size_t i = 0; i < shown_.size(); ++i)
      if (!shown_[i].variable.empty() && !tokens_[i].empty())
        variables.emplace(shown_[i].variable, tokens_[i].reveal());
    Draft<schema::plugin::HookAnswer> draft;
    fill_entries(draft->initSecretEnvironment(variables.size()), variables);
    waiting.deliver(hook::Answered{draft.freeze()});
  }

  void perform(const identity_action::AnswerCancel&) {
    if (waiting_.pending())  // while it was found out what is left
      std::exchange(waiting_, {}).deliver(Error{Errc::cancelled, "cancelled"});
    cancelled_.deliver(hook::Settled{});
  }

  void perform(const identity_action::AnswerStop&) { stopping_.deliver(hook::Answered{}); }

  IdentityHookSelf::pointer self_;
  IdentityHookParts parts_;
  PluginHost host_;
  HookScope scope_;
  std::vector<ShownIdentity> shown_;
  std::vector<SecretText> tokens_;      ///< As `shown_`; empty: this agent has none yet.
  std::vector<IdentityNote> acquired_;  ///< Of `tokens_`.
  IdentityNotes notes_;                 ///< Of what the task has.
  std::optional<IdentityMachine> machine_;
  Object<schema::plugin::HookRequest> request_;  ///< Of the newest start: its environment.
  bool performing_ = false;
  actor::Promise<hook::Answered> waiting_;  ///< Of a start.
  actor::Promise<hook::Settled> cancelled_;
  actor::Promise<hook::Answered> stopping_;
  actor::Timer timer_;
};

IdentityHookSelf::behavior_type identity_hook_actor(
    IdentityHookSelf::stateful_pointer<IdentityHookState> self,
    IdentityHookParts parts,
    PluginHost host,
    HookScope scope) {
  self->state.init(std::move(parts), std::move(host), std::move(scope));
  return {
      [self](hook::Run& msg) { return self->state.run(msg); },
      [self](hook::Cancel) { return self->state.cancel(); },
      [](const hook::TasksChanged&) {},
      [self](RenewalDue msg) { self->state.look(msg.round); },
  };
}

}  // namespace

HookEntry identity_hook(IdentityHookParts parts) {
  return {
      .name = "identity",
      .phases = {HookPhase::PRESTART, HookPhase::POSTSTART, HookPhase::EXITED, HookPhase::STOP},
      .reads_environment = true,
      .patience = identities_patience,
      .wanted = [](const HookScope& scope) { return !shown_identities(subject_of(scope)).empty(); },
      .spawn =
          [parts = std::move(parts)](const actor::Owner& owner, const PluginHost& host,
                                     const HookScope& scope) {
            return Hook{actor::spawn(owner, identity_hook_actor, parts, host, scope)};
          }};
}

}  // namespace nomad::client
