#include "runtime/workload/sync_buffer.hpp"

#include <algorithm>

namespace nomad::workload {

void SyncBuffer::restore(const std::string& alloc_id, Acknowledged acknowledged) {
  known_[alloc_id].acknowledged = acknowledged;
}

bool SyncBuffer::is_urgent(const Known& known, const Acknowledged& state) {
  if (!known.acknowledged) return state.status != ClientStatus::PENDING;
  return known.acknowledged->status != state.status;
}

void SyncBuffer::put(const std::string& alloc_id, std::uint64_t version, AllocUpdate update) {
  auto& known = known_[alloc_id];
  if (version <= known.version) return;
  known.version = version;
  if (known.acknowledged == update.state && !sent_.contains(alloc_id)) {
    erase_waiting(alloc_id);
    return;
  }
  const bool urgent = is_urgent(known, update.state);
  auto& entry = waiting_[alloc_id];
  if (entry.urgent) --urgent_waiting_;
  if (urgent) ++urgent_waiting_;
  entry = {.update = std::move(update), .urgent = urgent};
}

void SyncBuffer::doubt(const std::string& alloc_id) {
  known_[alloc_id].acknowledged.reset();
  const auto entry = waiting_.find(alloc_id);
  if (entry == waiting_.end() || entry->second.urgent) return;
  entry->second.urgent = is_urgent(known_[alloc_id], entry->second.update.state);
  urgent_waiting_ += entry->second.urgent ? 1 : 0;
}

void SyncBuffer::erase_waiting(const std::string& alloc_id) {
  const auto entry = waiting_.find(alloc_id);
  if (entry == waiting_.end()) return;
  if (entry->second.urgent) --urgent_waiting_;
  waiting_.erase(entry);
}

void SyncBuffer::forget(const std::string& alloc_id) {
  erase_waiting(alloc_id);
  known_.erase(alloc_id);
  sent_.erase(alloc_id);
}

void SyncBuffer::drop_known() {
  urgent_waiting_ = 0;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const auto& known = known_[it->first];
    if (known.acknowledged == it->second.update.state) {
      it = waiting_.erase(it);
      continue;
    }
    it->second.urgent = is_urgent(known, it->second.update.state);
    urgent_waiting_ += it->second.urgent ? 1 : 0;
    ++it;
  }
}

/// How long the budget has the next send wait.
Nanoseconds SyncBuffer::pause_behind_send(Nanoseconds now) const {
  const auto free = options_.tick * options_.burst;
  const auto beyond = std::max(paid_until_ - now - free, Nanoseconds{0});
  const auto share = static_cast<double>(beyond.count())
                     / static_cast<double>((options_.tick * (options_.reserve + 1)).count());
  return Nanoseconds{static_cast<std::int64_t>(static_cast<double>(options_.tick.count())
                                               * std::min(share * share, 1.0))};
}

std::optional<Nanoseconds> SyncBuffer::due(Nanoseconds now) const {
  if (!open_ || sending_ || waiting_.empty()) {
    ordinary_due_.reset();
    return std::nullopt;
  }
  if (urgent_waiting_ > 0) return std::max({pause_until_, not_before_, now});

  // The ordinary grid starts at the last send, so that nothing else moves it.
  if (!ordinary_due_) {
    const auto period = options_.tick * options_.ticks_between_ordinary;
    const auto since = now - last_send_;
    const auto periods = since / period + (since % period == Nanoseconds{0} ? 0 : 1);
    ordinary_due_ = last_send_ + std::max<std::int64_t>(periods, 1) * period;
  }
  return std::max({*ordinary_due_, pause_until_, not_before_});
}

std::vector<Object<schema::Allocation>> SyncBuffer::take(Nanoseconds now) {
  const auto is_due = [&] {
    const auto when = due(now);
    return when && *when <= now;
  };
  if (!is_due()) return {};
  drop_known();
  if (!is_due()) return {};

  std::vector<Object<schema::Allocation>> batch;
  const auto move_over = [&](bool urgent) {
    for (auto it = waiting_.begin(); it != waiting_.end() && batch.size() < options_.max_batch;) {
      const auto current = it++;
      if (current->second.urgent != urgent) continue;
      batch.push_back(current->second.update.alloc);
      sent_.insert(waiting_.extract(current));
    }
  };
  move_over(true);
  sends_urgent_ = !batch.empty();
  move_over(false);
  sending_ = true;
  paid_until_ = std::max(paid_until_, now) + options_.tick;
  pause_until_ = now + pause_behind_send(now);
  ordinary_due_.reset();  // the grid starts anew at this send
  drop_known();           // Counts what was left behind by a full batch.
  return batch;
}

std::vector<std::pair<std::string, Acknowledged>> SyncBuffer::succeeded(Nanoseconds now) {
  std::vector<std::pair<std::string, Acknowledged>> news;
  news.reserve(sent_.size());
  for (const auto& [id, entry] : sent_) {
    known_[id].acknowledged = entry.update.state;
    news.emplace_back(id, entry.update.state);
  }
  sent_.clear();
  sending_ = false;
  drop_known();
  last_send_ = now;
  not_before_ = now;
  return news;
}

void SyncBuffer::failed(Nanoseconds now, Random& random) {
  for (auto it = sent_.begin(); it != sent_.end();) {
    auto node = sent_.extract(it++);
    if (!waiting_.contains(node.key())) waiting_.insert(std::move(node));
  }
  sent_.clear();
  sending_ = false;
  drop_known();
  last_send_ = now;
  const auto spread = random.below(static_cast<std::uint64_t>(options_.retry.count()));
  not_before_ = now + options_.retry + Nanoseconds{static_cast<std::int64_t>(spread)};
}

}  // namespace nomad::workload
