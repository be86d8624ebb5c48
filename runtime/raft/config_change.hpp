// Changes of the membership: one server at a time, learners first, a removed id never again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/raft/configuration.hpp"

namespace nomad::raft {

enum class MemberAction : std::uint8_t {
  add_learner,  ///< A new server starts to receive the log.
  promote,      ///< A learner becomes a voter.
  demote,       ///< A voter becomes a learner.
  remove,       ///< The server leaves for ever.
  move,         ///< A server's address changes.
};

struct MemberChange {
  MemberAction action = MemberAction::add_learner;
  ServerId id;
  std::string address;  ///< For `add_learner` and `move`.
};

/// The members after `change`. `conflict` or `not_found` with the rule that forbids it.
Result<Configuration> changed(const Configuration& configuration, const MemberChange& change);

/// The configurations in force along the log: a configuration counts from the moment it is in the
/// log, committed or not, and goes when its entry goes.
class ConfigHistory {
public:
  struct Version {
    Index index = 0;
    Configuration configuration;
  };

  /// No members at the log's base.
  ConfigHistory() : versions_(1) {}

  /// `base` is in force at the log's base.
  explicit ConfigHistory(Version base) : versions_{std::move(base)} {}

  const Configuration& latest() const { return versions_.back().configuration; }

  Index latest_index() const { return versions_.back().index; }

  /// What is in force at `index`, which is not before the base.
  const Version& at(Index index) const;

  void append(Index index, Configuration configuration);
  void truncate_from(Index first);
  void compact_to(Index through);

private:
  std::vector<Version> versions_;  ///< In log order; never empty.
};

}  // namespace nomad::raft
