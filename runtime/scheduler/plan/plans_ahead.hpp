// PlansAhead: plans whose entries are proposed but not applied yet, and the verification of others
// beside them: against the newest state in which all of these are written already.
//
// That state, the continuation, is made when it is first needed and kept while anything is under
// way; it does not know what others write meanwhile. So what does not fit there is looked at once
// more in one that is made anew. What does fit could be beyond a quota that was lowered or set
// meanwhile: it is made anew, too, when a quota or a namespace has changed. What plans under way
// change counts there as changed after every snapshot, since their entries come after any that
// somebody can have seen.
//
// May depend on: runtime/state. Not thread-safe; the plan applier owns one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "runtime/base/result.hpp"
#include "runtime/scheduler/plan/plan_check.hpp"
#include "runtime/scheduler/plan/plan_parts.hpp"
#include "runtime/state/store.hpp"

namespace nomad::scheduler {

/// What became of the verification of a plan's next part.
struct AheadVerdict {
  /// `conflict`: it is not its evaluation's to make.
  Result<PlanVerdict> verdict;
  /// Only what is under way speaks against it, and may come to nothing: ask again when some of that
  /// is settled.
  bool is_open = false;
  state::Snapshot basis;  ///< That it was judged by.
};

class PlansAhead {
public:
  /// `region` is the server's.
  explicit PlansAhead(std::string region) : region_{std::move(region)} {}

  /// Whether something is under way.
  bool empty() const { return under_way_.empty(); }

  AheadVerdict judge(const PlanParts& plan, const state::Snapshot& published);

  /// The command is proposed. Returns the number by which it is settled.
  std::uint64_t add(const Object<schema::Command>& command);

  /// It is applied, or never will be: then `was_written` is false.
  void settle(std::uint64_t number, bool was_written);

  /// Forgets what was made of the state; not what is under way.
  void forget_state() { continuation_.reset(); }

private:
  /// Plans verified against one continuation before it is made anew.
  static constexpr std::size_t most_verified = 64;

  state::Snapshot basis(const state::Snapshot& published);
  void apply(const Object<schema::Command>& command);

  std::string region_;
  std::map<std::uint64_t, Object<schema::Command>> under_way_;  ///< By order of proposal.
  std::uint64_t next_ = 1;
  std::unique_ptr<state::Store> continuation_;
  std::uint64_t quotas_index_ = 0;  ///< Of the quotas that the continuation knows, and whose.
  std::size_t verified_ = 0;
};

/// Whether something new of a written plan is on a node that was ready when the plan was verified
/// and is not in `state`, the one that the plan came to: the node's change was written in between,
/// and what it made evaluate did not know of the plan yet.
bool has_strays(const Plan& plan, const PlanVerdict& verdict, const state::Snapshot& state);

}  // namespace nomad::scheduler
