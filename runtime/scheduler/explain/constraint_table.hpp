// ConstraintTable: all constraints of a job and one of its groups, asked of many nodes. Those that
// a class answers are judged once for each value that their target has, however many classes have
// it: 10,000 constraints on one target cost a look-up for each class.
//
// May depend on: runtime/state. One thread at a time; the job, and the nodes that were asked about,
// outlive it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/scheduler/placement/rules.hpp"

namespace nomad::scheduler::explain {

/// More constraints than these are not named against one node.
inline constexpr std::size_t most_constraints_named = 32;

class ConstraintTable {
public:
  /// `job` and `group`, which is one of its groups, outlive this.
  ConstraintTable(const JobSpec& job, const GroupSpec& group);

  std::size_t size() const { return all_.size(); }

  /// The job's come first, then those of the group and its tasks.
  const ConstraintSpec& at(std::size_t number) const { return *all_[number]; }

  bool is_of_job(std::size_t number) const { return number < of_job_; }

  /// Appends the numbers of those that the node's class does not meet, in ascending order, the
  /// first `most_constraints_named`. Each judgement is counted in `work`.
  void add_failing_of_class(schema::Node::Reader node,
                            std::vector<std::uint32_t>& out,
                            std::uint64_t& work);

  /// The same of those that look at what nodes of one class need not have in common.
  void add_failing_of_node(schema::Node::Reader node,
                           std::vector<std::uint32_t>& out,
                           std::uint64_t& work);

private:
  using Numbers = std::vector<std::uint32_t>;

  /// Constraints that compare one target with texts.
  struct Column {
    std::string_view target;
    Numbers constraints;
    std::unordered_map<std::string_view, Numbers> failing;  ///< By the target's value.
    std::optional<Numbers> failing_unset;
  };

  const Numbers& failing(Column& column, schema::Node::Reader node, std::uint64_t& work);
  Numbers judge(const Numbers& numbers, schema::Node::Reader node, std::uint64_t& work);

  std::vector<const ConstraintSpec*> all_;
  std::size_t of_job_ = 0;
  std::vector<Column> columns_;
  Numbers single_;   ///< Of classes, too, but both sides are targets.
  Numbers of_node_;  ///< That escape the class.
  OperandChecker operands_;
};

}  // namespace nomad::scheduler::explain
