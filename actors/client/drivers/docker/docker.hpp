// docker: runs a task as a container of a container engine of this machine (Docker's Engine
// API 1.41 and later). The container belongs to the engine, and outlives the agent.
//
// Owns:   two threads of I/O with the engine (questions; logs), each begun with its first
//         question; a thread for each command beside a task.
// Takes:  what every Driver takes. A start that is repeated after a crash finds the container of
//         the first one, by its name and labels.
// Asks:   the engine; the client's blocking_pool for what blocks.
// Parent: driver_manager, report: another one takes the tasks over.
// Ends:   by the parent's exit message; tasks go on.
#pragma once

#include "actors/client/drivers/docker/context.hpp"

namespace nomad::client {

DriverEntry docker_entry(EngineFactory make_engine = docker::connect_engine);

}  // namespace nomad::client
