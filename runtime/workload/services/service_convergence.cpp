#include "runtime/workload/services/service_convergence.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/jobspec/service_provider.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::workload {

using jobspec::is_plugin_provider;

namespace {

/// Perhaps it is there; it is none that is wanted.
ServiceRegistration doubtful(const std::string& id) {
  Draft<schema::ServiceRegistration> one;
  one->setId(text(id));
  return one.freeze();
}

}  // namespace

RegistrationChanges ServiceConvergence::changes() const {
  std::vector<ServiceRegistration> known;
  for (const auto& [id, one] : known_)
    known.push_back(one);
  const bool moves = holder_ != provider_;  // All of it goes from there first.
  return registration_changes(known, moves ? std::vector<ServiceRegistration>{} : wanted_);
}

bool ServiceConvergence::is_still_wanted(const std::vector<ServiceRegistration>& services) const {
  return holder_ == provider_
         && std::ranges::all_of(services, [this](const ServiceRegistration& one) {
              return std::ranges::any_of(wanted_,
                                         [&one](const auto& it) { return it.equals(one); });
            });
}

/// Its holder may have forgotten it. The servers lose nothing else than all of an allocation.
void ServiceConvergence::doubt(const std::string& id) {
  if (is_plugin_provider(holder_))
    known_.insert_or_assign(id, doubtful(id));
  else
    known_.erase(id);
}

// -- what is wanted ------------------------------------------------------------------------------

Result<> ServiceConvergence::order(ServiceOrder order) {
  const bool is_refused = order.registers && !order.services;
  if (!is_refused && !order.provider.empty()) provider_ = std::move(order.provider);
  if (order.anew) {
    is_in_doubt_ = true;
    for (const auto& [id, one] : std::map{known_})
      doubt(id);
  }
  if (!order.registers && is_new_ && order.services) {  // Made anew: another may have registered.
    holder_ = provider_;
    for (const auto& one : *order.services)
      known_.insert_or_assign(copy(one->getId()), one);
  }
  is_new_ = false;
  if (is_refused) return order.services.error();
  wanted_ = order.registers ? std::move(*order.services) : std::vector<ServiceRegistration>{};
  orders_.push_back(order.ticket);
  pauses_.reset();
  act(service_action::WaitAtMost{++order_round_, patience});
  go_on();
  return {};
}

void ServiceConvergence::provider_began(const std::string& provider) {
  if (provider != provider_ && provider != holder_) return;
  if (provider == holder_) {
    for (const auto& one : wanted_)
      if (const auto id = copy(one->getId()); known_.contains(id)) doubt(id);
    is_in_doubt_ = true;
  }
  pauses_.reset();
  go_on();
}

// -- what is asked -------------------------------------------------------------------------------

/// Asks for the next thing that leads there.
void ServiceConvergence::go_on() {
  if (is_asking()) return;
  ++round_;
  if (known_.empty()) holder_ = provider_;
  asked_ = changes();
  state_ = State::settled;
  if (asked_.empty()) return answer_orders();
  if (!asked_.gone.empty()) asked_.put.clear();
  if (!asked_.gone.empty() || !can_leave_ || !is_plugin_provider(holder_)) return ask();
  state_ = State::withdrawing;
  is_in_doubt_ = false;
  std::vector<std::string> ids;
  for (const auto& one : asked_.put)
    ids.push_back(copy(one->getId()));
  for (auto& [of, left] : leaving_)  // The others have them no more, whenever they say they had.
    std::erase_if(left.ids, [&ids](const auto& id) { return std::ranges::count(ids, id) > 0; });
  act(service_action::Withdraw{round_, holder_, std::move(ids)});
}

void ServiceConvergence::ask() {
  state_ = State::asking;
  is_in_doubt_ = false;
  if (asked_.gone.empty())
    act(service_action::Register{round_, holder_, asked_.put});
  else
    act(service_action::Deregister{round_, holder_, asked_.gone});
}

void ServiceConvergence::withdrawn(Round round, const std::vector<std::string>& pending) {
  if (round != round_ || state_ != State::withdrawing) return;
  for (const auto& id : pending)
    if (!known_.contains(id)) doubt(id);
  state_ = State::settled;
  if (is_still_wanted(asked_.put) && !is_in_doubt_)
    ask();
  else
    go_on();
}

void ServiceConvergence::asked(Round round) {
  if (round != round_ || state_ != State::asking) return;
  for (const auto& id : asked_.gone)
    known_.insert_or_assign(id, doubtful(id));
  for (const auto& one : asked_.put)
    if (auto id = copy(one->getId()); known_.contains(id) || is_plugin_provider(holder_))
      known_.insert_or_assign(id, doubtful(id));
}

void ServiceConvergence::done(Round round) {
  if (round != round_ || state_ != State::asking) return;
  state_ = State::settled;
  pauses_.reset();
  failure_.reset();
  for (const auto& id : asked_.gone)
    known_.erase(id);
  if (!is_in_doubt_)
    for (const auto& one : asked_.put)
      known_.insert_or_assign(copy(one->getId()), one);
  go_on();
}

void ServiceConvergence::forgotten(Round round) {
  if (round != round_ || state_ != State::asking) return;
  state_ = State::settled;
  known_.clear();
  wanted_.clear();
  answer_orders();
}

void ServiceConvergence::failed(Round round, const Error& err, std::string_view whom) {
  if (round != round_ || !is_asking()) return;
  state_ = State::pausing;
  if (failure_ != err.code)
    act(service_action::Warn{
        .text = fmt::format("services wait for {}", whom), .provider = {}, .error = err.what});
  failure_ = err.code;
  act(service_action::Wait{round_, pauses_.next()});
}

void ServiceConvergence::time_over(Round round) {
  if (round == round_ && state_ == State::pausing) go_on();
}

// -- what is answered ----------------------------------------------------------------------------

void ServiceConvergence::patience_over(Round round) {
  if (round != order_round_) return;
  auto gone = changes().gone;
  if (state_ == State::withdrawing)  // It may have been taken back already.
    for (const auto& one : asked_.put)
      if (auto id = copy(one->getId()); !known_.contains(id) && !is_still_wanted({one}))
        gone.push_back(std::move(id));
  if (gone.empty() || !can_leave_ || !is_plugin_provider(holder_)) return answer_orders();
  is_in_doubt_ = true;
  act(service_action::Leave{round, holder_, gone});
  leaving_.insert_or_assign(round, Left{holder_, std::move(gone)});
}

void ServiceConvergence::left(Round round, const Result<>& outcome) {
  const auto found = leaving_.extract(round);
  if (!found) return;
  const auto& left = found.mapped();
  if (!outcome) {
    act(service_action::Warn{
        .text = "what a provider has to deregister is not written down, and lost with this agent",
        .provider = left.provider,
        .error = outcome.error().what});
  } else if (left.provider == holder_) {
    for (const auto& id : left.ids)
      known_.erase(id);
    if (state_ == State::asking) state_ = State::settled;  // What is still asked is not waited for.
    go_on();
  }
  if (round == order_round_) answer_orders();
}

void ServiceConvergence::answer_orders() {
  for (const auto ticket : std::exchange(orders_, {}))
    act(service_action::AnswerOrder{ticket});
}

}  // namespace nomad::workload
