#include "test/simulation/log/job_story.hpp"

#include <fmt/format.h>

#include "runtime/object/draft.hpp"
#include "runtime/object/enum_name.hpp"

namespace nomad::test {

namespace {

std::string_view brief(std::string_view id) {
  return id.substr(0, 8);
}

std::string line_of(schema::Job::Reader job) {
  const auto group = job.getTaskGroups()[0];
  const auto task = group.getTasks()[0];
  return fmt::format("version {} of {}, {} wanted{}, cpu {}, {}, max_parallel {}, canaries {}",
                     job.getVersion(), job.getCreateIndex(), group.getCount(),
                     job.getStop() ? ", stopped" : "", task.getResources().getCpu(),
                     view(task.getConfig()), group.getUpdate().getMaxParallel(),
                     group.getUpdate().getCanary());
}

std::string line_of(const state::AllocRow& row) {
  const auto alloc = *row.alloc;
  const auto health = alloc.deployment_status();
  std::string line = fmt::format("{} of version {} of {} on {}: {} {}, eval {}", alloc.name(),
                                 alloc.job_version(), alloc.job_create_index(),
                                 brief(alloc.node_id()), enum_name(alloc.desired_status()),
                                 enum_name(alloc.client_status()), brief(alloc.eval_id()));
  if (!alloc.deployment_id().empty())
    line += fmt::format(", deployment {}", brief(alloc.deployment_id()));
  if (health.getCanary()) line += ", canary";
  if (health.getHealthy().isValue())
    line += health.getHealthy().getValue() ? ", healthy" : ", unhealthy";
  if (alloc.transition().getMigrate().isValue()) line += ", to migrate";
  if (!alloc.followup_eval_id().empty())
    line += fmt::format(", followed by {}", brief(alloc.followup_eval_id()));
  if (!alloc.previous().empty()) line += fmt::format(", after {}", brief(alloc.previous()));
  return line + fmt::format(" ({})", alloc.desired_description());
}

std::string line_of(schema::Evaluation::Reader eval) {
  return fmt::format("{}, {} of {} ({}), until {}, of job index {}",
                     enum_name(eval.getTriggeredBy()), enum_name(eval.getStatus()),
                     view(eval.getType()), view(eval.getStatusDescription()), eval.getWaitUntil(),
                     eval.getJobModifyIndex());
}

std::string line_of(schema::Deployment::Reader deployment) {
  std::string line
      = fmt::format("of version {}, {} ({})", deployment.getJobVersion(),
                    enum_name(deployment.getStatus()), view(deployment.getStatusDescription()));
  for (const auto group : deployment.getTaskGroups()) {
    const auto counts = group.getValue();
    line += fmt::format(", {} placed of {}, {} healthy, {} canaries{}", counts.getPlacedAllocs(),
                        counts.getDesiredTotal(), counts.getHealthyAllocs(),
                        counts.getDesiredCanaries(), counts.getPromoted() ? " promoted" : "");
  }
  return line;
}

}  // namespace

std::map<std::string, std::string> JobStory::lines_of(const state::Snapshot& state) const {
  std::map<std::string, std::string> lines;
  if (const auto job = state.job("default", job_id_)) lines["job"] = line_of(*job);
  for (const auto& entry : state.allocs_by_job("default", job_id_))
    lines[fmt::format("allocation {}", brief(entry.value()->alloc->id()))]
        = line_of(*entry.value());
  for (const auto& entry : state.evals_by_job("default", job_id_))
    lines[fmt::format("evaluation {}", brief(view(entry.value()->getId())))]
        = line_of(*entry.value());
  for (const auto& entry : state.deployments_by_job("default", job_id_))
    lines[fmt::format("deployment {}", brief(view(entry.value()->getId())))]
        = line_of(*entry.value());
  return lines;
}

std::string JobStory::take(const LogEntry& entry) {
  auto lines = lines_of(entry.after);
  std::string told;
  for (const auto& [what, line] : lines)
    if (const auto known = known_.find(what); known == known_.end() || known->second != line)
      told += fmt::format("{:>6} {}: {}\n", entry.index, what, line);
  for (const auto& [what, line] : known_)
    if (!lines.contains(what)) told += fmt::format("{:>6} {} is gone\n", entry.index, what);
  known_ = std::move(lines);
  return told;
}

}  // namespace nomad::test
