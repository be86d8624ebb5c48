// LockTimers: by when locks of variables must be renewed, and when those that were not are to be
// lifted. The deciding half of the lock tracker.
//
// A lock is held until twice its TTL has passed since it was taken or renewed: what a holder may
// rely on is the TTL, the rest is for the network and for clocks. Then it is lost, and nobody holds
// it for as long as its delay says, so that a holder that has not noticed yet has time to; after
// that it is due to be lifted.
//
// A lock is told apart from a later one of the same id, which its holder may take again, by the
// index of the variable's row: the release of one that is due names the index, and is refused when
// the row has another by then. So a release that comes late lifts nothing that was taken since.
//
// Knows no clock, actor or thread: times are the caller's, of a steady clock. Each operation costs
// the logarithm of the number of locks.
//
// Invariant: `by_deadline_` has one entry for each of `locks_` that is not being lifted.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::cluster {

class LockTimers {
public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// As a variable has it.
  struct Lock {
    std::string id;
    std::chrono::nanoseconds ttl{};
    std::chrono::nanoseconds delay{};
    std::uint64_t index = 0;  ///< The ModifyIndex of the variable's row.
  };

  /// A lock that is to be lifted from the variable of that key (state::kind::Variables).
  struct Due {
    std::string variable;
    std::string id;
    std::uint64_t index = 0;

    friend bool operator==(const Due&, const Due&) = default;
  };

  /// One that could not be lifted is due again after that.
  static constexpr std::chrono::seconds retry_after{10};

  /// Nothing is known any more: this server does not lead.
  void clear();

  /// The variable has that lock from now on: it was taken, or taken again by who has it.
  void held(const std::string& variable, Lock lock, TimePoint now);

  /// Its holder has written it at `index`, and has the same lock: which counts as no renewal.
  void written(const std::string& variable, std::string_view id, std::uint64_t index);

  /// It has none.
  void lifted(const std::string& variable);

  /// `conflict` when the variable has not that lock, or has lost it.
  Result<> renew(const std::string& variable, const std::string& id, TimePoint now);

  /// When something happens next; nothing while there is no lock.
  std::optional<TimePoint> next() const;

  /// Those whose delay is over at `now`, at most `most` of them, the oldest first. They are being
  /// lifted then, and are not due again until that has failed.
  std::vector<Due> take_due(TimePoint now, std::size_t most);

  /// It could not be lifted, or has changed meanwhile.
  void failed(const Due& due, TimePoint now);

  std::size_t size() const { return locks_.size(); }

private:
  struct Timed {
    Lock lock;
    TimePoint deadline;
    bool is_lost = false;
    std::optional<std::uint64_t> lifting{};  ///< The index that its release names, without answer.
  };

  using Locks = std::map<std::string, Timed>;

  void move_to(Locks::iterator lock, TimePoint deadline);

  Locks locks_;  ///< By the variable's key.
  std::set<std::pair<TimePoint, std::string>> by_deadline_;
};

}  // namespace nomad::cluster
