#include "actors/client/alloc_hooks.hpp"

#include <fmt/format.h>

#include "actors/client/task/task_config.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/alloc_update.hpp"

namespace nomad::client {

namespace {

/// Of hooks that remove what is left.
class DestroyedAlloc final : public HookOwner {
public:
  explicit DestroyedAlloc(HookScope scope) : scope_{std::move(scope)} {}

  PluginAgent agent() const override { return {}; }

  HookScope hook_scope() const override { return scope_; }

  void fill(const HookEntry&, schema::plugin::HookRequest::Builder) const override {}

  Environments environments() const override { return {}; }

private:
  HookScope scope_;
};

}  // namespace

void AllocHooks::equip(const Parts& parts) {
  parts_.emplace(parts);
  set_.emplace(self_, parts.hooks, *this);
}

HookScope AllocHooks::hook_scope() const {
  bool mounts = false;
  if (const auto group = workload::find_group(*facts_.job, facts_.alloc->task_group()))
    for (const auto task : group->getTasks()) {
      const auto* const driver = find_driver(parts_->drivers, copy(task.getDriver()));
      mounts = mounts || (driver != nullptr && driver->capabilities().getMounts());
    }
  return facts_.scope(parts_->node.alloc_root(facts_.id), mounts);
}

void AllocHooks::fill(const HookEntry&, schema::plugin::HookRequest::Builder request) const {
  request.setAgain(again_);
  request.setRunning(facts_.begun);
}

/// As they are before hooks of tasks and drivers have added anything.
Environments AllocHooks::environments() const {
  Environments all{make_env(parts_->node, *facts_.alloc, *facts_.job, {}, {}, {})};
  const auto group = workload::find_group(*facts_.job, facts_.alloc->task_group());
  if (!group) return all;
  for (const auto task : group->getTasks()) {
    const auto* const driver = find_driver(parts_->drivers, copy(task.getDriver()));
    all.of_tasks.emplace(copy(task.getName()),
                         make_env(parts_->node, *facts_.alloc, *facts_.job, task,
                                  driver == nullptr ? schema::plugin::Capabilities::Reader{}
                                                    : driver->capabilities(),
                                  {}));
  }
  return all;
}

void AllocHooks::prerun_from(std::size_t position, Then then) {
  set_->scope_changed();
  while (position < set_->size() && !set_->is_asked(position, HookPhase::PRERUN))
    ++position;
  if (position == set_->size() || cancelled_) {
    then({});
    return;
  }
  set_->ask(position, HookPhase::PRERUN, [this, position, then](const HookSet::Answer& answer) {
    if (answer) {
      prerun_from(position + 1, then);
      return;
    }
    if (cancelled_) {
      then({});
      return;
    }
    const auto& name = set_->entry(position).name;
    log::error("client", "a prerun hook failed",
               {{"alloc", facts_.id}, {"hook", name}, {"error", answer.error()}});
    then(Error{answer.error().code,
               fmt::format("pre-run hook \"{}\" failed: {}", name, answer.error().what)});
  });
}

void AllocHooks::cancel_prerun() {
  cancelled_ = true;
  set_->cancel_all();
}

void AllocHooks::ask(HookPhase phase, std::function<void()> then) {
  set_->scope_changed();
  set_->ask_all(phase, failed_, std::move(then));
}

void AllocHooks::update(bool again) {
  set_->scope_changed();
  again_ = again;
  set_->update(failed_);
  again_ = false;
}

void run_destroy_hooks(actor::Self* self,
                       const std::shared_ptr<const Hooks>& all,
                       const HookScope& scope,
                       std::function<void()> then) {
  const auto owner = std::make_shared<const DestroyedAlloc>(scope);
  const auto hooks = std::make_shared<HookSet>(self, all->of_allocs, *owner);
  hooks->ask_all(
      HookPhase::DESTROY,
      [id = std::string{scope.alloc->id()}](const HookEntry& hook, const Error& err) {
        log::warn("client", "a hook failed while its allocation was removed",
                  {{"alloc", id}, {"hook", hook.name}, {"error", err}});
      },
      [owner, hooks, all, then = std::move(then)] { then(); });
}

}  // namespace nomad::client
