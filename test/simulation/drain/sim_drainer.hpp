// What the drainer of a SimServer decides by: the program's own plan, or one with a mistake in it.
#pragma once

#include "actors/server/drain/node_drainer.hpp"
#include "test/simulation/sim_server.hpp"

namespace nomad::test {

decltype(server::NodeDrainerOptions::decide) drain_decision(ServerMutation mutation);

}  // namespace nomad::test
