// Pairs of writes that are decided on one state and applied one after the other, as two requests at
// once are: what comes of them has to be what comes of one after the other, and no write may break
// the rules of variables' locks (lock_rules). States and writes are drawn by a seed, from a few
// names, so that they meet.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/random.hpp"
#include "test/unit/runtime/state/fixture.hpp"

namespace nomad::properties {

/// A request that writes. It decides the same each time that it looks at the same state.
struct WriteRequest {
  std::string name;
  std::function<Result<Object<schema::Command>>(const state::Snapshot&)> decide;
};

/// A small state, and what somebody may ask of it.
class WriteWorld {
public:
  explicit WriteWorld(std::uint64_t seed);

  state::Snapshot state() const { return state_.now(); }

  WriteRequest draw();

  /// One that is likely to be about the same thing as the one before.
  WriteRequest draw_beside();

private:
  WriteRequest draw_of(std::uint64_t subject);
  void add_places();
  void add_jobs();
  void add_nodes();
  void add_variables();
  void run(const WriteRequest& request);

  WriteRequest draw_of_jobs();
  WriteRequest draw_of_children();
  WriteRequest draw_of_deployments();
  WriteRequest draw_of_nodes();
  WriteRequest draw_of_places();
  WriteRequest draw_of_variables();
  WriteRequest draw_of_locks(const std::string& ns);

  std::string some_namespace();
  std::string some_job();
  Object<schema::Job> some_specification();
  Object<schema::Variable> some_variable(const std::string& ns);

  Random random_;
  std::uint64_t subject_ = 0;  ///< Of the one that was drawn last.
  state::StateFixture state_;
};

/// What was met.
struct WriteCounts {
  std::map<std::string, int> writes;  ///< Pairs in which both had something to write.
  int stale = 0;                      ///< Second writes that were decided anew.
  int in_vain = 0;                    ///< Of these, those that came to the same.
  int locked_out
      = 0;  ///< Second writes that a lock stood against, which the first had taken or kept.
};

/// Whether commands carry what they were decided on; without, the property must not hold.
enum class Guards { kept, dropped };

/// Empty, or what is wrong with one pair.
std::string try_pair(std::uint64_t seed, Guards guards, WriteCounts& counts);

}  // namespace nomad::properties
