#include "actors/client/service_debts.hpp"

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
using service_debts::Kept;

constexpr std::chrono::nanoseconds first_debt_wait = 1s;
constexpr std::chrono::nanoseconds longest_debt_wait = 30s;
/// Above the time that a plugin's next process takes at most.
constexpr auto paying_timeout = 3min;
/// A full disk is waited for, and nobody waits for that.
constexpr auto debt_saving_timeout = 1min;

struct DebtDue {
  using is_message = void;
  std::string provider;
  std::uint64_t round = 0;
};

using DebtsSelf = actor::WithInternal<ServiceDebts, void(DebtDue)>;

/// What outlives a crash of the actor.
struct DebtsMemory {
  ServiceDebtsOptions options;
  /// By provider and allocation: the ids of services.
  std::map<std::pair<std::string, std::string>, std::set<std::string>> owed;
};

class DebtsState {
public:
  static constexpr const char* name = "service_debts";

  explicit DebtsState(DebtsSelf::pointer self) : self_{self} {}

  void init(std::shared_ptr<DebtsMemory> memory) {
    memory_ = std::move(memory);
    memory_->options.providers->watch(DebtsSelf{self_});
    std::set<std::string> providers;
    for (const auto& [whom, ids] : memory_->owed)
      providers.insert(whom.first);
    for (const auto& provider : providers)
      go_on(provider);
  }

  actor::Answer<Kept> owe(const service_debts::Owe& msg) {
    const auto& debt = msg.debt;
    const auto known = memory_->owed.find({debt.provider, debt.alloc_id});
    if (known == memory_->owed.end() && memory_->owed.size() >= service_debts::most)
      return Error{Errc::overloaded,
                   fmt::format("providers owe deregistrations of {} allocations already",
                               memory_->owed.size())};
    memory_->owed[{debt.provider, debt.alloc_id}].insert(debt.ids.begin(), debt.ids.end());
    auto promise = self_->make_response_promise<Kept>();
    storage::ClientBatch batch;
    client_db::put_debt(batch, debt);
    self_->request(memory_->options.db, debt_saving_timeout, client_db::Save{std::move(batch)})
        .then([promise](const client_db::Committed&) { promise.deliver(Kept{}); },
              [promise](const Error& err) { promise.deliver(err); });
    if (!asking_.contains(debt.provider)) go_on(debt.provider);
    return promise;
  }

  service_debts::Forgiven forgive(const service_debts::Forgive& msg) {
    service_debts::Forgiven forgiven;
    const auto known = memory_->owed.find({msg.debt.provider, msg.debt.alloc_id});
    if (known == memory_->owed.end()) return forgiven;
    for (const auto& id : msg.debt.ids)
      if (known->second.contains(id)) forgiven.ids.push_back(id);
    erase(msg.debt);
    return forgiven;
  }

  /// It is asked at once, whatever it said before.
  void began(const std::string& provider) {
    asking_[provider].waits.reset();
    go_on(provider);
  }

  void ask_again(const DebtDue& msg) {
    const auto known = asking_.find(msg.provider);
    if (known != asking_.end() && known->second.round == msg.round) go_on(msg.provider);
  }

private:
  struct Asking {
    bool busy = false;
    std::uint64_t round = 0;
    BackOff waits{first_debt_wait, longest_debt_wait};
    std::optional<Errc> failure;  ///< The last one; repeated ones are not logged.
    std::string last;             ///< The allocation that it was asked for.
  };

  /// Asks a provider for one allocation after the other, in a circle: what it refuses holds nothing
  /// else up.
  void go_on(const std::string& provider) {
    auto& asking = asking_[provider];
    if (asking.busy) return;
    ++asking.round;
    const auto is_its = [&](const auto& place) {
      return place != memory_->owed.end() && place->first.first == provider;
    };
    auto next = memory_->owed.upper_bound({provider, asking.last});
    if (!is_its(next)) next = memory_->owed.lower_bound({provider, {}});
    if (!is_its(next)) {
      asking_.erase(provider);
      return;
    }
    const ServiceDebt debt{
        provider, next->first.second, {next->second.begin(), next->second.end()}};
    const auto known = memory_->options.providers->find(provider);
    if (!known) return failed(debt, {Errc::unavailable, "no plugin of this node brings it"});
    asking.busy = true;
    asking.last = debt.alloc_id;
    self_
        ->request(known->provider, paying_timeout,
                  service_provider::Deregister{debt.provider, debt.alloc_id, debt.ids})
        .then([this, debt](service_provider::Done) { paid(debt); },
              [this, debt](const Error& err) { failed(debt, err); });
  }

  void paid(const ServiceDebt& debt) {
    auto& asking = asking_[debt.provider];
    asking.busy = false;
    asking.waits.reset();
    asking.failure.reset();
    erase(debt);
    log::info("client", "provider \"{}\" has deregistered {} services of allocation {}",
              debt.provider, debt.ids.size(), debt.alloc_id);
    go_on(debt.provider);
  }

  /// A row that comes back, since the agent dies before this is saved, is asked for once more.
  void erase(const ServiceDebt& debt) {
    if (const auto known = memory_->owed.find({debt.provider, debt.alloc_id});
        known != memory_->owed.end()) {
      for (const auto& id : debt.ids)
        known->second.erase(id);
      if (known->second.empty()) memory_->owed.erase(known);
    }
    storage::ClientBatch batch;
    client_db::erase_debt(batch, debt);
    self_->send(memory_->options.db, client_db::SaveLater{std::move(batch)});
  }

  void failed(const ServiceDebt& debt, const Error& err) {
    auto& asking = asking_[debt.provider];
    asking.busy = false;
    if (asking.failure != err.code)
      log::warn("client",
                "provider \"{}\" has still to deregister services of allocation {}, and is asked "
                "again: {}",
                debt.provider, debt.alloc_id, err.what);
    asking.failure = err.code;
    actor::send_self_after(self_, asking.waits.next(), DebtDue{debt.provider, asking.round});
  }

  DebtsSelf::pointer self_;
  std::shared_ptr<DebtsMemory> memory_;
  std::map<std::string, Asking> asking_;  ///< By provider: those that are asked, or will be.
};

DebtsSelf::behavior_type service_debts_actor(DebtsSelf::stateful_pointer<DebtsState> self,
                                             std::shared_ptr<DebtsMemory> memory) {
  self->state.init(std::move(memory));
  return {
      [self](const service_debts::Owe& msg) { return self->state.owe(msg); },
      [self](const service_debts::Forgive& msg) { return self->state.forgive(msg); },
      [self](const service_provider::Began& msg) { self->state.began(msg.provider); },
      [self](const DebtDue& msg) { self->state.ask_again(msg); },
  };
}

}  // namespace

ServiceDebts spawn_service_debts(const actor::Owner& owner, ServiceDebtsOptions options) {
  auto memory = std::make_shared<DebtsMemory>();
  for (auto& debt : std::exchange(options.owed, {}))
    memory->owed[{debt.provider, debt.alloc_id}].insert(debt.ids.begin(), debt.ids.end());
  memory->options = std::move(options);
  return actor::spawn<actor::Policy::restart>(owner, service_debts_actor, std::move(memory));
}

}  // namespace nomad::client
