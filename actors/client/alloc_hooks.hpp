// AllocHooks: the hooks of one allocation, in the order of the catalog: runs those that are
// functions, spawns and asks those that are actors. The runner says when.
//
// What it calls back comes in later turns of the runner, or within the call if there is nothing to
// wait for. A hook that fails to answer holds up nobody, except in prerun.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "actors/client/alloc_facts.hpp"

namespace nomad::client {

/// Hooks may download, or wait for devices; users end what takes too long.
inline constexpr auto alloc_hook_timeout = std::chrono::hours{24};

/// Removes what the hooks left of an allocation on this machine, one after the other, then calls
/// `then`. For whoever outlives the allocation's runner, too.
void run_destroy_hooks(actor::Self* self,
                       const std::shared_ptr<const ClientContext>& context,
                       const AllocScope& about,
                       std::function<void()> then,
                       std::size_t from = 0);

class AllocHooks {
public:
  /// Both outlive it.
  AllocHooks(AllocSelf::pointer self, const AllocFacts& facts) : self_{self}, facts_{facts} {}

  AllocHooks(const AllocHooks&) = delete;
  AllocHooks& operator=(const AllocHooks&) = delete;

  ~AllocHooks() { stop(); }

  using Then = std::function<void(const Result<>&)>;

  /// Runs the hooks one after the other, up to the first that fails; the error names it. Cancelled
  /// ones have not failed.
  void prerun(Then then) { prerun_from(0, std::move(then)); }

  /// No further hook begins; those that are actors are asked to give up.
  void cancel_prerun();

  /// Asks the actors that want it in `phase`, one after the other, and goes on with `then`.
  template <class Message>
  void ask(Phase phase, std::function<void()> then, std::size_t from = 0);

  template <class Message>
  void tell(const Message& message) {
    for (const auto& hook : actors_)
      self_->send(hook.handle, Message{message});
  }

  /// Whether there is an actor that could be told anything.
  bool has_actors() const { return !actors_.empty(); }

  /// Replaces the watcher of the allocation's health by one that looks at what the allocation is
  /// now. False: none is wanted.
  bool renew_health_watcher();

  /// The allocation is forgotten: removes what the hooks left on this machine, then calls `then`.
  void destroy(std::function<void()> then) {
    run_destroy_hooks(self_, facts_.context, facts_.scope(), std::move(then));
  }

  /// An actor has ended.
  void child_down(const actor::Address& source);

  /// Ends the actors.
  void stop();

private:
  struct HookActor {
    const AllocHookEntry* entry;
    AllocHook handle;
  };

  const std::vector<AllocHookEntry>& entries() const;
  const AllocHook& spawn(const AllocHookEntry& entry, const AllocScope& about);
  void prerun_from(std::size_t index, Then then);

  AllocSelf::pointer self_;
  const AllocFacts& facts_;
  std::vector<HookActor> actors_;
  bool cancelled_ = false;
};

template <class Message>
void AllocHooks::ask(Phase phase, std::function<void()> then, std::size_t from) {
  for (std::size_t i = from; i < actors_.size(); ++i) {
    if ((actors_[i].entry->asked_in & static_cast<std::uint8_t>(phase)) == 0) continue;
    const auto next
        = [this, phase, then = std::move(then), i] { ask<Message>(phase, then, i + 1); };
    self_->request(actors_[i].handle, alloc_hook_timeout, Message{})
        .then([next](const hook::Done&) { next(); }, [next](const Error&) { next(); });
    return;
  }
  then();
}

}  // namespace nomad::client
