#include "test/properties/mistakes.hpp"

#include "test/support/drain_mistakes.hpp"
#include "test/support/rollout_mistakes.hpp"

namespace nomad::properties {

std::vector<NamedMistake> all_mistakes() {
  std::vector<NamedMistake> all;
  for (const auto& [mistake, name] : scheduler::mistake_names)
    if (mistake != scheduler::Mistake::none) all.push_back({std::string{name}, mistake, {}});
  all.push_back({"hasty_drainer", {}, {.drain = test::drain_hastily}});
  all.push_back({"late_drainer", {}, {.drain = test::drain_late}});
  all.push_back({"greedy_drainer", {}, {.drain = test::drain_greedily}});
  all.push_back({"blind_watcher", {}, {.rollout = test::look_away}});
  all.push_back({"hasty_watcher", {}, {.rollout = test::promote_at_once}});
  all.push_back({"late_watcher", {}, {.rollout = test::forget_deadlines}});
  all.push_back({"deaf_broker", {}, {.hears_of_room = false}});
  return all;
}

}  // namespace nomad::properties
