#include "test/simulation/drain/sim_drainer.hpp"

#include "test/support/drain_mistakes.hpp"

namespace nomad::test {

decltype(server::NodeDrainerOptions::decide) drain_decision(ServerMutation mutation) {
  if (mutation == ServerMutation::hasty_drainer) return drain_hastily;
  if (mutation == ServerMutation::late_drainer) return drain_late;
  if (mutation == ServerMutation::greedy_drainer) return drain_greedily;
  return cluster::next_drain_round;
}

}  // namespace nomad::test
