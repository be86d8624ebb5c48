// Mistakes that the properties must find: those of the schedulers (runtime/scheduler/plan/mistake),
// and some of what watches.
#pragma once

#include <string>
#include <vector>

#include "runtime/scheduler/plan/mistake.hpp"
#include "test/properties/cluster.hpp"

namespace nomad::properties {

struct NamedMistake {
  std::string name;
  scheduler::Mistake scheduler = scheduler::Mistake::none;
  Watchers watchers = {};
};

std::vector<NamedMistake> all_mistakes();

}  // namespace nomad::properties
