// CallMetrics: under which of Nomad's names the time of an operation is measured. There these are
// calls between agents and servers ("nomad.job.register"); here it is the time from when the server
// that answers has the request until its answer is made, with the time that a blocking query waits.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace nomad::api {

/// The metric of an operation as `Routes::listed` names it ("GET /v1/jobs"); empty: it has none.
std::string_view metric_of(std::string_view operation);

/// Under which name Nomad counts the calls of an operation whose times are `metric`:
/// "nomad.rpc.job.write".
std::string call_counter_of(std::string_view operation, std::string_view metric);

/// All operations that have one, for tests.
std::span<const std::pair<std::string_view, std::string_view>> measured_operations();

}  // namespace nomad::api
