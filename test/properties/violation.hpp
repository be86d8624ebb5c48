// Violation: a property does not hold. And what all files of this folder need.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace nomad::properties {

inline constexpr std::int64_t second = 1'000'000'000;

struct Violation : std::runtime_error {
  Violation(std::string what_property, const std::string& text)
      : std::runtime_error{what_property + ": " + text}, property{std::move(what_property)} {}

  std::string property;
};

/// The properties that everything else is for, by name. What only leads to them has its name where
/// it is checked.
namespace property {

// In each committed state, with plans under way and over changes of the leader.
inline constexpr const char* no_overcommit = "no node gives more cpu, memory or disk than it has";
inline constexpr const char* nothing_twice = "no port, core or device is given twice";
inline constexpr const char* constraints_hold = "constraints, pools, drivers and volumes hold";
inline constexpr const char* distinct_holds = "distinct constraints hold";
inline constexpr const char* all_at_once = "what is all at once is all or nothing";
inline constexpr const char* words_stay
    = "what clients and operators have said stays when a plan is written";
inline constexpr const char* quota_holds = "no more of a quota is used than its limits";
inline constexpr const char* quota_is_counted = "what is in use of a quota is what a recount gives";
inline constexpr const char* preempted_are_lower = "what is preempted has a lower priority";

// At every step of a deployment or a drain.
inline constexpr const char* max_parallel_holds = "max_parallel holds";
inline constexpr const char* canaries_first = "nothing is replaced before canaries are promoted";
inline constexpr const char* canary_limit = "there are no more canaries than wanted";
inline constexpr const char* migrate_holds = "drains move no more at once than migrate allows";
inline constexpr const char* drains_move_all = "a drain is complete when all was told to go";
inline constexpr const char* promotions_are_healthy = "only healthy canaries are promoted";

// At rest.
inline constexpr const char* counts_converge = "counts converge";
inline constexpr const char* no_surplus = "there is no more than wanted";
inline constexpr const char* newest_version = "everything comes to run the newest version";
inline constexpr const char* drains_end = "drains come to an end";
inline constexpr const char* deployments_end = "deployments come to an end";
inline constexpr const char* unchanged_is_empty
    = "an evaluation of an unchanged state plans nothing";

// Of the deciding itself.
inline constexpr const char* equal_plans = "equal input, equal plan";
inline constexpr const char* evaluations_bounded = "the number of evaluations is bounded";
inline constexpr const char* commands_accepted = "commands are accepted";

// Where nothing else decides.
inline constexpr const char* spread_holds = "a spread holds";
inline constexpr const char* affinity_holds = "an affinity is followed";
inline constexpr const char* failed_go_elsewhere = "a failed allocation goes elsewhere";

}  // namespace property

/// Of a list of rows' parts, which the standard algorithms do not take.
template <class List, class Predicate>
bool any(const List& list, Predicate holds) {
  for (const auto item : list)
    if (holds(item)) return true;
  return false;
}

inline void require(bool holds, const char* property, const std::string& text) {
  if (!holds) throw Violation{property, text};
}

}  // namespace nomad::properties
