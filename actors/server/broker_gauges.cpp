#include "actors/server/broker_gauges.hpp"

#include <chrono>
#include <string>

namespace nomad::server {
namespace {

using ShownGauges = std::vector<telemetry::ServerMetrics::Gauge>;

void show_waiting(ShownGauges& gauges, const cluster::EvalQueue& queue, cluster::TimePoint now) {
  for (const auto& eval : queue.delayed(most_shown_waiting))
    gauges.push_back({"broker.eval_waiting",
                      std::chrono::duration<double>{eval.due - now}.count(),
                      {{"eval_id", eval.id}, {"job", eval.job_id}, {"namespace", eval.ns}}});
}

/// `names` are those of the labels.
void show_demands(ShownGauges& gauges,
                  const std::string& prefix,
                  const cluster::BlockedEvals::Demands& demands,
                  const std::pair<std::string, std::string>& names) {
  for (const auto& [key, demand] : demands) {
    const telemetry::Labels labels{{names.first, key.first}, {names.second, key.second}};
    gauges.push_back({prefix + "cpu", static_cast<double>(demand.cpu), labels});
    gauges.push_back({prefix + "memory", static_cast<double>(demand.memory_mb), labels});
  }
}

}  // namespace

std::vector<telemetry::ServerMetrics::Gauge> broker_gauges(const cluster::EvalQueue& queue,
                                                           const cluster::BlockedEvals& blocked,
                                                           cluster::TimePoint now) {
  ShownGauges gauges;
  const auto show = [&gauges](const std::string& name, std::size_t value) {
    gauges.push_back({name, static_cast<double>(value)});
  };
  const auto stats = queue.stats();
  show("broker.total_ready", stats.ready);
  show("broker.total_unacked", stats.outstanding);
  show("broker.total_pending", stats.pending);
  show("broker.total_waiting", stats.waiting);
  show("broker.total_cancelable", stats.cancelable);
  for (const auto& [type, counts] : stats.by_type) {
    show("broker." + type + ".ready", counts.first);
    show("broker." + type + ".unacked", counts.second);
  }
  show_waiting(gauges, queue, now);

  const auto waiting = blocked.stats();
  show("blocked_evals.total_blocked", waiting.blocked);
  show("blocked_evals.total_escaped", waiting.escaped);
  show("blocked_evals.total_quota_limit", waiting.quota_limit);
  show_demands(gauges, "blocked_evals.job.", blocked.demand_of_jobs(), {"namespace", "job"});
  show_demands(gauges, "blocked_evals.", blocked.demand_of_classes(), {"datacenter", "node_class"});
  return gauges;
}

}  // namespace nomad::server
