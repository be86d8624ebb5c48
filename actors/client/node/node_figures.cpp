#include "actors/client/node/node_figures.hpp"

#include "actors/client/task/task_counters.hpp"
#include "actors/client/tools/countdown.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/state/usage.hpp"

namespace nomad::client {
namespace {

constexpr std::chrono::seconds figure_patience{3};

using client_api::Figures;
using client_api::TaskFigures;

void add_demand(Figures& figures, const state::Demand& demand) {
  figures.allocated.cpu_mhz += demand.cpu_mhz;
  figures.allocated.memory_mb += demand.memory_mb;
  figures.allocated.memory_max_mb += demand.memory_max_mb;
  figures.allocated.disk_mb += demand.disk_mb;
}

/// `usage` beside what was promised to the task.
TaskFigures task_figures(AllocView alloc,
                         schema::Job::Reader job,
                         const std::string& task,
                         client_api::TaskUsage usage) {
  TaskFigures figures{
      .labels = task_labels(alloc, job, task), .allocated = {}, .usage = std::move(usage)};
  if (const auto given = alloc.resources(task)) {
    figures.allocated.cpu_mhz = given->getCpu().getCpuShares();
    figures.allocated.memory_mb = given->getMemory().getMemoryMb();
    figures.allocated.memory_max_mb = given->getMemory().getMemoryMaxMb();
  }
  return figures;
}

}  // namespace

actor::Answer<client_api::HostUsage> NodeFigures::host() {
  if (!parts_.stats) return Error{Errc::unavailable, "the client is starting"};
  return self_->delegate(parts_.stats, stats::ReadHost{});
}

actor::Answer<Figures> NodeFigures::gather(const client_api::ReadFigures& msg) {
  if (!parts_.stats) return Error{Errc::unavailable, "the client is starting"};
  auto promise = self_->make_response_promise<Figures>();
  const auto figures = std::make_shared<Figures>();
  figures->node = parts_.node;
  figures->counts = parts_.allocs.counts();
  const Countdown one_less{[promise, figures]() mutable { promise.deliver(std::move(*figures)); }};
  one_less.await();
  self_->request(parts_.stats, figure_patience, stats::ReadHost{})
      .then(
          [figures, one_less](client_api::HostUsage& usage) {
            figures->host = std::move(usage);
            one_less();
          },
          [one_less](const Error&) { one_less(); });
  parts_.allocs.each_live([&](const NodeAllocs::Live& live) {
    add_demand(*figures, state::demand_of(live.alloc->resources()));
    if (!msg.of_tasks || !live.runner) return;
    one_less.await();
    const client_api::AllocStats question{std::string{live.alloc->id()}, "",
                                          access::Asking::of_cluster("metrics")};
    self_->request(live.runner, figure_patience, question)
        .then(
            [figures, one_less, alloc = live.alloc, job = live.job](client_api::AllocUsage& usage) {
              for (auto& [task, used] : usage.tasks)
                figures->tasks.push_back(task_figures(*alloc, *job, task, std::move(used)));
              one_less();
            },
            [one_less](const Error&) { one_less(); });
  });
  one_less();
  return promise;
}

}  // namespace nomad::client
