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
#include "runtime/workload/task_event.hpp"

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

using IdentityHookSelf
    = actor::WithInternal<Hook, void(identity_signer::ClockMoved), void(LookDue)>;

/// What has become of files.
struct IdentitiesWritten {
  IdentityMachine::Unwritten failed;
  IdentityNotes noted;
};

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

  void clock_moved() {
    say_clock();
    carry_on();
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
    failing_.clear();
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
      follow_clock();
      say_clock();
      machine_->start(!is_starting(), left_in_environment(), now());
      carry_on();
    }
    return hook::Answered{};
  }

  // -- a start ------------------------------------------------------------------------------------

  void begin() {
    has_begun_ = true;
    follow_clock();
    say_clock();
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
    noted_ = notes;
    notes_ = std::move(notes);
    if (!is_starting()) return;  // cancelled meanwhile
    machine_->start(true, left(), now());
    carry_on();
  }

  // -- the clocks ---------------------------------------------------------------------------------

  void follow_clock() {
    self_->send(parts_.signer,
                identity_signer::FollowClock{actor::weak(identity_signer::ClockFollower{self_})});
  }

  void say_clock() { machine_->clock_is(Nanoseconds{parts_.unix_now()} - now(), now()); }

  /// By the notes.
  IdentityMachine::Left left() const {
    IdentityMachine::Left left;
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      const auto note = notes_.find(shown_[i].key());
      if (note == notes_.end()) continue;
      left[i] = {.life = note->second.life,
                 .age = age_of(note->second, parts_.unix_now(), now()),
                 .ahead = ahead_of(note->second)};
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
    follow_clock();  // The signer may be another one.
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
    say_clock();
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
    if (task().empty()) return machine_->written({}, now());  // Nothing of these is written down.

    struct Order {
      std::size_t position;
      std::string key;
      IdentityFile file;  ///< Without a path: in the environment alone.
    };

    std::vector<Order> orders;
    auto notes = notes_;
    for (const auto position : failing_)
      keep_note(notes, noted_, shown_[position].key());
    for (const auto position : it.which) {
      const auto key = shown_[position].key();
      if (const auto note = notes_.find(key); note != notes_.end()) notes[key] = note->second;
      orders.push_back({position, key, {shown_[position].file, tokens_[position]}});
    }
    const auto write = [disk = parts_.disk, subject = subject_of(scope_),
                        environments = environments_, notes = std::move(notes), noted = noted_,
                        orders = std::move(orders)]() -> Result<IdentitiesWritten> {
      NOMAD_FAILPOINT_ERROR("client.before_identities");
      IdentitiesWritten done{.failed = {}, .noted = notes};
      for (const auto& [position, key, file] : orders) {
        if (file.path.empty()) continue;
        const auto written = disk.write(subject, environments->own, {file});
        if (written) continue;
        done.failed.emplace(position, written.error());
        keep_note(done.noted, noted, key);
      }
      NOMAD_FAILPOINT("client.identities_written");
      NOMAD_TRY(disk.note(subject, done.noted));
      NOMAD_FAILPOINT("client.identities_noted");
      return done;
    };
    self_->request(parts_.steps, actor::infinite, blocking::make(write))
        .then(
            [this, of = decisions_, which = it.which](const blocking::Outcome& outcome) {
              if (of != decisions_) return;
              auto& done = outcome.as<IdentitiesWritten>();
              noted_ = std::move(done.noted);
              for (const auto position : which)
                failing_.erase(position);
              written(done.failed);
            },
            [this, of = decisions_, which = it.which](const Error& err) {
              if (of != decisions_) return;
              IdentityMachine::Unwritten failed;
              for (const auto position : which)
                failed.emplace(position, err);
              written(failed);
            });
  }

  /// What the file of this one has is what was noted before.
  static void keep_note(IdentityNotes& notes, const IdentityNotes& before, const std::string& key) {
    const auto found = before.find(key);
    if (found == before.end())
      notes.erase(key);
    else
      notes[key] = found->second;
  }

  void written(const IdentityMachine::Unwritten& failed) {
    for (const auto& [position, why] : failed) {
      failing_.insert(position);
      log::warn("client", "the file of an identity is not written, and tried again",
                {{"alloc", alloc_id()},
                 {"task", task()},
                 {"path", shown_[position].file},
                 {"error", why}});
    }
    machine_->written(failed, now());
    carry_on();
  }

  void perform(const identity_action::Complain& it) {
    const auto& file = shown_[it.which].file;
    const auto what = file.empty() ? std::string{"the note of when it came"}
                                   : fmt::format("the file \"{}\"", file);
    task_->tell(
        workload::task_event::hook_failed,
        fmt::format("identity: {} can't be written, and is tried again: {}", what, it.why.what));
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
  IdentityNotes noted_;                 ///< What of that is written down.
  std::set<std::size_t> failing_;       ///< Whose files are older than their tokens.
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
      [self](identity_signer::ClockMoved) { self->state.clock_moved(); },
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
