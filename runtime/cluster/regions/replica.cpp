#include "runtime/cluster/regions/replica.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace nomad::cluster {

namespace {

/// The first of `from`, at most `most`, which go.
std::vector<std::string> take_first(std::vector<std::string>& from, std::size_t most) {
  const auto end = from.begin() + static_cast<std::ptrdiff_t>(std::min(from.size(), most));
  std::vector<std::string> taken{std::make_move_iterator(from.begin()),
                                 std::make_move_iterator(end)};
  from.erase(from.begin(), end);
  return taken;
}

}  // namespace

RowDifference compare_rows(const std::vector<RowMark>& theirs, const std::vector<RowMark>& ours) {
  RowDifference difference;
  auto our = ours.begin();
  for (const auto& their : theirs) {
    for (; our != ours.end() && our->key < their.key; ++our)
      difference.surplus.push_back(our->key);
    const bool is_here = our != ours.end() && our->key == their.key;
    if (!is_here || *our != their) difference.missing.push_back(their.key);
    if (is_here) ++our;
  }
  for (; our != ours.end(); ++our)
    difference.surplus.push_back(our->key);
  return difference;
}

std::string Replica::end_of(const MarkPage& page) {
  return page.is_last || page.marks.empty() ? std::string{} : page.marks.back().key;
}

Replica::Step Replica::begin() {
  after_.clear();
  surplus_.clear();
  missing_.clear();
  left_ = 0;
  level_index_ = 0;
  is_level_ = false;
  return List{};
}

Replica::Step Replica::on_listed(const MarkPage& page, const std::vector<RowMark>& ours) {
  if (level_index_ != 0) failures_ = 0;  // It was level, and nothing kept it from waiting.
  if (after_.empty()) {
    if (level_index_ != 0 && page.index == level_index_) {  // Held for as long as it was to be.
      if (left_ != 0) return begin();
      return List{{}, level_index_};
    }
    left_ = 0;
    pass_index_ = page.index;
  }
  is_level_ = false;
  auto difference = compare_rows(page.marks, ours);
  surplus_ = std::move(difference.surplus);
  missing_ = std::move(difference.missing);
  after_ = end_of(page);
  is_last_page_ = after_.empty();
  return next();
}

Replica::Step Replica::next() {
  if (!surplus_.empty()) return Write{take_first(surplus_, options_.removed_at_once)};
  if (!missing_.empty()) {
    const auto count = std::min(missing_.size(), options_.fetched_at_once);
    return Fetch{{missing_.begin(), missing_.begin() + static_cast<std::ptrdiff_t>(count)}};
  }
  if (!is_last_page_) return List{after_, 0};
  level_index_ = pass_index_;
  is_level_ = true;
  return List{{}, level_index_};
}

Replica::Step Replica::on_fetched(std::size_t done) {
  take_first(missing_, std::max<std::size_t>(done, 1));
  return Write{};
}

Replica::Step Replica::on_written(std::size_t left, bool changed) {
  if (changed) failures_ = 0;
  left_ += left;
  return next();
}

Replica::Step Replica::on_failed(double chance) {
  begin();
  constexpr unsigned most_doublings = 10;
  const auto whole = std::min(options_.first_pause * (1U << std::min(failures_, most_doublings)),
                              options_.longest_pause);
  ++failures_;
  // Half of it by chance, so that the regions of a lost one do not all come back at once.
  return Rest{std::chrono::milliseconds{
      whole.count() / 2
      + static_cast<std::int64_t>(chance * static_cast<double>(whole.count()) / 2)}};
}

}  // namespace nomad::cluster
