// Explain: why the allocations of a job are where they are, or nowhere. It looks at one state, of
// which it changes nothing, and asks what the schedulers ask; see node_judge.hpp for what holds
// between the two. Plans that are under way are not known here.
//
//   (1) What it does is bounded by `Question::most_work`; the answer says how much was not looked
//   at. (2) A suggestion is told only if one more allocation was placed with it; but that of a
//   smaller
//       count, with which nothing has to be placed.
//
// May depend on: runtime/state. Pure but for `goes_on`, which is asked every few hundred nodes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/scheduler/explain/describe.hpp"
#include "runtime/scheduler/explain/explanation.hpp"
#include "runtime/state/snapshot.hpp"

namespace nomad::scheduler::explain {

struct Question {
  std::string ns;
  std::string job_id;
  std::string group = {};                ///< Empty: all, those that wait for a place first.
  std::string node = {};                 ///< An id, the beginning of one, or a name. Empty: none.
  std::string alloc = {};                ///< An id or the beginning of one. Empty: none.
  std::string region = "global";         ///< The server's own, for quotas.
  std::int64_t now = 0;                  ///< Unix nanoseconds.
  std::uint64_t most_work = 20'000'000;  ///< Judgements of constraints; a node counts as eight.
  std::function<bool()> goes_on = {};    ///< False: nobody waits any more. Empty: always true.
  MayName may_name = {};
};

/// Groups that one answer is about.
inline constexpr std::size_t most_groups = 64;

/// Candidates, and classes of refused nodes, that are told one by one.
inline constexpr std::size_t most_candidates = 20;
inline constexpr std::size_t most_classes = 50;

/// Suggestions that are told, and changes that are tried for them.
inline constexpr std::size_t most_suggestions = 5;
inline constexpr std::size_t most_trials = 32;

/// `not_found`: there is no such job, group, node or allocation of the job; `rejected`: several
/// nodes or allocations begin like that.
Result<Explanation> explain(const state::Snapshot& state, const Question& question);

}  // namespace nomad::scheduler::explain
