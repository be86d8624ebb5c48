// The properties of single plans and of the states that they lead to.
#pragma once

#include <set>
#include <string>

#include "test/properties/cluster.hpp"

namespace nomad::properties {

class PlanChecks : public Checks {
public:
  void on_plan(const Work& work, const scheduler::Plan& plan) override;
  void on_evaluations(const Work& work,
                      const std::vector<Object<schema::Evaluation>>& evaluations) override;
  void on_commit(const UnderWay& plan,
                 const state::Snapshot& before,
                 const state::Snapshot& after) override;
  void on_drain(const state::Snapshot& state,
                const cluster::DrainRound& round,
                std::int64_t now) override;
  void on_deployment(const state::Snapshot& state,
                     schema::Deployment::Reader deployment,
                     schema::Command::Reader command,
                     std::int64_t now) override;

  /// From now on nothing changes but by plans, so there must be none.
  bool nothing_to_do = false;

  /// Jobs of which a node has refused its part of a plan while others took theirs.
  std::set<std::string> partly_refused;
};

/// What a plan would do, for people.
std::string brief(const scheduler::Plan& plan, const state::Snapshot& state);

/// Whether the node's drain does not wait for anything any more.
bool is_forced(schema::Node::Reader node, std::int64_t now);

/// No node gives more than it has to what is wanted there.
void check_nodes(const state::Snapshot& state);

/// Not more allocations than a job wants: of one whose evaluations are all done.
/// `partly_refused`: a plan of the job was not written as a whole.
void check_surplus(const state::Snapshot& state, const std::string& job_id, bool partly_refused);

/// All that a job wants is there, or has no place: nothing is due any more, and clients have done
/// as they were told. `waits`: an evaluation of the job waits for capacity.
void check_settled(const state::Snapshot& state,
                   const std::string& job_id,
                   bool waits,
                   bool partly_refused);

/// Whether the job's next evaluation may change something although none is due.
bool is_left_to_chance(const state::Snapshot& state, const std::string& job_id);

/// Drains that have a deadline and deployments that have one are over: nothing is due any more.
void check_ended(const state::Snapshot& state, std::int64_t now);

}  // namespace nomad::properties
