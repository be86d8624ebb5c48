#include "actors/client/task/task_counters.hpp"

#include "runtime/object/draft.hpp"

namespace nomad::client {
namespace {

/// What follows `mark` in the name that the servers gave an instance of a job; empty: it is none.
std::string_view instance_of(std::string_view name, std::string_view mark) {
  const auto at = name.rfind(mark);
  return at == name.npos ? std::string_view{} : name.substr(at + mark.size());
}

}  // namespace

telemetry::Labels task_labels(AllocView alloc, schema::Job::Reader job, std::string_view task) {
  telemetry::Labels labels{{"job", copy(job.getName())},
                           {"task_group", std::string{alloc.task_group()}},
                           {"alloc_id", std::string{alloc.id()}},
                           {"task", std::string{task}},
                           {"namespace", std::string{alloc.ns()}}};
  if (job.getParentId().size() == 0) return labels;
  labels.emplace_back("parent_id", copy(job.getParentId()));
  for (const auto& [label, mark] :
       {std::pair{"dispatch_id", "/dispatch-"}, std::pair{"periodic_id", "/periodic-"}})
    if (const auto instance = instance_of(view(job.getName()), mark); !instance.empty())
      labels.emplace_back(label, instance);
  return labels;
}

TaskCounters::TaskCounters(telemetry::Registry& registry, const telemetry::Labels& labels)
    : running_{registry.passing_counter("client.allocs.running", labels)},
      restart_{registry.passing_counter("client.allocs.restart", labels)},
      failed_{registry.passing_counter("client.allocs.failed", labels)},
      complete_{registry.passing_counter("client.allocs.complete", labels)},
      oom_killed_{registry.passing_counter("client.allocs.oom_killed", labels)} {}

void TaskCounters::count(const workload::TaskSteps& steps) {
  const auto add = [](telemetry::Counter& counter, std::uint64_t times) {
    while (times-- > 0)
      counter.add();
  };
  add(*running_, steps.running);
  add(*restart_, steps.restarts);
  add(*failed_, steps.failed);
  add(*complete_, steps.complete);
  add(*oom_killed_, steps.oom_killed);
}

}  // namespace nomad::client
