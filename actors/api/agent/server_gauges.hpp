// What /v1/metrics shows of a server besides what its parts measure by themselves: the log and its
// members, and what autopilot makes of them. Asked for when somebody looks.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "actors/api/http/call.hpp"
#include "actors/server/autopilot.hpp"

namespace nomad::api {

/// Empty where this agent has no such part, it does not lead, or it does not answer.
struct ServerLook {
  std::optional<raft::RaftStatus> raft = {};
  std::optional<server::autopilot::Health> autopilot = {};
};

/// `cluster` may be null. `done` is called on any thread.
void look_at_server(const std::shared_ptr<Context>& context,
                    const std::shared_ptr<const ClusterAccess>& cluster,
                    std::function<void(const ServerLook&)> done);

/// Of a leader: how long it has not heard of each follower becomes a sample of `registry`. For each
/// interval of the metrics, whoever looks at them.
void observe_contacts(const std::shared_ptr<Context>& context,
                      const std::shared_ptr<telemetry::Registry>& registry);

void set_server_gauges(telemetry::Gauges& gauges, const ServerLook& look);

}  // namespace nomad::api
