// HookSet: the hooks of one allocation or one task, for its runner. It makes an actor of each that
// is wanted when a phase of it comes, asks it, and has it end when nothing is left to ask.
//
// A hook that dies, or does not answer in time, fails the phase that it was asked in; the next
// phase finds a new actor. What it calls back comes in later turns of the runner, or within the
// call if there is nothing to wait for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "actors/client/hooks/hook.hpp"
#include "actors/core/newest.hpp"
#include "actors/core/supervise.hpp"

namespace nomad::client {

/// Whose hooks they are. Asked when something of a hook has to be made, so that nothing of it is
/// kept while none works.
class HookOwner {
public:
  virtual ~HookOwner() = default;

  /// Whom its hooks tell and ask; empty: nobody.
  virtual PluginAgent agent() const = 0;

  /// As it is now.
  virtual HookScope hook_scope() const = 0;

  /// Writes what a request of the hook says besides its phase and deadline.
  virtual void fill(const HookEntry& hook, schema::plugin::HookRequest::Builder request) const = 0;

  /// As they are now.
  virtual Environments environments() const = 0;
};

class HookSet {
public:
  using Request = Object<schema::plugin::HookRequest>;
  using Answer = Result<Object<schema::plugin::HookAnswer>>;
  using Then = std::function<void(const Answer&)>;
  using Failed = std::function<void(const HookEntry&, const Error&)>;

  /// `entries` and `owner` outlive it. Everything is called in turns of `self`.
  HookSet(actor::Self* self, const std::vector<HookEntry>& entries, const HookOwner& owner)
      : self_{self}, entries_{entries}, owner_{owner} {}

  HookSet(const HookSet&) = delete;
  HookSet& operator=(const HookSet&) = delete;

  ~HookSet() { stop(); }

  /// The owner's scope is another from now on.
  void scope_changed() { scope_ = {}; }

  const HookEntry& entry(std::size_t position) const { return entries_[position]; }

  std::size_t size() const { return entries_.size(); }

  /// Whether the hook wants to be asked, as things are now.
  bool is_wanted(std::size_t position) const;

  /// Whether it is, in the phase.
  bool is_asked(std::size_t position, HookPhase phase) const;

  void ask(std::size_t position, HookPhase phase, Then then);

  /// Asks all hooks of the phase, one after the other; those that fail hold nothing up.
  void ask_all(HookPhase phase, Failed failed, std::function<void()> then) {
    ask_from(0, phase, std::move(failed), std::move(then));
  }

  /// Like `ask_all` in the update phase, of all hooks at once; each hook has one update at a time,
  /// and the newest at last. Hooks that are no longer wanted are told for the last time, and end.
  void update(Failed failed);

  /// What the hook owes is to be given up; its answer comes all the same, within `cancel_grace`.
  void cancel(std::size_t position);
  void cancel_all();

  /// Whether anybody is told of tasks.
  bool is_watched() const;
  void tell(const hook::TasksChanged& change);

  /// Nothing more is told: calls back when those who watch have seen, and said, all there is.
  void dismiss_watchers(const std::function<void()>& then);

  void child_down(const actor::Down& down);

  /// Ends the actors. What they owe is not called back any more.
  void stop();

private:
  struct Slot {
    Hook actor;
    std::map<std::uint64_t, Then> open;  ///< What is not answered, by ticket.
    bool updating = false;
    std::function<void()> next_update{};
    actor::Newest<Hook, hook::TasksChanged> news{};

    bool is_idle() const { return !actor && open.empty() && !updating; }
  };

  const HookScope& scope() const;
  const Hook& actor_of(std::size_t position);
  bool lives(std::size_t position) const;
  bool owes(std::size_t position) const;
  EnvironmentsRef environments_for(const HookEntry& entry,
                                   schema::plugin::HookRequest::Builder request) const;
  void forget_if_idle(std::size_t position);
  void settle(std::size_t position, std::uint64_t ticket, HookPhase phase, const Answer& answer);
  void end(std::size_t position);
  void give_up(std::size_t position, const Error& why);
  void ask_from(std::size_t position, HookPhase phase, Failed failed, std::function<void()> then);
  void update_one(std::size_t position, const Failed& failed);

  actor::Self* self_;
  const std::vector<HookEntry>& entries_;
  const HookOwner& owner_;
  mutable HookScope scope_;            ///< Empty: it has not been asked for since it changed.
  std::map<std::size_t, Slot> hooks_;  ///< By place, of those that live or owe something.
  std::uint64_t tickets_ = 0;
};

}  // namespace nomad::client
