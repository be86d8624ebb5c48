// PlanJudge: judges what schedulers and deployment watchers have written into the log, each entry
// on the states before and after it.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "runtime/raft/core.hpp"
#include "runtime/state/snapshot.hpp"
#include "schema/command.capnp.h"

namespace nomad::test {

struct LogEntry {
  raft::Index index = 0;
  schema::Command::Reader command;
  const state::Snapshot& before;
  const state::Snapshot& after;
  bool accepted = true;  ///< No condition has refused it.
};

class PlanJudge {
public:
  /// Operators have asked for the promotion of the deployments `wanted`.
  explicit PlanJudge(const std::set<std::string>& wanted) : wanted_(wanted) {}

  /// What is wrong with the entry; "" if nothing is.
  std::string take(const LogEntry& entry);

  // What was met.
  std::uint64_t preempted = 0;
  std::uint64_t replaced = 0;  ///< One after the other, by update blocks.
  std::uint64_t canaries = 0;
  std::uint64_t promoted = 0;

private:
  std::string judge_plan(const LogEntry& entry, schema::PlanResult::Reader plan);
  std::string judge_preemptions(const LogEntry& entry, schema::PlanResult::Reader plan);
  std::string judge_updates(const LogEntry& entry, schema::PlanResult::Reader plan);
  std::string judge_promotion(const LogEntry& entry);

  const std::set<std::string>& wanted_;
};

}  // namespace nomad::test
