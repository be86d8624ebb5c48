#include "actors/client/node/node_metrics.hpp"

#include "actors/client/task/task_counters.hpp"
#include "actors/client/tools/countdown.hpp"
#include "actors/client/tools/kept_usage.hpp"
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
  if (msg->isReadHostUsageHistory()) return history();
  const auto promise = self_->make_response_promise<door::NodeReply>();
  self_->request(parts_.usage_reader, actor::infinite, usage::ReadHost{})
      .then(
          [this, promise](const client_api::HostUsage& usage) {
            keep(usage);
            promise.deliver(usage_reply(usage));
          },
          [promise](const Error& err) { promise.deliver(err); });
  return promise;
}

// -- the past
// -------------------------------------------------------------------------------------

void NodeMetrics::begin() {
  if (!samples_ && parts_.keeps) wait();
}

/// Until the next slot begins, where the tasks' readings come, too.
void NodeMetrics::wait() {
  constexpr auto slot = workload::UsageHistory::short_slot;
  samples_ = true;
  const Nanoseconds now = self_->now().time_since_epoch();
  actor::send_self_after(self_, slot - now % slot, SampleDue{});
}

void NodeMetrics::sample_due() {
  samples_ = false;
  if (parts_.stopping || !parts_.keeps || !parts_.usage_reader || !parts_.allocs.has_live()) return;
  samples_ = true;
  self_->request(parts_.usage_reader, figure_patience, usage::ReadHost{})
      .then(
          [this](const client_api::HostUsage& usage) {
            keep(usage);
            wait();
          },
          [this](const Error&) { wait(); });  // A gap says so.
}

void NodeMetrics::keep(const client_api::HostUsage& usage) {
  if (!parts_.keeps) return;
  if (!history_) history_ = std::make_shared<workload::UsageHistory>();
  history_->add({.cpu_mhz = usage.cpu_ticks_consumed,
                 .memory = static_cast<double>(usage.memory.used),
                 .network = usage.network},
                self_->now().time_since_epoch());
}

door::NodeReply NodeMetrics::history() const {
  return history_reply({{.task = {}, .usage = history_, .reserved = {}}},
                       {.steady = self_->now().time_since_epoch(), .unix = parts_.unix_now()});
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
          [this, metrics, one_less](client_api::HostUsage& usage) {
            keep(usage);
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
