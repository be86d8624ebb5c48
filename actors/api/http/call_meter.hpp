// CallMeter: counts the calls that this agent serves, by who asks, and keeps each of them to a
// rate. It is asked where a call is served, after it was passed on and before anybody is refused,
// so that a call counts once in the cluster and a refused one, too.
//
// The label `identity` says who, in Nomad's form: "token:<accessor>", "alloc:<id>",
// "client:<node id>", else the name of the certificate and the address,
// "server.global.nomad:10.0.0.7". Without ACLs there is none.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/access/authorize.hpp"
#include "runtime/access/rate_limit.hpp"
#include "runtime/telemetry/identity_counters.hpp"
#include "runtime/telemetry/registry.hpp"

namespace nomad::api {

/// What is measured of an operation.
struct Metered {
  std::string route = {};                          ///< "PUT /v1/job/*/plan"
  telemetry::Sample* time = nullptr;               ///< Of how long it takes; null: it is not.
  std::vector<telemetry::Counter*> counters = {};  ///< Of how often, whoever asks.
  std::string by_identity = {};  ///< The counter with the label; empty: there is none.
  bool reads = true;
  bool is_limited = true;  ///< By a rate. What says how the agent is never is.
};

struct MeterOptions {
  bool labels = true;  ///< Whether counters say who asks.
  access::Rate reads = {};
  access::Rate writes = {};
  bool refuses = true;  ///< Who asks too often; if not, he is counted alone.
};

/// "token:<accessor>", as the label says it.
std::string identity_of(const access::Principal& who);

class CallMeter {
public:
  /// Without `registry` nothing is counted. `callers` may be shared with others who count.
  CallMeter(std::shared_ptr<telemetry::Registry> registry,
            std::shared_ptr<telemetry::IdentityCounters> callers,
            MeterOptions options);

  bool has_labels() const { return options_.labels; }

  /// Counts a call. Not nothing: it comes too soon, by so much.
  std::optional<std::chrono::nanoseconds> count(const Metered& metered,
                                                const access::Principal& who);

private:
  const std::shared_ptr<telemetry::Registry> registry_;
  const MeterOptions options_;
  const std::shared_ptr<telemetry::IdentityCounters> callers_;
  std::mutex guard_;  ///< Of the limits.
  access::RateLimit reads_;
  access::RateLimit writes_;
};

}  // namespace nomad::api
