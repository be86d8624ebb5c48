#include "runtime/workload/checks/check_starts.hpp"

#include <algorithm>

#include "runtime/object/draft.hpp"

namespace nomad::workload {

void CheckStarts::set_group(schema::TaskGroup::Reader group) {
  poststop_.clear();
  for (const auto task : group.getTasks())
    if (view(task.getLifecycle().getHook()) == "poststop") poststop_.insert(copy(task.getName()));
}

void CheckStarts::begin_anew() {
  told_.clear();
  group_at_ = 0;
}

std::vector<CheckStarts::Start> CheckStarts::look(Tasks tasks) {
  std::vector<Start> news;
  bool all_are_there = true;
  for (const auto task : tasks) {
    const auto name = copy(task.getName());
    const bool runs = task.getState() == schema::TaskRunState::RUNNING && task.getStartedAt() != 0;
    auto& seen = seen_[name];
    if (runs && seen != task.getStartedAt()) {
      seen = task.getStartedAt();
      told_.insert(name);
      news.push_back({name, seen});
    }
    if (poststop_.contains(name)) continue;
    const bool is_dead = task.getState() == schema::TaskRunState::DEAD;
    all_are_there = all_are_there && (is_dead || (runs && told_.contains(name)));
  }
  std::int64_t last = 0;
  for (const Start& start : group_at_ != 0 ? news : known())
    last = std::max(last, start.at);
  if (last == 0 || (group_at_ == 0 && !all_are_there)) return news;
  group_at_ = last;
  news.push_back({"", last});
  return news;
}

std::vector<CheckStarts::Start> CheckStarts::known() const {
  std::vector<Start> starts;
  for (const auto& name : told_)
    starts.push_back({name, seen_.at(name)});
  if (group_at_ != 0) starts.push_back({"", group_at_});
  return starts;
}

}  // namespace nomad::workload
