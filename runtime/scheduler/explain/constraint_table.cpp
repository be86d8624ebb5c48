#include "runtime/scheduler/explain/constraint_table.hpp"

#include <algorithm>

#include "runtime/scheduler/plan/node_facts.hpp"

namespace nomad::scheduler::explain {
namespace {

void append(std::vector<std::uint32_t>& out, const std::vector<std::uint32_t>& more) {
  out.insert(out.end(), more.begin(), more.end());
}

/// In order, and no more than are named.
void finish(std::vector<std::uint32_t>& out, std::size_t begin) {
  std::sort(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end());
  if (out.size() - begin > most_constraints_named) out.resize(begin + most_constraints_named);
}

}  // namespace

ConstraintTable::ConstraintTable(const JobSpec& job, const GroupSpec& group) {
  for (const auto& constraint : job.constraints())
    all_.push_back(&constraint);
  of_job_ = all_.size();
  for (const auto& constraint : group.constraints)
    all_.push_back(&constraint);
  std::unordered_map<std::string_view, std::size_t> known;
  for (std::uint32_t number = 0; number < all_.size(); ++number) {
    const auto& constraint = *all_[number];
    if (target_escapes_class(constraint.left) || target_escapes_class(constraint.right)) {
      of_node_.push_back(number);
    } else if (constraint.right.starts_with("${")) {
      single_.push_back(number);
    } else {
      const auto [column, is_new] = known.try_emplace(constraint.left, columns_.size());
      if (is_new) columns_.push_back({constraint.left, {}, {}, {}});
      columns_[column->second].constraints.push_back(number);
    }
  }
}

ConstraintTable::Numbers ConstraintTable::judge(const Numbers& numbers,
                                                schema::Node::Reader node,
                                                std::uint64_t& work) {
  Numbers failing;
  for (const auto number : numbers) {
    ++work;
    if (meets(*all_[number], node, operands_)) continue;
    failing.push_back(number);
    if (failing.size() == most_constraints_named) break;
  }
  return failing;
}

const ConstraintTable::Numbers& ConstraintTable::failing(Column& column,
                                                         schema::Node::Reader node,
                                                         std::uint64_t& work) {
  const auto value = resolve_target(column.target, node);
  if (!value) {
    if (!column.failing_unset) column.failing_unset = judge(column.constraints, node, work);
    return *column.failing_unset;
  }
  const auto known = column.failing.find(*value);
  if (known != column.failing.end()) return known->second;
  return column.failing.emplace(*value, judge(column.constraints, node, work)).first->second;
}

void ConstraintTable::add_failing_of_class(schema::Node::Reader node,
                                           std::vector<std::uint32_t>& out,
                                           std::uint64_t& work) {
  const auto begin = out.size();
  work += columns_.size();
  for (auto& column : columns_)
    append(out, failing(column, node, work));
  append(out, judge(single_, node, work));
  finish(out, begin);
}

void ConstraintTable::add_failing_of_node(schema::Node::Reader node,
                                          std::vector<std::uint32_t>& out,
                                          std::uint64_t& work) {
  const auto begin = out.size();
  append(out, judge(of_node_, node, work));
  finish(out, begin);
}

}  // namespace nomad::scheduler::explain
