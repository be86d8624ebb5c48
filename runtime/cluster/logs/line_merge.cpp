#include "runtime/cluster/logs/line_merge.hpp"

#include <algorithm>

namespace nomad::cluster {
namespace {

/// What a line costs besides its text.
constexpr std::size_t line_overhead = 64;

std::size_t size_of(const LineMerge::Line& line) {
  return line.text.size() + line_overhead;
}

}  // namespace

std::size_t LineMerge::add() {
  sources_.emplace_back();
  ++telling_;
  ++silent_;
  return sources_.size() - 1;
}

void LineMerge::tell(Line line) {
  auto& source = sources_[line.source];
  const bool is_news = source.told_all;
  if (source.lines.empty()) {
    heads_.emplace(line.time, line.source);
    if (!is_news) --silent_;
  }
  if (!is_news) ++history_;
  source.bytes += size_of(line);
  waiting_bytes_ += size_of(line);
  source.lines.push_back({std::move(line), is_news});
}

void LineMerge::told_all(std::size_t number) {
  auto& source = sources_[number];
  if (std::exchange(source.told_all, true)) return;
  --telling_;
  if (source.lines.empty()) --silent_;
}

void LineMerge::ended(std::size_t number) {
  told_all(number);
  if (!std::exchange(sources_[number].has_ended, true)) ++ended_;
}

bool LineMerge::wants(std::size_t source) const {
  return sources_[source].bytes < most_waiting_bytes;
}

bool LineMerge::is_awaited(std::size_t source) const {
  return !sources_[source].told_all && sources_[source].lines.empty();
}

LineMerge::Line LineMerge::pop() {
  const auto number = heads_.extract(heads_.begin()).value().second;
  auto& source = sources_[number];
  auto next = std::move(source.lines.front());
  source.lines.pop_front();
  source.bytes -= size_of(next.line);
  waiting_bytes_ -= size_of(next.line);
  if (!next.is_news) --history_;
  if (!source.lines.empty())
    heads_.emplace(source.lines.front().line.time, number);
  else if (!source.told_all)
    ++silent_;
  return std::move(next.line);
}

void LineMerge::keep(Line line) {
  kept_bytes_ += size_of(line);
  auto& source = sources_[line.source];
  source.latest_kept = std::max(source.latest_kept, line.time);
  source.kept.push_back(kept_.emplace(source.latest_kept, std::move(line)));
  if (source.kept.size() > *tail_) drop_oldest(source);
  while (kept_bytes_ > most_tail_bytes)
    drop_oldest(sources_[kept_.begin()->second.source]);
}

void LineMerge::drop_oldest(Source& source) {
  kept_bytes_ -= size_of(source.kept.front()->second);
  kept_.erase(source.kept.front());
  source.kept.pop_front();
}

std::vector<LineMerge::Line> LineMerge::take(std::size_t most_bytes) {
  std::vector<Line> lines;
  std::size_t bytes = 0;
  const auto give = [&](Line line) {
    bytes += size_of(line);
    lines.push_back(std::move(line));
  };
  while (tail_ && silent_ == 0 && history_ != 0)
    keep(pop());
  if (tail_ && (telling_ != 0 || history_ != 0 || expects_more_)) return lines;
  if (std::exchange(tail_, {}))
    for (auto& source : sources_)
      source.kept.clear();
  while (!kept_.empty() && bytes < most_bytes) {
    give(std::move(kept_.begin()->second));
    kept_.erase(kept_.begin());
  }
  while (kept_.empty() && silent_ == 0 && !heads_.empty() && bytes < most_bytes)
    give(pop());
  return lines;
}

}  // namespace nomad::cluster
