#include "runtime/cluster/eval_queue.hpp"

#include <algorithm>

#include "runtime/base/ids.hpp"

namespace nomad::cluster {

bool EvalQueue::ReadyOrder::operator()(const EvalEntry& a, const EvalEntry& b) const {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.create_index != b.create_index) return a.create_index < b.create_index;
  return a.id < b.id;
}

bool EvalQueue::PendingOrder::operator()(const EvalEntry& a, const EvalEntry& b) const {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.modify_index != b.modify_index) return a.modify_index > b.modify_index;
  return a.id < b.id;
}

EvalQueue::JobKey EvalQueue::job_key(const EvalEntry& eval) {
  JobKey key;
  key.reserve(eval.ns.size() + 1 + eval.job_id.size());
  key.append(eval.ns).push_back('\0');
  return key.append(eval.job_id);
}

void EvalQueue::enqueue(EvalEntry eval, TimePoint now, std::string_view token) {
  if (deliveries_.contains(eval.id)) {
    if (token.empty()) return;
    auto held = outstanding_.find(eval.id);
    if (held != outstanding_.end() && held->second.token == token)
      requeue_.insert_or_assign(std::string{token}, std::move(eval));
    return;
  }
  deliveries_.emplace(eval.id, 0);
  if (eval.not_before > now) {
    const auto due = eval.not_before;
    waiting_.emplace(due, std::move(eval));
    return;
  }
  const std::string queue = eval.type;
  admit(std::move(eval), queue);
}

/// Makes `eval` ready in `queue`, or pending behind its job's claim.
void EvalQueue::admit(EvalEntry eval, std::string_view queue) {
  auto [claim, is_new] = claims_.try_emplace(job_key(eval), eval.id);
  if (!is_new && claim->second != eval.id) {
    pending_[claim->first].insert(std::move(eval));
    return;
  }
  ready_[std::string{queue}].insert(std::move(eval));
}

std::optional<EvalDelivery> EvalQueue::dequeue(std::span<const std::string> types,
                                               TimePoint now,
                                               Random& random) {
  std::set<EvalEntry, ReadyOrder>* best = nullptr;
  std::uint64_t ties = 0;
  const auto consider = [&](std::set<EvalEntry, ReadyOrder>& queue) {
    if (queue.empty()) return;
    const auto priority = queue.begin()->priority;
    if (best == nullptr || priority > best->begin()->priority) {
      best = &queue;
      ties = 1;
    } else if (priority == best->begin()->priority && random.below(++ties) == 0) {
      best = &queue;
    }
  };
  for (const auto& type : types) {
    if (type == other_types) {
      for (auto& [name, queue] : ready_)
        if (name != failed_queue && std::ranges::find(types, name) == types.end()) consider(queue);
    } else if (const auto queue = ready_.find(type); queue != ready_.end()) {
      consider(queue->second);
    }
  }
  if (best == nullptr) return std::nullopt;

  EvalEntry eval = std::move(best->extract(best->begin()).value());
  Outstanding delivery{std::move(eval), make_uuid(random), 0, now + options_.nack_timeout};
  delivery.deliveries = ++deliveries_[delivery.eval.id];
  EvalDelivery result{delivery.eval, delivery.token, delivery.deliveries};
  nack_deadlines_.emplace(delivery.nack_at, delivery.eval.id);
  outstanding_.emplace(result.eval.id, std::move(delivery));
  return result;
}

Result<EvalQueue::Outstanding*> EvalQueue::find(std::string_view id, std::string_view token) {
  auto delivery = outstanding_.find(std::string{id});
  if (delivery == outstanding_.end()) return Error{Errc::conflict, "evaluation is not outstanding"};
  if (delivery->second.token != token)
    return Error{Errc::conflict, "evaluation token does not match"};
  return &delivery->second;
}

Result<> EvalQueue::ack(std::string_view id, std::string_view token, TimePoint now) {
  auto found = NOMAD_TRY(find(id, token));
  auto held = outstanding_.extract(found->eval.id);
  Outstanding& delivery = held.mapped();
  if (!delivery.paused) nack_deadlines_.erase({delivery.nack_at, delivery.eval.id});
  deliveries_.erase(delivery.eval.id);
  release_claim(job_key(delivery.eval));
  if (auto again = requeue_.extract(delivery.token)) enqueue(std::move(again.mapped()), now);
  return {};
}

/// Ends a job's claim and hands it to the best pending evaluation (2).
void EvalQueue::release_claim(const JobKey& job) {
  claims_.erase(job);
  auto node = pending_.extract(job);
  if (!node) return;
  auto& waiting = node.mapped();
  EvalEntry best = std::move(waiting.extract(waiting.begin()).value());
  for (const auto& other : waiting) {
    deliveries_.erase(other.id);
    cancelable_.push_back(other);
  }
  const std::string queue = best.type;
  admit(std::move(best), queue);
}

Result<> EvalQueue::nack(std::string_view id, std::string_view token, TimePoint now) {
  auto found = NOMAD_TRY(find(id, token));
  auto held = outstanding_.extract(found->eval.id);
  if (!held.mapped().paused) nack_deadlines_.erase({held.mapped().nack_at, held.mapped().eval.id});
  refuse(std::move(held.mapped()), now);
  return {};
}

/// The claim stays with the refused evaluation, so the order within its job is kept.
void EvalQueue::refuse(Outstanding delivery, TimePoint now) {
  requeue_.erase(delivery.token);
  if (delivery.deliveries >= options_.delivery_limit) {
    admit(std::move(delivery.eval), failed_queue);
    return;
  }
  const auto delay = delivery.deliveries <= 1
                         ? options_.first_nack_delay
                         : options_.later_nack_delay * (delivery.deliveries - 1);
  waiting_.emplace(now + delay, std::move(delivery.eval));
}

Result<> EvalQueue::touch(std::string_view id, std::string_view token, TimePoint now) {
  NOMAD_TRY(pause_nack(id, token));
  return resume_nack(id, token, now);
}

Result<> EvalQueue::pause_nack(std::string_view id, std::string_view token) {
  auto found = NOMAD_TRY(find(id, token));
  Outstanding& delivery = *found;
  if (!delivery.paused) nack_deadlines_.erase({delivery.nack_at, delivery.eval.id});
  delivery.paused = true;
  return {};
}

Result<> EvalQueue::resume_nack(std::string_view id, std::string_view token, TimePoint now) {
  auto found = NOMAD_TRY(find(id, token));
  Outstanding& delivery = *found;
  if (!delivery.paused) return {};
  delivery.paused = false;
  delivery.nack_at = now + options_.nack_timeout;
  nack_deadlines_.emplace(delivery.nack_at, delivery.eval.id);
  return {};
}

std::optional<std::string_view> EvalQueue::outstanding(std::string_view id) const {
  auto delivery = outstanding_.find(std::string{id});
  if (delivery == outstanding_.end()) return std::nullopt;
  return delivery->second.token;
}

std::vector<std::string> EvalQueue::advance(TimePoint now) {
  std::vector<std::string> expired;
  while (!nack_deadlines_.empty() && nack_deadlines_.begin()->first <= now) {
    auto held = outstanding_.extract(nack_deadlines_.begin()->second);
    nack_deadlines_.erase(nack_deadlines_.begin());
    expired.push_back(held.mapped().eval.id);
    refuse(std::move(held.mapped()), now);
  }
  while (!waiting_.empty() && waiting_.begin()->first <= now) {
    auto due = waiting_.extract(waiting_.begin());
    const std::string queue = due.mapped().type;
    admit(std::move(due.mapped()), queue);
  }
  return expired;
}

std::optional<TimePoint> EvalQueue::next_deadline() const {
  std::optional<TimePoint> next;
  if (!waiting_.empty()) next = waiting_.begin()->first;
  if (!nack_deadlines_.empty() && (!next || nack_deadlines_.begin()->first < *next))
    next = nack_deadlines_.begin()->first;
  return next;
}

std::vector<EvalEntry> EvalQueue::take_cancelable(std::size_t limit) {
  const auto count = static_cast<std::ptrdiff_t>(std::min(limit, cancelable_.size()));
  std::vector<EvalEntry> taken{std::make_move_iterator(cancelable_.begin()),
                               std::make_move_iterator(cancelable_.begin() + count)};
  cancelable_.erase(cancelable_.begin(), cancelable_.begin() + count);
  return taken;
}

void EvalQueue::clear() {
  *this = EvalQueue{options_};
}

void EvalQueue::clear_undelivered() {
  EvalQueue kept{options_};
  for (const auto& [id, delivery] : outstanding_) {
    kept.deliveries_.emplace(id, delivery.deliveries);
    kept.claims_.emplace(job_key(delivery.eval), id);
  }
  kept.outstanding_ = std::move(outstanding_);
  kept.nack_deadlines_ = std::move(nack_deadlines_);
  *this = std::move(kept);
}

EvalQueue::Stats EvalQueue::stats() const {
  Stats stats;
  for (const auto& [type, queue] : ready_) {
    stats.ready += queue.size();
    stats.by_type[type].first += queue.size();
  }
  for (const auto& [id, delivery] : outstanding_)
    stats.by_type[delivery.eval.type].second += 1;
  for (const auto& [job, queue] : pending_)
    stats.pending += queue.size();
  stats.outstanding = outstanding_.size();
  stats.waiting = waiting_.size();
  stats.cancelable = cancelable_.size();
  return stats;
}

std::vector<EvalQueue::Delayed> EvalQueue::delayed(std::size_t limit) const {
  std::vector<Delayed> found;
  for (const auto& [due, eval] : waiting_) {
    if (found.size() >= limit) break;
    if (due == eval.not_before) found.push_back({eval.id, eval.ns, eval.job_id, due});
  }
  return found;
}

}  // namespace nomad::cluster
