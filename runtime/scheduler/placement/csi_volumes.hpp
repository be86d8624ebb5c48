// CsiVolumes: whether a node can give an allocation the CSI volumes that its group asks for, beside
// those who use them and beside what the plan in progress has placed.
//
// May depend on: runtime/state. Deterministic. For the time of one evaluation: it remembers what it
// has looked up.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/scheduler/placement/job_spec.hpp"
#include "runtime/scheduler/placement/proposal.hpp"
#include "runtime/state/volumes/csi_plugins.hpp"

namespace nomad::scheduler {

class CsiVolumes {
public:
  /// All arguments outlive this. `job_allocs` are all the job's.
  CsiVolumes(const JobSpec& job,
             const state::Snapshot& state,
             const std::vector<state::AllocRef>& job_allocs,
             const Proposal& proposal)
      : job_{job}, state_{state}, job_allocs_{job_allocs}, proposal_{proposal} {}

  /// Why the node can't give the allocation its volumes, in Nomad's words; empty if it can.
  std::string missing(const GroupSpec& group,
                      schema::Node::Reader node,
                      std::string_view alloc_name);

private:
  struct Known {
    Object<schema::CsiVolume> volume;  ///< Empty: there is none.
    bool schedulable = false;          ///< As its plugin is.
  };

  const Known& find(std::string_view id);
  std::string missing_plugin(const Known& known,
                             schema::Node::Reader node,
                             const std::set<std::string>& wanted);
  std::string missing_claim(const Known& known,
                            const VolumeSpec& wanted,
                            schema::Node::Reader node);
  bool is_taken_by_plan(const Known& known, schema::CsiClaim::Reader claim);
  std::set<std::string> used_of(std::string_view plugin, schema::Node::Reader node);
  void add_used(std::string_view ns,
                schema::TaskGroup::Reader group,
                std::string_view alloc_name,
                std::string_view plugin,
                std::set<std::string>& ids);

  const JobSpec& job_;
  const state::Snapshot& state_;
  const std::vector<state::AllocRef>& job_allocs_;
  const Proposal& proposal_;
  std::map<std::string, Known, std::less<>> known_;  ///< By namespace\0id.
};

}  // namespace nomad::scheduler
