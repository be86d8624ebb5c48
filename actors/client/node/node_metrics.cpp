#include "actors/client/node/node_metrics.hpp"

#include "actors/client/task/task_counters.hpp"
#include "actors/client/tools/countdown.hpp"
#include "actors/client/tools/pass_question.hpp"
#include "actors/roles/node_replies.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/state/usage.hpp"

namespace nomad::client {
namespace {

constexpr std::chrono::seconds figure_patience{3};

using client_api::ClientMetrics;
using client_api::TaskMetrics;

void add_demand(ClientMetrics& metrics, const state::Demand& demand) {
  metrics.allocated.cpu_mhz += demand.cpu_mhz;
  metrics.allocated.memory_mb += demand.memory_mb;
  metrics.allocated.memory_max_mb += demand.memory_max_mb;
  metrics.allocated.disk_mb += demand.disk_mb;
}

/// `usage` beside what was promised to the task.
TaskMetrics metrics_of_task(AllocView alloc,
                            schema::Job::Reader job,
                            const std::string& task,
                            client_api::TaskUsage usage) {
  TaskMetrics metrics{
      .labels = task_labels(alloc, job, task), .allocated = {}, .usage = std::move(usage)};
  if (const auto given = alloc.resources(task)) {
    metrics.allocated.cpu_mhz = given->getCpu().getCpuShares();
    metrics.allocated.memory_mb = given->getMemory().getMemoryMb();
    metrics.allocated.memory_max_mb = given->getMemory().getMemoryMaxMb();
  }
  return metrics;
}

}  // namespace

actor::Answer<door::NodeReply> NodeMetrics::answer(const door::NodeAsk& msg) {
  NOMAD_TRY(access::authorize(door::asking(msg), {}));
  if (!parts_.usage_reader) return Error{Errc::unavailable, "the client is starting"};
  return pass_question<client_api::HostUsage>(self_, parts_.usage_reader, usage::ReadHost{},
                                              usage_reply);
}

actor::Answer<ClientMetrics> NodeMetrics::gather(const client_api::ReadMetrics& msg) {
  if (!parts_.usage_reader) return Error{Errc::unavailable, "the client is starting"};
  auto promise = self_->make_response_promise<ClientMetrics>();
  const auto metrics = std::make_shared<ClientMetrics>();
  metrics->node = parts_.node;
  metrics->counts = parts_.allocs.counts();
  const Countdown one_less{[promise, metrics]() mutable { promise.deliver(std::move(*metrics)); }};
  one_less.await();
  self_->request(parts_.usage_reader, figure_patience, usage::ReadHost{})
      .then(
          [metrics, one_less](client_api::HostUsage& usage) {
            metrics->host = std::move(usage);
            one_less();
          },
          [one_less](const Error&) { one_less(); });
  parts_.allocs.each_live([&](const NodeAllocs::Live& live) {
    add_demand(*metrics, state::demand_of(live.alloc->resources()));
    if (!msg.of_tasks || !live.runner) return;
    one_less.await();
    self_->request(live.runner, figure_patience, alloc_runner::ReadUsage{})
        .then(
            [metrics, one_less, alloc = live.alloc, job = live.job](client_api::AllocUsage& usage) {
              for (auto& [task, used] : usage.tasks)
                metrics->tasks.push_back(metrics_of_task(*alloc, *job, task, std::move(used)));
              one_less();
            },
            [one_less](const Error&) { one_less(); });
  });
  one_less();
  return promise;
}

}  // namespace nomad::client
