#include "actors/api/agent/server_gauges.hpp"

#include <chrono>
#include <utility>

#include "actors/api/cluster/cluster_access.hpp"

namespace nomad::api {
namespace {

constexpr std::chrono::seconds look_timeout{2};

}  // namespace

void look_at_server(const std::shared_ptr<Context>& context,
                    const std::shared_ptr<const ClusterAccess>& cluster,
                    std::function<void(const ServerLook&)> done) {
  if (!context->state.raft) return done({});
  context->asker.ask<raft::RaftStatus>(
      context->state.raft, raft::GetStatus{}, look_timeout,
      [context, cluster, done = std::move(done)](Result<raft::RaftStatus> status) {
        ServerLook look;
        if (status) look.raft = std::move(*status);
        if (!cluster || !cluster->autopilot) return done(look);
        context->asker.ask<server::autopilot::Health>(
            cluster->autopilot, server::autopilot::GetHealth{}, look_timeout,
            [look = std::move(look), done](Result<server::autopilot::Health> health) mutable {
              if (health) look.autopilot = std::move(*health);
              done(look);
            });
      });
}

void observe_contacts(const std::shared_ptr<Context>& context,
                      const std::shared_ptr<telemetry::Registry>& registry) {
  if (!context->state.raft) return;
  context->asker.ask<raft::RaftStatus>(
      context->state.raft, raft::GetStatus{}, look_timeout,
      [registry](const Result<raft::RaftStatus>& status) {
        if (!status) return;
        for (const auto& peer : status->peers)
          registry->sample("raft.leader.lastContact")
              .observe(std::chrono::duration<double, std::milli>{peer.silence}.count());
      });
}

void set_server_gauges(telemetry::Gauges& gauges, const ServerLook& look) {
  if (look.raft) {
    gauges.set("raft.lastIndex", static_cast<double>(look.raft->last_index));
    gauges.set("raft.peers", static_cast<double>(look.raft->configuration.members.size()));
  }
  if (look.autopilot) {
    const auto& cluster = look.autopilot->cluster;
    gauges.set("nomad.autopilot.healthy", cluster.healthy ? 1 : 0);
    gauges.set("nomad.autopilot.failure_tolerance", static_cast<double>(cluster.failure_tolerance));
  }
}

}  // namespace nomad::api
