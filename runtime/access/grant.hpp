// Grant: what a token, or none, gives, as it was looked up; and GrantCache, which keeps grants by
// their tokens for a while, and which tokens nobody knows.
//
// Rules:
//   (1) Of a token only a keyed hash is kept, whose key never leaves the process.
//   (2) An entry counts until its time is over, and only as long as nothing has changed that rights
//       are read from: its index is the newest one that is known (which may fall: restored state).
//       What it said then can still be had, for when nobody can be asked. A token that is new
//       changes nothing but that it was none.
//   (3) At most so many entries of known tokens, and as many of unknown ones: whoever guesses
//       displaces the guesses of others, and nobody's rights. What was used longest ago goes first.
//
// Pure: times and indexes are arguments. One thread at a time.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "runtime/access/caller.hpp"
#include "runtime/access/rights.hpp"
#include "runtime/base/result.hpp"

namespace nomad::access {

using Time = std::chrono::steady_clock::time_point;

struct Grant {
  RightsRef rights = Rights::nothing();   ///< Never null.
  std::string accessor = {};              ///< The token's public name, for logs.
  Boxed<WorkloadIdentity> workload = {};  ///< Whose identity the token is, if a task's.
  std::uint64_t index = 0;                ///< Of the newest change of what this was read from.
  Time until = Time::max();  ///< The token ends by itself then; of what is kept: it counts so long.
  Time ends = Time::max();   ///< Of what is kept: the token ends by itself then.

  /// Whether whose it is still is there; empty: always. Thread-safe and quick.
  std::function<bool()> holds = {};
};

using GrantRef = std::shared_ptr<const Grant>;

/// Names tokens by hashes that tell nothing of them.
class TokenHash {
public:
  using Value = std::array<std::uint64_t, 2>;

  TokenHash();  ///< Draws a key.

  Value of(std::string_view token) const;

private:
  std::array<unsigned char, 16> key_;
};

struct CacheLimits {
  std::size_t known = 4096;    ///< Tokens whose grants are kept.
  std::size_t unknown = 1024;  ///< Tokens that are known to be none.
  std::chrono::milliseconds known_for{30'000};
  std::chrono::milliseconds unknown_for{5'000};
};

/// The newest indexes that are known.
struct NewestIndex {
  NewestIndex(std::uint64_t of_all) : of_known{of_all}, of_unknown{of_all} {}

  NewestIndex(std::uint64_t known, std::uint64_t unknown) : of_known{known}, of_unknown{unknown} {}

  std::uint64_t of_known;    ///< By which what tokens give has changed.
  std::uint64_t of_unknown;  ///< By which there may be a token that was none.
};

class GrantCache {
public:
  using Key = TokenHash::Value;

  explicit GrantCache(CacheLimits limits) : limits_{limits} {}

  /// What is known of a token as of `newest`: its grant, or null for one that is none. Nothing: it
  /// has to be looked up.
  std::optional<GrantRef> find(const Key& key, const NewestIndex& newest, Time now);

  /// What was last known of a token that has not ended by itself, however long ago. Null: nothing,
  /// or that it is none.
  GrantRef last_known(const Key& key, Time now) const;

  /// Keeps what was found of a token: its grant, whose `until` is cut to the time for which it is
  /// kept, or null, as of `index`. Returns what counts from now on.
  GrantRef keep(const Key& key, std::shared_ptr<Grant> grant, std::uint64_t index, Time now);

  /// Keeps a grant that was known, until `until` or its own end. Returns what counts.
  GrantRef extend(const Key& key, std::shared_ptr<Grant> grant, Time until);

  std::size_t size() const { return positions_.size(); }

private:
  struct Entry {
    Key key;
    GrantRef grant;  ///< Null: the token is none.
    std::uint64_t index;
    Time until;
  };

  using Entries = std::list<Entry>;

  struct HashOfKey {
    std::size_t operator()(const Key& key) const { return static_cast<std::size_t>(key[0]); }
  };

  Entries& list_of(const Entry& entry) { return entry.grant ? known_ : unknown_; }

  GrantRef put(Entry entry);
  void forget(Entries::iterator position);

  const CacheLimits limits_;
  Entries known_;  ///< Most recently used first.
  Entries unknown_;
  std::unordered_map<Key, Entries::iterator, HashOfKey> positions_;
};

}  // namespace nomad::access
