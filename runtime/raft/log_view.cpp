#include "runtime/raft/log_view.hpp"

#include <algorithm>

#include "runtime/raft/invariant.hpp"

namespace nomad::raft {

std::size_t cost(const Entry& entry) {
  return sizeof(Entry) + entry.payload.size();
}

LogView::LogView(Index base_index, Term base_term, std::size_t cache_bytes)
    : base_index_(base_index),
      last_index_(base_index),
      runs_{{base_index, base_term}},
      cache_limit_(cache_bytes),
      released_(base_index) {}

Term LogView::last_term() const {
  return runs_.back().term;
}

std::optional<Term> LogView::term_at(Index index) const {
  if (index < base_index_ || index > last_index_) return std::nullopt;
  const auto behind = std::ranges::upper_bound(runs_, index, {}, &Run::first);
  return std::prev(behind)->term;
}

Index LogView::last_with_term_at_most(Term term, Index limit) const {
  const auto end = std::min(limit, last_index_);
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) {
    if (run->term > term || run->first > end) continue;
    const auto next = run == runs_.rbegin() ? last_index_ + 1 : std::prev(run)->first;
    return std::min(end, next - 1);
  }
  return base_index_;
}

void LogView::append(Entry entry) {
  require(entry.index == last_index_ + 1, "the log has no holes");
  require(entry.term >= last_term(), "terms in the log never fall");
  if (entry.term != last_term()) runs_.push_back({entry.index, entry.term});
  last_index_ = entry.index;
  cached_bytes_ += cost(entry);
  cache_.push_back(std::move(entry));
  evict();
}

void LogView::truncate_from(Index first) {
  require(first > base_index_, "a log is not truncated below its base");
  while (!cache_.empty() && cache_.back().index >= first) {
    cached_bytes_ -= cost(cache_.back());
    cache_.pop_back();
  }
  last_index_ = std::min(last_index_, first - 1);
  while (runs_.size() > 1 && runs_.back().first > last_index_)
    runs_.pop_back();
}

void LogView::compact_to(Index through) {
  if (through <= base_index_) return;
  require(through <= last_index_, "what is compacted is in the log");
  const Run base{through, *term_at(through)};
  std::erase_if(runs_, [through](const Run& run) { return run.first <= through; });
  runs_.insert(runs_.begin(), base);
  base_index_ = through;
  while (!cache_.empty() && cache_.front().index <= through) {
    cached_bytes_ -= cost(cache_.front());
    cache_.pop_front();
  }
}

void LogView::reset(Index index, Term term) {
  *this = LogView{index, term, cache_limit_};
}

void LogView::release(Index through) {
  released_ = std::max(released_, through);
  evict();
}

std::vector<Entry> LogView::entries(Index first, Index last, std::size_t max_bytes) const {
  require(first >= cached_from(), "only entries in memory are handed out");
  std::vector<Entry> found;
  std::size_t bytes = 0;
  for (auto at = first - cached_from(); at < cache_.size() && cache_[at].index <= last; ++at) {
    bytes += cost(cache_[at]);
    if (!found.empty() && bytes > max_bytes) break;
    found.push_back(cache_[at]);
  }
  return found;
}

void LogView::evict() {
  while (cached_bytes_ > cache_limit_ && !cache_.empty() && cache_.front().index <= released_) {
    cached_bytes_ -= cost(cache_.front());
    cache_.pop_front();
  }
}

}  // namespace nomad::raft
