// AllocHooks: the hooks of one allocation, in the order of the catalog. The runner says when.
//
// What it calls back comes in later turns of the runner, or within the call if there is nothing to
// wait for. A hook that fails holds up nobody, except in prerun; that it failed becomes an event of
// each task.
#pragma once

#include <functional>

#include "actors/client/alloc_facts.hpp"
#include "actors/client/hooks/hook_set.hpp"

namespace nomad::client {

/// Removes what the hooks left of an allocation on this machine, one after the other, then calls
/// `then`. For whoever outlives the allocation's runner, too.
void run_destroy_hooks(actor::Self* self,
                       const std::shared_ptr<const Hooks>& all,
                       const HookScope& scope,
                       std::function<void()> then);

class AllocHooks : public HookOwner {
public:
  /// What they are made from.
  struct Parts {
    const std::vector<HookEntry>& hooks;
    const TaskNode& node;
    const KnownDrivers& drivers;
  };

  /// `facts` outlives it. `failed` hears of each hook that fails after prerun.
  AllocHooks(AllocSelf::pointer self, const AllocFacts& facts, HookSet::Failed failed)
      : self_{self}, facts_{facts}, failed_{std::move(failed)} {}

  AllocHooks(const AllocHooks&) = delete;
  AllocHooks& operator=(const AllocHooks&) = delete;

  /// Once, when the facts are known. What `parts` name outlives it.
  void equip(const Parts& parts);

  using Then = std::function<void(const Result<>&)>;

  /// Runs the hooks one after the other, up to the first that fails; the error names it. Cancelled
  /// ones have not failed.
  void prerun(Then then) { prerun_from(0, std::move(then)); }

  /// No further hook begins; those that run are to give up.
  void cancel_prerun();

  /// Asks the hooks of the phase, one after the other, and goes on with `then`.
  void ask(HookPhase phase, std::function<void()> then);

  /// The allocation is another now, and goes on. `again`: the servers may have forgotten what hooks
  /// told them.
  void update(bool again = false);

  void tell(const hook::TasksChanged& change) { set_->tell(change); }

  /// Whether anybody would be told.
  bool is_watched() const { return set_->is_watched(); }

  /// Calls back when those who are told have said all that there is to say.
  void dismiss_watchers(const std::function<void()>& then) { set_->dismiss_watchers(then); }

  void child_down(const actor::Down& down) { set_->child_down(down); }

  /// Ends the actors.
  void stop() { set_->stop(); }

private:
  PluginAgent agent() const override { return self_; }

  HookScope hook_scope() const override;

  void fill(const HookEntry& hook, schema::plugin::HookRequest::Builder request) const override;
  Environments environments() const override;
  void prerun_from(std::size_t position, Then then);

  AllocSelf::pointer self_;
  const AllocFacts& facts_;
  HookSet::Failed failed_;
  std::optional<Parts> parts_;
  std::optional<HookSet> set_;
  bool cancelled_ = false;
  bool again_ = false;
};

}  // namespace nomad::client
