#include "actors/client/hooks/identity_hook.hpp"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "actors/client/hooks/hooked_task.hpp"
#include "actors/client/hooks/machine_hook.hpp"
#include "actors/core/actor_registry.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/failpoint.hpp"
#include "runtime/base/log.hpp"

namespace nomad::client {

namespace {

using workload::IdentityMachine;
namespace identity_action = workload::identity_action;

/// As long as the task is wanted: the servers may be away for any time.
constexpr auto identities_patience = std::chrono::hours{24 * 365};
/// Above what a question of the signer takes, with those before it.
constexpr auto signer_patience = std::chrono::minutes{5};

/// So many are named among the agent's actors.
constexpr std::size_t most_told = 8;

IdentitySubject subject_of(const HookScope& scope) {
  return {scope.alloc, scope.job, copy(scope.target->getAllocRoot()),
          copy(scope.target->getTask())};
}

using IdentityHookSelf = actor::WithInternal<Hook, void(LookDue)>;

class IdentityHookState : public MachineHook<IdentityHookState, IdentityHookSelf, IdentityMachine> {
public:
  static constexpr const char* name = "identity_hook";

  using MachineHook::MachineHook;

  IdentityHookState(const IdentityHookState&) = delete;
  IdentityHookState& operator=(const IdentityHookState&) = delete;

  ~IdentityHookState() {
    if (parts_.node_identities) parts_.node_identities->forget(alloc_id(), task());
  }

  void init(IdentityHookParts parts, PluginAgent agent, HookScope scope) {
    parts_ = std::move(parts);
    scope_ = std::move(scope);
    task_.emplace(self_, std::move(agent), parts_.unix_now, scope_);
    decide_anew(shown_identities(subject_of(scope_)));
  }

  actor::Answer<hook::Answered> run(hook::Run& msg) {
    switch (msg.request->getPhase()) {
      case HookPhase::UPDATE:
        scope_.alloc = std::move(msg.alloc);
        scope_.job = std::move(msg.job);
        return update();
      case HookPhase::POSTRUN:
      case HookPhase::STOP:
        has_begun_ = false;
        parts_.node_identities->forget(alloc_id(), task());
        break;
      default:
        break;
    }
    return MachineHook::run(msg);
  }

  actor::Answer<hook::Settled> cancel() {
    has_begun_ = false;
    return MachineHook::cancel();
  }

private:
  friend MachineHook;

  std::string alloc_id() const { return std::string{scope_.alloc->id()}; }

  /// "" of a group's services.
  std::string task() const { return copy(scope_.target->getTask()); }

  /// For the log: "task web", "group services of <alloc>".
  std::string whose() const {
    return task().empty() ? "services of allocation " + alloc_id() : "task " + task();
  }

  /// About these identities from now on. What was asked for others is not heard any more.
  void decide_anew(std::vector<ShownIdentity> shown) {
    ++decisions_;
    shown_ = std::move(shown);
    tokens_.assign(shown_.size(), {});
    acquired_.assign(shown_.size(), {});
    std::vector<workload::IdentityTerms> terms;
    for (const auto& one : shown_)
      terms.push_back({.has_file = !one.file.empty(),
                       .has_variable = !one.variable.empty(),
                       .acts = one.change != ShownIdentity::Change::noop});
    machine_.emplace(std::move(terms), parts_.random());
  }

  /// Services may have other identities now; those of tasks are the same while these run. One that
  /// was made after a crash takes up what its predecessor had.
  actor::Answer<hook::Answered> update() {
    auto shown = shown_identities(subject_of(scope_));
    const bool is_other = shown != shown_;
    const bool has_to_take_up = !has_begun_ && task().empty();
    if (!is_other && !has_to_take_up) return hook::Answered{};
    if (is_other) {
      parts_.node_identities->forget(alloc_id(), task());
      decide_anew(std::move(shown));
    }
    // A start that waits is answered by the new decisions, any other one by nobody.
    if (has_begun_ || has_to_take_up) {
      has_begun_ = true;
      machine_->start(!is_starting(), left_in_environment(), now());
      carry_on();
    }
    return hook::Answered{};
  }

  // -- a start ------------------------------------------------------------------------------------

  void begin() {
    has_begun_ = true;
    if (!request_->getRunning()) {
      notes_.clear();  // It starts with what is newest.
      for (std::size_t i = 0; i < shown_.size(); ++i)
        if (!tokens_[i].empty()) notes_[shown_[i].key()] = acquired_[i];
      return machine_->start(false, {}, now());
    }
    self_
        ->request(parts_.steps, actor::infinite,
                  blocking::make([disk = parts_.disk, subject = subject_of(scope_)]()
                                     -> Result<IdentityNotes> { return disk.read_notes(subject); }))
        .then([this](const blocking::Outcome& outcome) { taken_up(outcome.as<IdentityNotes>()); },
              [this](const Error&) { taken_up({}); });
  }

  actor::Answer<hook::Answered> poststart(const hook::Run&) {
    machine_->started(now());
    carry_on();
    return hook::Answered{};
  }

  /// The task runs already, and an earlier agent has left this.
  void taken_up(IdentityNotes notes) {
    notes_ = std::move(notes);
    if (!is_starting()) return;  // cancelled meanwhile
    machine_->start(true, left(), now());
    carry_on();
  }

  /// By the notes.
  IdentityMachine::Left left() const {
    IdentityMachine::Left left;
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      const auto note = notes_.find(shown_[i].key());
      if (note == notes_.end()) continue;
      left[i] = {.life = note->second.life, .age = age_of(note->second, parts_.unix_now(), now())};
    }
    return left;
  }

  /// What the running process has; files are written anew.
  IdentityMachine::Left left_in_environment() const {
    auto all = left();
    std::erase_if(all, [this](const auto& one) { return shown_[one.first].variable.empty(); });
    return all;
  }

  // -- what the machine wants ---------------------------------------------------------------------

  void perform(const identity_action::Ask& it) {
    NOMAD_FAILPOINT("client.identities_asked");
    identity_signer::Sign order{alloc_id(), {}};
    for (const auto position : it.which) {
      const auto& one = shown_[position];
      order.wanted.push_back({.workload = one.service.empty() ? task() : one.service,
                              .is_service = !one.service.empty(),
                              .name = one.name});
    }
    self_->request(parts_.signer, signer_patience, std::move(order))
        .then(
            [this, which = it.which, of = decisions_](identity_signer::Signed& made) {
              NOMAD_FAILPOINT("client.identities_signed");
              if (of != decisions_) return;
              take(which, made.identities);
              carry_on();
            },
            [this, of = decisions_](const Error& err) {
              if (of != decisions_) return;
              log::debug("client", "identities are not signed, and asked for again",
                         {{"alloc", alloc_id()}, {"task", task()}, {"error", err}});
              machine_->not_signed(now());
              carry_on();
            });
  }

  void take(const std::vector<std::size_t>& which,
            std::vector<identity_signer::Identity>& identities) {
    IdentityMachine::Lives lives;
    for (std::size_t i = 0; i < which.size(); ++i) {
      if (!identities[i].token.empty()) continue;
      const auto why
          = fmt::format("identity \"{}\": {}", shown_[which[i]].key(), identities[i].refused);
      log::warn("client", "an identity is refused",
                {{"alloc", alloc_id()}, {"task", task()}, {"error", why}});
      return machine_->refused({Errc::rejected, why}, now());
    }
    for (std::size_t i = 0; i < which.size(); ++i) {
      auto& one = identities[i];
      const auto& shown = shown_[which[i]];
      acquired_[which[i]] = {.since = parts_.unix_now(), .life = one.life, .steady = now()};
      // What an earlier agent gave a task is what stays in its environment until it is told.
      const bool has_older
          = tokens_[which[i]].empty() && !shown.variable.empty() && notes_.count(shown.key()) > 0;
      if (!has_older) notes_[shown.key()] = acquired_[which[i]];
      tokens_[which[i]] = std::move(one.token);
      lives[which[i]] = one.life;
      if (has_begun_) parts_.node_identities->put(alloc_id(), report(which[i]), tokens_[which[i]]);
    }
    actor::set_about(*self_, about());
    machine_->is_signed(lives, now());
  }

  /// What is shown of one that is there.
  client_api::IdentityReport report(std::size_t position) const {
    const auto& one = shown_[position];
    const auto& [since, life, steady] = acquired_[position];
    return {.task = task(),
            .service = one.service,
            .name = one.name,
            .audience = one.audience,
            .issued_at = since,
            .expires_at = life.count() > 0 ? since + life.count() : 0};
  }

  /// By name, audience and end: "db (db.example, until 2026-01-01T00:00:00Z)".
  std::string about() const {
    std::string text;
    std::size_t told = 0;
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      if (tokens_[i].empty()) continue;
      if (++told > most_told) continue;
      const auto& one = shown_[i];
      const auto ends = report(i).expires_at;
      text += fmt::format("{}{} ({}{})", told == 1 ? "" : ", ",
                          one.key().empty() ? "default" : one.key(),
                          one.audience.empty() ? "" : one.audience.front() + ", ",
                          ends == 0 ? "with the allocation" : "until " + format_rfc3339(ends));
    }
    if (told > most_told) text += fmt::format(" and {} more", told - most_told);
    return text;
  }

  void perform(const identity_action::Write& it) {
    std::vector<IdentityFile> files;
    for (const auto position : it.which)
      if (!shown_[position].file.empty())
        files.push_back({shown_[position].file, tokens_[position]});
    if (task().empty()) return machine_->written({}, now());  // Nothing of these is written down.
    const auto write
        = [disk = parts_.disk, subject = subject_of(scope_), environments = environments_,
           notes = notes_, files = std::move(files)]() -> Result<> {
      NOMAD_FAILPOINT_ERROR("client.before_identities");
      NOMAD_TRY(disk.write(subject, environments->own, files));
      NOMAD_FAILPOINT("client.identities_written");
      NOMAD_TRY(disk.note(subject, notes));
      NOMAD_FAILPOINT("client.identities_noted");
      return {};
    };
    self_->request(parts_.steps, actor::infinite, blocking::make(write))
        .then([this, of = decisions_](const blocking::Outcome&) { written(of, {}); },
              [this, of = decisions_](const Error& err) {
                log::warn("client", "the files of identities are not written",
                          {{"alloc", alloc_id()}, {"task", task()}, {"error", err}});
                written(of, err);
              });
  }

  void written(std::uint64_t of, const Result<>& outcome) {
    if (of != decisions_) return;
    machine_->written(outcome, now());
    carry_on();
  }

  void perform(const identity_action::Act& it) {
    std::set<std::string> signals;
    for (const auto position : it.which) {
      const auto& one = shown_[position];
      if (one.change == ShownIdentity::Change::restart)
        return task_->restart(fmt::format("Identity[{}]: new token acquired", one.name), [] {});
      signals.insert(one.signal);
    }
    for (const auto& signal : signals)
      task_->signal(signal, "Identity: new token acquired", [this, signal](const Result<>& sent) {
        if (!sent)
          task_->fail(
              fmt::format("Identity: failed to send signal {}: {}", signal, sent.error().what));
      });
  }

  void perform(const identity_action::Wait& it) { wait(it); }

  void perform(const identity_action::AnswerStart& it) {
    if (!is_starting()) return;  // Begun by an update.
    workload::Variables variables;
    for (std::size_t i = 0; i < shown_.size(); ++i)
      if (!shown_[i].variable.empty() && !tokens_[i].empty())
        variables.emplace(shown_[i].variable, tokens_[i].reveal());
    answer_start(it.outcome, variables);
  }

  void perform(const identity_action::AnswerCancel&) {
    if (is_starting())  // while it was found out what is left
      answer_start(Error{Errc::cancelled, "cancelled"}, workload::Variables{});
    answer_cancel();
  }

  void perform(const identity_action::AnswerStop&) { answer_stop(); }

  void performed() {}

  IdentityHookParts parts_;
  std::optional<HookedTask> task_;
  std::vector<ShownIdentity> shown_;
  std::vector<SecretText> tokens_;      ///< As `shown_`; empty: this agent has none yet.
  std::vector<IdentityNote> acquired_;  ///< Of `tokens_`.
  IdentityNotes notes_;                 ///< Of what the task has.
  std::uint64_t decisions_ = 0;         ///< How often it was decided anew about which identities.
  bool has_begun_ = false;              ///< And has not ended.
};

IdentityHookSelf::behavior_type identity_hook_actor(
    IdentityHookSelf::stateful_pointer<IdentityHookState> self,
    IdentityHookParts parts,
    PluginAgent agent,
    HookScope scope) {
  self->state.init(std::move(parts), std::move(agent), std::move(scope));
  return {
      [self](hook::Run& msg) { return self->state.run(msg); },
      [self](hook::Cancel) { return self->state.cancel(); },
      [](const hook::TasksChanged&) {},
      [self](LookDue msg) { self->state.look(msg.round); },
  };
}

bool has_identities(const HookScope& scope) {
  return !shown_identities(subject_of(scope)).empty();
}

SpawnHook spawn_identity_hook(IdentityHookParts parts) {
  return [parts = std::move(parts)](const actor::Owner& owner, const PluginAgent& agent,
                                    const HookScope& scope) {
    return Hook{actor::spawn(owner, identity_hook_actor, parts, agent, scope)};
  };
}

}  // namespace

HookEntry identity_hook(IdentityHookParts parts) {
  return {.name = "identity",
          .phases = {HookPhase::PRESTART, HookPhase::POSTSTART, HookPhase::UPDATE,
                     HookPhase::EXITED, HookPhase::STOP},
          .reads_environment = {HookPhase::PRESTART},
          .patience = identities_patience,
          .wanted = has_identities,
          .spawn = spawn_identity_hook(std::move(parts))};
}

HookEntry group_identities_hook(IdentityHookParts parts) {
  return {.name = "group_identities",
          .phases = {HookPhase::PRERUN, HookPhase::UPDATE, HookPhase::POSTRUN},
          .patience = identities_patience,
          .wanted = has_identities,
          .spawn = spawn_identity_hook(std::move(parts))};
}

}  // namespace nomad::client
