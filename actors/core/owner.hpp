// Owner: whom an actor belongs to, and what an exception in it leads to. Both are said where it is
// spawned (supervise.hpp).
#pragma once

#include <cstdint>
#include <string_view>

#include "actors/core/handle.hpp"
#include "actors/core/self.hpp"

namespace nomad::actor {

/// What follows when a handler throws. An error that an actor quits with counts as its end alone.
enum class Policy : std::uint8_t {
  report,     ///< It ends, and its owner's `on_down` knows what to do.
  end_owner,  ///< It ends, and so does its owner, with the same reason.
  /// It begins anew with a new state, under the handle that it had: for those whose state can be
  /// rebuilt. What it owned is stopped, what it owed is answered with `unavailable`, its timers and
  /// the answers to what it asked are dropped, what waits in its mailbox is served; the owner hears
  /// of it. Six crashes within a minute in work that nobody asked for end it, and its owner.
  restart,
};

std::string_view to_string(Policy policy);

/// Whom a new actor belongs to. Made from `self` it is for the present handler only.
class Owner {
public:
  /// Nobody: for the root of the program's actors (`spawn_root`), and for tests.
  Owner(System& system) : system_{&system} {}

  Owner(Self* self) : system_{&self->system()}, self_{self} {}

  /// For code that is no actor: the owner hears of the new one in a turn of its own.
  template <class... Signatures>
  Owner(const Interface<Signatures...>& handle) : Owner(handle.ref()) {}

  explicit Owner(Ref ref);

  System& system() const { return *system_; }

  Self* self() const { return self_; }

  Ref ref() const { return self_ != nullptr ? self_->ref() : ref_; }

private:
  System* system_;
  Self* self_ = nullptr;
  Ref ref_;
};

}  // namespace nomad::actor
