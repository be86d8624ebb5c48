// DrainJudge: judges the drainer's entries in the log, each on the state that it is applied to.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/raft/core.hpp"
#include "runtime/state/snapshot.hpp"
#include "schema/command.capnp.h"

namespace nomad::test {

class DrainJudge {
public:
  /// What is wrong with the entry; "" if nothing is. `accepted`: no condition has refused it.
  std::string take(raft::Index index,
                   schema::Command::Reader command,
                   const state::Snapshot& before,
                   bool accepted);

  std::uint64_t completed = 0;

private:
  void note_job(schema::Job::Reader job);
  bool may_be_forced(const Object<schema::Node>& node, raft::Index index, std::int64_t time);
  std::string judge_marks(raft::Index index,
                          schema::AllocTransition::Reader command,
                          const state::Snapshot& before);

  std::map<std::string, std::int64_t> most_parallel_;
  std::set<std::string> marked_;
  std::map<std::string, std::vector<std::pair<raft::Index, Object<schema::Node>>>> former_;
};

}  // namespace nomad::test
