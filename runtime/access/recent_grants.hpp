// RecentGrants: what the threads of an agent have asked for last, each with grants of its own, so
// that requests by one token on several threads count no references together and wait for no lock.
// In front of a GrantCache, and only where an index says of each grant whether it still counts.
//
// Thread-safe.
#pragma once

#include <array>
#include <mutex>

#include "runtime/access/grant.hpp"

namespace nomad::access {

class RecentGrants {
public:
  /// The grant of a known token as of `newest`. Null: it is to be asked for.
  GrantRef find(const TokenHash::Value& key, const NewestIndex& newest, Time now);

  /// Keeps a copy of what counts for this thread, and returns it.
  GrantRef keep(const TokenHash::Value& key, const Grant& grant, std::uint64_t index);

private:
  struct Entry {
    TokenHash::Value key{};
    GrantRef grant;  ///< Null: nothing is kept here.
    std::uint64_t index = 0;
  };

  /// Threads share one only by chance; then they wait for each other.
  struct alignas(64) Slot {
    std::mutex guard;
    std::array<Entry, 4> entries;
    std::size_t oldest = 0;
  };

  Slot& own_slot();

  std::array<Slot, 16> slots_;
};

}  // namespace nomad::access
