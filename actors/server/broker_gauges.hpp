// BrokerGauges: what the metrics show of evaluations that wait: nomad.broker.* and
// nomad.blocked_evals.*, under Nomad's names. A series with labels is there as long as what it is
// about: an evaluation that waits for its time, a job that is blocked. Pure.
#pragma once

#include <vector>

#include "runtime/cluster/blocked/blocked_evals.hpp"
#include "runtime/cluster/eval_queue.hpp"
#include "runtime/telemetry/server_metrics.hpp"

namespace nomad::server {

/// Delayed evaluations that have a gauge of their own (`eval_waiting`, the seconds that are left):
/// those that come first.
inline constexpr std::size_t most_shown_waiting = 1'000;

std::vector<telemetry::ServerMetrics::Gauge> broker_gauges(const cluster::EvalQueue& queue,
                                                           const cluster::BlockedEvals& blocked,
                                                           cluster::TimePoint now);

}  // namespace nomad::server
