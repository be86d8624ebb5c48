// JobStory: what the log has done to one job, for people who look for the cause of a violation.
#pragma once

#include <map>
#include <string>

#include "test/simulation/log/plan_judge.hpp"

namespace nomad::test {

class JobStory {
public:
  explicit JobStory(std::string job_id) : job_id_{std::move(job_id)} {}

  /// Lines about what the entry has changed of the job, its allocations, evaluations and
  /// deployments; "" if nothing.
  std::string take(const LogEntry& entry);

private:
  /// Every row in a line, by its id.
  std::map<std::string, std::string> lines_of(const state::Snapshot& state) const;

  std::string job_id_;
  std::map<std::string, std::string> known_;
};

}  // namespace nomad::test
