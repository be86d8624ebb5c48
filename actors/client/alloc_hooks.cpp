#include "actors/client/alloc_hooks.hpp"

#include <fmt/format.h>

#include "actors/core/supervise.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::client {

const std::vector<AllocHookEntry>& AllocHooks::entries() const {
  return facts_.context->plugins->alloc_hooks;
}

const AllocHook& AllocHooks::spawn(const AllocHookEntry& entry, const AllocScope& about) {
  actors_.push_back({&entry, entry.spawn(self_, about, self_)});
  return actors_.back().handle;
}

void AllocHooks::prerun_from(std::size_t index, Then then) {
  for (std::size_t i = index; i < entries().size() && !cancelled_; ++i) {
    const auto& entry = entries()[i];
    const auto about = facts_.scope();
    if (entry.wanted && !entry.wanted(about)) continue;
    const auto next = [this, i, then] { prerun_from(i + 1, then); };
    const auto failed = [this, then, name = entry.name](const Error& err) {
      log::error("client", "prerun of allocation {} failed: {}: {}", short_id(facts_.id), name,
                 err.what);
      if (cancelled_)
        then({});
      else
        then(Error{err.code, fmt::format("pre-run hook \"{}\" failed: {}", name, err.what)});
    };
    if (entry.prerun) {
      self_
          ->request(facts_.context->steps, alloc_hook_timeout,
                    step::make([function = entry.prerun, about] { return function(about); }))
          .then([next](const step::Outcome&) { next(); }, failed);
      return;
    }
    if (!entry.spawn) continue;
    const auto& handle = spawn(entry, about);
    if ((entry.asked_in & static_cast<std::uint8_t>(Phase::prerun)) == 0) continue;
    self_->request(handle, alloc_hook_timeout, hook::Prerun{})
        .then([next](const hook::Done&) { next(); }, failed);
    return;
  }
  then({});
}

void AllocHooks::cancel_prerun() {
  cancelled_ = true;
  for (const auto& hook : actors_)
    actor::send_urgent(self_, hook.handle, hook::Cancel{});
}

bool AllocHooks::renew_health_watcher() {
  for (const auto& entry : entries()) {
    if (entry.name != "alloc_health_watcher") continue;
    std::erase_if(actors_, [&entry](const auto& hook) {
      if (hook.entry != &entry) return false;
      actor::stop(hook.handle);
      return true;
    });
    const auto about = facts_.scope();
    if (!entry.wanted(about)) return false;
    spawn(entry, about);
    return true;
  }
  return false;
}

void run_destroy_hooks(actor::Self* self,
                       const std::shared_ptr<const ClientContext>& context,
                       const AllocScope& about,
                       std::function<void()> then,
                       std::size_t from) {
  const auto& entries = context->plugins->alloc_hooks;
  for (std::size_t i = from; i < entries.size(); ++i) {
    const auto& entry = entries[i];
    if (!entry.destroy) continue;
    const auto next
        = [self, context, about, then, i] { run_destroy_hooks(self, context, about, then, i + 1); };
    self->request(context->steps, alloc_hook_timeout,
                  step::make([function = entry.destroy, about] { return function(about); }))
        .then([next](const step::Outcome&) { next(); },
              [next, about, name = entry.name](const Error& err) {
                log::warn("client", "removing allocation {}: {}: {}",
                          short_id(copy(about.alloc->getId())), name, err.what);
                next();
              });
    return;
  }
  then();
}

void AllocHooks::child_down(const actor::Address& source) {
  std::erase_if(actors_, [&source](const auto& hook) { return hook.handle.address() == source; });
}

void AllocHooks::stop() {
  for (const auto& hook : actors_)
    actor::stop(hook.handle);
  actors_.clear();
}

}  // namespace nomad::client
