#include "actors/client/tools/pending_deregistrations.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "actors/core/supervise.hpp"
#include "runtime/base/back_off.hpp"
#include "runtime/base/log.hpp"

namespace nomad::client {

namespace {

using namespace std::chrono_literals;
using pending_deregistrations::Kept;

constexpr std::chrono::nanoseconds first_ask_wait = 1s;
constexpr std::chrono::nanoseconds longest_ask_wait = 30s;
/// Above the time that a plugin's next process takes at most.
constexpr auto deregistering_timeout = 3min;
/// A full disk is waited for, and nobody waits for that.
constexpr auto pending_saving_timeout = 1min;

struct AskDue {
  using is_message = void;
  std::string provider;
  std::uint64_t round = 0;
};

using PendingSelf = actor::WithInternal<PendingDeregistrations, void(AskDue)>;

/// What outlives a crash of the actor.
struct PendingMemory {
  PendingDeregistrationsOptions options;
  /// By provider and allocation: the ids of services.
  std::map<std::pair<std::string, std::string>, std::set<std::string>> owed;
};

class PendingState {
public:
  static constexpr const char* name = "pending_deregistrations";

  explicit PendingState(PendingSelf::pointer self) : self_{self} {}

  void init(std::shared_ptr<PendingMemory> memory) {
    memory_ = std::move(memory);
    memory_->options.providers->watch(PendingSelf{self_});
    std::set<std::string> providers;
    for (const auto& [whom, ids] : memory_->owed)
      providers.insert(whom.first);
    for (const auto& provider : providers)
      go_on(provider);
  }

  actor::Answer<Kept> keep(const pending_deregistrations::Keep& msg) {
    const auto& pending = msg.pending;
    const auto known = memory_->owed.find({pending.provider, pending.alloc_id});
    if (known == memory_->owed.end() && memory_->owed.size() >= pending_deregistrations::most)
      return Error{Errc::overloaded,
                   fmt::format("providers owe deregistrations of {} allocations already",
                               memory_->owed.size())};
    memory_->owed[{pending.provider, pending.alloc_id}].insert(pending.ids.begin(),
                                                               pending.ids.end());
    auto promise = self_->make_response_promise<Kept>();
    storage::ClientBatch batch;
    client_db::put_deregistration(batch, pending);
    self_->request(memory_->options.db, pending_saving_timeout, client_db::Save{std::move(batch)})
        .then([promise](const client_db::Committed&) { promise.deliver(Kept{}); },
              [promise](const Error& err) { promise.deliver(err); });
    if (!asking_.contains(pending.provider)) go_on(pending.provider);
    return promise;
  }

  pending_deregistrations::Withdrawn withdraw(const pending_deregistrations::Withdraw& msg) {
    pending_deregistrations::Withdrawn withdrawn;
    const auto known = memory_->owed.find({msg.pending.provider, msg.pending.alloc_id});
    if (known == memory_->owed.end()) return withdrawn;
    for (const auto& id : msg.pending.ids)
      if (known->second.contains(id)) withdrawn.ids.push_back(id);
    erase(msg.pending);
    return withdrawn;
  }

  /// It is asked at once, whatever it said before.
  void began(const std::string& provider) {
    asking_[provider].waits.reset();
    go_on(provider);
  }

  void ask_again(const AskDue& msg) {
    const auto known = asking_.find(msg.provider);
    if (known != asking_.end() && known->second.round == msg.round) go_on(msg.provider);
  }

private:
  struct Asking {
    bool busy = false;
    std::uint64_t round = 0;
    BackOff waits{first_ask_wait, longest_ask_wait};
    std::optional<Errc> failure;  ///< The last one; repeated ones are not logged.
    std::string last;             ///< The allocation that it was asked for.
  };

  /// Asks a provider for one allocation after the other, in a circle: what it refuses holds nothing
  /// else up.
  void go_on(const std::string& provider) {
    auto& asking = asking_[provider];
    if (asking.busy) return;
    ++asking.round;
    const auto is_its = [&](const auto& position) {
      return position != memory_->owed.end() && position->first.first == provider;
    };
    auto next = memory_->owed.upper_bound({provider, asking.last});
    if (!is_its(next)) next = memory_->owed.lower_bound({provider, {}});
    if (!is_its(next)) {
      asking_.erase(provider);
      return;
    }
    const PendingDeregistration pending{
        provider, next->first.second, {next->second.begin(), next->second.end()}};
    const auto known = memory_->options.providers->find(provider);
    if (!known) return failed(pending, {Errc::unavailable, "no plugin of this node brings it"});
    asking.busy = true;
    asking.last = pending.alloc_id;
    self_
        ->request(known->provider, deregistering_timeout,
                  service_provider::Deregister{pending.provider, pending.alloc_id, pending.ids})
        .then([this, pending](service_provider::Done) { deregistered(pending); },
              [this, pending](const Error& err) { failed(pending, err); });
  }

  void deregistered(const PendingDeregistration& pending) {
    auto& asking = asking_[pending.provider];
    asking.busy = false;
    asking.waits.reset();
    asking.failure.reset();
    erase(pending);
    log::info("client", "a provider has deregistered services",
              {{"alloc", pending.alloc_id},
               {"provider", pending.provider},
               {"count", pending.ids.size()}});
    go_on(pending.provider);
  }

  /// A row that comes back, since the agent dies before this is saved, is asked for once more.
  void erase(const PendingDeregistration& pending) {
    if (const auto known = memory_->owed.find({pending.provider, pending.alloc_id});
        known != memory_->owed.end()) {
      for (const auto& id : pending.ids)
        known->second.erase(id);
      if (known->second.empty()) memory_->owed.erase(known);
    }
    storage::ClientBatch batch;
    client_db::erase_deregistration(batch, pending);
    self_->send(memory_->options.db, client_db::SaveLater{std::move(batch)});
  }

  void failed(const PendingDeregistration& pending, const Error& err) {
    auto& asking = asking_[pending.provider];
    asking.busy = false;
    if (asking.failure != err.code)
      log::warn("client", "a provider has still to deregister services, and is asked again",
                {{"alloc", pending.alloc_id}, {"provider", pending.provider}, {"error", err}});
    asking.failure = err.code;
    actor::send_self_after(self_, asking.waits.next(), AskDue{pending.provider, asking.round});
  }

  PendingSelf::pointer self_;
  std::shared_ptr<PendingMemory> memory_;
  std::map<std::string, Asking> asking_;  ///< By provider: those that are asked, or will be.
};

PendingSelf::behavior_type pending_deregistrations_actor(
    PendingSelf::stateful_pointer<PendingState> self, std::shared_ptr<PendingMemory> memory) {
  self->state.init(std::move(memory));
  return {
      [self](const pending_deregistrations::Keep& msg) { return self->state.keep(msg); },
      [self](const pending_deregistrations::Withdraw& msg) { return self->state.withdraw(msg); },
      [self](const service_provider::Began& msg) { self->state.began(msg.provider); },
      [self](const AskDue& msg) { self->state.ask_again(msg); },
  };
}

}  // namespace

PendingDeregistrations spawn_pending_deregistrations(const actor::Owner& owner,
                                                     PendingDeregistrationsOptions options) {
  auto memory = std::make_shared<PendingMemory>();
  for (auto& pending : std::exchange(options.owed, {}))
    memory->owed[{pending.provider, pending.alloc_id}].insert(pending.ids.begin(),
                                                              pending.ids.end());
  memory->options = std::move(options);
  return actor::spawn<actor::Policy::restart>(owner, pending_deregistrations_actor,
                                              std::move(memory));
}

}  // namespace nomad::client
