// Reads from the state, at once or when it changes. A blocking query that waits holds its request,
// a watch and a timer, and no thread; it ends when the watched objects' index grows beyond the one
// given, when its wait is over, or when its client goes away.
//
// A read is answered from a snapshot taken before the leader's lease is checked; without the
// lease, a read index is asked for first, unless the client allows stale answers.
#pragma once

#include <functional>
#include <vector>

#include "actors/api/http/call.hpp"
#include "runtime/state/snapshot.hpp"
#include "runtime/state/watch.hpp"

namespace nomad::api {

struct Read {
  /// What changes the answer.
  std::vector<state::WatchKey> watch;

  /// The index of what is asked for; cheap. Becomes X-Nomad-Index.
  std::function<std::uint64_t(const state::Snapshot&)> index;

  /// The answer but for its index headers.
  std::function<Answer(const state::Snapshot&)> answer;

  /// Whether making the answer takes longer than an I/O thread may be held.
  std::function<bool(const state::Snapshot&)> is_heavy = {};

  /// Whether answers are worth keeping for those who ask the same (see ResponseCache).
  bool cacheable = false;

  /// What a kept rendering is good for, where the answer depends on more than `index` shows: the
  /// newest index of all tables it is made from.
  std::function<std::uint64_t(const state::Snapshot&)> version = {};
};

/// Answers `call` with `read`. `make(options)` gives the read, or why the request is refused.
void read_state(Call call, const std::function<Result<Read>(const ReadOptions&)>& make);

/// For `is_heavy`: more rows than an I/O thread may walk through.
inline constexpr std::size_t heavy_rows = 1'000;

/// The larger of a table's index and 1, as Nomad shows it for lists and absent objects.
std::uint64_t table_index(const state::Snapshot& snapshot, state::Table table);

}  // namespace nomad::api
