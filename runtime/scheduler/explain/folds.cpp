#include "runtime/scheduler/explain/folds.hpp"

#include <algorithm>
#include <utility>

namespace nomad::scheduler::explain {
namespace {

constexpr Obstacle amounts_of_nodes[]
    = {Obstacle::cores, Obstacle::cpu, Obstacle::memory, Obstacle::disk};

/// The share of what is asked that is not free, added up; 0 if no amount lacks.
double lack_of(const std::vector<ReasonId>& against, const std::optional<Amounts>& amounts) {
  if (!amounts) return 0;
  double lack = 0;
  for (const auto id : against) {
    if (!is_amount(obstacle_of(id))) continue;
    const auto& amount = amounts->of(obstacle_of(id));
    const auto asked = static_cast<double>(std::max<std::int64_t>(amount.asked, 1));
    lack += (static_cast<double>(amount.asked) - static_cast<double>(amount.free)) / asked;
  }
  return lack;
}

void note_figures(Fold& fold, const Amounts& amounts) {
  for (const auto what : amounts_of_nodes) {
    const auto at = amount_index(what);
    const auto free = amounts.of(what).free;
    fold.least_free[at] = fold.has_amounts ? std::min(fold.least_free[at], free) : free;
    fold.most_free[at] = fold.has_amounts ? std::max(fold.most_free[at], free) : free;
  }
  fold.has_amounts = true;
}

void keep_nearest(Fold& fold, const Refused& refused, double lack) {
  if (fold.nearest.size() == most_tried_nodes) {
    if (fold.lacks.back() <= lack) return;
    fold.nearest.pop_back();
    fold.lacks.pop_back();
  }
  const auto at = std::upper_bound(fold.lacks.begin(), fold.lacks.end(), lack);
  fold.nearest.insert(fold.nearest.begin() + (at - fold.lacks.begin()), refused);
  fold.lacks.insert(at, lack);
}

}  // namespace

std::size_t Folds::Hash::operator()(const std::vector<ReasonId>& ids) const {
  std::size_t value = ids.size();
  for (const auto id : ids)
    value = (value ^ id) * 0x9e3779b97f4a7c15ULL;
  return value ^ (value >> 32U);
}

void Folds::add(const Object<schema::Node>& node, Verdict verdict) {
  ++nodes_;
  auto& fold = folds_[verdict.against];
  if (fold.count++ == 0) fold.against = std::move(verdict.against);
  const Refused refused{&node, verdict.amounts};
  if (fold.examples.size() < most_examples) fold.examples.push_back(refused);
  if (verdict.amounts) note_figures(fold, *verdict.amounts);
  keep_nearest(fold, refused, lack_of(fold.against, verdict.amounts));
}

std::vector<const Fold*> Folds::ordered() const {
  std::vector<const Fold*> all;
  all.reserve(folds_.size());
  for (const auto& [against, fold] : folds_)
    all.push_back(&fold);
  std::ranges::sort(all, [](const Fold* left, const Fold* right) {
    if (left->against.size() != right->against.size())
      return left->against.size() < right->against.size();
    if (left->count != right->count) return left->count > right->count;
    return left->against < right->against;
  });
  return all;
}

}  // namespace nomad::scheduler::explain
