// The messages of grpc.health.v1.Health/Check: a request of one text, an answer of one number.
// Internal to runtime/probe.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad::probe {

inline constexpr std::string_view health_check_path = "/grpc.health.v1.Health/Check";

/// The whole body of a request: gRPC's frame with a HealthCheckRequest.
std::string encode_health_request(std::string_view service);

/// The name of the status in the body of an answer: "SERVING". `corrupt`: it is none.
Result<std::string> decode_health_answer(std::string_view body);

/// "Unimplemented" for 12; "Code(77)" for numbers without a name.
std::string status_name(int grpc_status);

}  // namespace nomad::probe
