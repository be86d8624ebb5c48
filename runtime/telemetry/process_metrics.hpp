// What the agent's process uses, under the names that Prometheus' clients give it ("process_…",
// without a prefix), and what Nomad says of its runtime, as far as it is anything here.
//
// Reads /proc/self when asked.
#pragma once

#include <string>

#include "runtime/telemetry/registry.hpp"

namespace nomad::telemetry {

/// In Prometheus' text form.
std::string process_text();

/// "runtime.alloc_bytes" and the like.
void set_runtime(Gauges& gauges);

}  // namespace nomad::telemetry
