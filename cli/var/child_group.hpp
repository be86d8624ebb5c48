// ChildGroup: a child with all that it starts, in a process group of its own, so that none of it
// goes on when the child has ended or is made to. What makes groups of its own, as an interactive
// shell does for its jobs, is not of it.
//
// Where the caller has the terminal, the group gets it, and the caller has it again when the child
// has ended. A child that the terminal stops (Ctrl-Z) stops the caller's group with it, so that the
// shell that has started it all notices.
//
// For a process of one thread.
#pragma once

#include <utility>

#include "runtime/base/result.hpp"
#include "runtime/host/process/spawn.hpp"

namespace nomad::cli {

class ChildGroup {
public:
  /// `options.group` does not count. `not_found` without such a program, otherwise `io`.
  static Result<ChildGroup> start(host::SpawnOptions options);

  /// For poll(2): readable when the child has ended. That it was stopped is seen by `pass_stop_on`
  /// alone.
  int descriptor() const { return running_.process.get(); }

  /// To all of it, whether it is stopped or not.
  void signal(int number) const;

  /// If the terminal has stopped the child, stops the caller's group until somebody lets it go on.
  /// Then `resume`.
  void pass_stop_on();

  /// Gives the terminal to the child, if it is the caller's, and lets it go on.
  void resume();

  /// Once it is readable: ends what is left of the group. The child's status, as of waitpid(2).
  Result<int> reap();

private:
  explicit ChildGroup(host::Spawned running) : running_{std::move(running)} {}

  void take_terminal_back();

  host::Spawned running_;
  bool is_lent_ = false;  ///< The terminal, to the group.
};

}  // namespace nomad::cli
