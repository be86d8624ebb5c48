// Reads from the state, at once or when it changes. A blocking query that waits holds its request,
// a watch and a timer, and no thread; it ends when the watched objects' index grows beyond the one
// given, when its wait is over, or when its client goes away.
//
// A read is answered from a snapshot taken before the leader's lease is checked; without the
// lease, a read index is asked for first, unless the client allows stale answers.
//
// Its caller must have the route's capability in the namespace of the query; the view (view.hpp)
// judges what is found besides; for a route of no namespace, what the route was judged by. All is
// judged anew whenever the read is looked at, by the rights that the caller has then, and who is
// refused does not wait.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "actors/api/http/call.hpp"
#include "actors/api/http/view.hpp"
#include "runtime/access/boxed.hpp"
#include "runtime/object/json_codec.hpp"
#include "runtime/state/watch.hpp"

namespace nomad::api {

/// Takes the beginning of a long body while the rest is made. For the thread that makes it.
class EarlyBody {
public:
  EarlyBody() = default;
  EarlyBody(const EarlyBody&) = delete;
  virtual ~EarlyBody() = default;

  /// Sends what begins the body or goes on with it: from now on the answer is 200, and its headers
  /// are those of the read. False: nobody wants the rest.
  virtual bool send(std::string piece) = 0;
};

struct Read {
  /// What changes the answer.
  std::vector<state::WatchKey> watch;

  /// Of variables: judged with the namespace.
  access::Boxed<std::string> path = {};

  /// What is found by an id is judged by its own namespace, whatever the query names.
  bool by_object = false;

  /// What it needs besides the capability of a route of no namespace.
  access::Capability also = access::Capability::none;

  /// The index of what is asked for; cheap. Becomes X-Nomad-Index.
  std::function<std::uint64_t(const View&)> index;

  /// Whether nothing is left to wait for, so that it is answered at once; empty: something always
  /// is. Of what ends by itself `no_later_than` says when.
  std::function<bool(const View&)> is_over = nullptr;

  /// When it is answered at the latest, whatever its client would wait for.
  std::chrono::steady_clock::time_point no_later_than
      = std::chrono::steady_clock::time_point::max();

  /// The answer but for its index headers.
  std::function<Answer(const View&)> answer = nullptr;

  /// Instead of `answer`, of a list that may be long. Not null: what begins its body may be sent
  /// there, if nothing can fail any more and no token will follow; the answer then has the rest.
  std::function<Answer(const View&, EarlyBody* early)> list = nullptr;

  /// Whether making the answer takes longer than an I/O thread may be held.
  std::function<bool(const View&)> is_heavy = nullptr;

  /// Whether answers are worth keeping for those who ask the same (see ResponseCache). Not of
  /// variables, which are judged by more than their namespace.
  bool cacheable = false;

  /// What a kept rendering is good for, where the answer depends on more than `index` shows: the
  /// newest index of all tables it is made from.
  std::uint64_t (*version)(const View&) = nullptr;
};

/// Answers `call` with `read`. `make(options)` gives the read, or why the request is refused.
Outcome read_state(Call& call, const std::function<Result<Read>(const ReadOptions&)>& make);

/// For `is_heavy`: a table of more rows than an I/O thread may walk through.
template <auto rows>
bool is_long(const View& snapshot) {
  return snapshot.size<rows>() > 1'000;
}

/// Of the last entry that changed a table; 0 if none has. For `index`.
template <state::Table table>
std::uint64_t index_of(const View& snapshot) {
  return snapshot.index(table);
}

/// The same, but 1 if none has: where Nomad shows it so.
template <state::Table table>
std::uint64_t index_from_one(const View& snapshot) {
  return std::max<std::uint64_t>(1, snapshot.index(table));
}

/// The index of what the caller may not see, so that he is told at once.
inline constexpr std::uint64_t at_once = UINT64_MAX;

/// The read of the row that `find(snapshot)`, a Result, finds under `key`, as `render(snapshot,
/// row)` shows it; "<missing> not found".
template <state::Table table, class Find, class Render>
Read read_row(std::string_view key, std::string missing, Find find, Render render) {
  return {.watch = {state::watch_key(table, key)},
          .index =
              [find](const View& snapshot) {
                const auto row = find(snapshot);
                if (!row) return at_once;
                return *row ? object_of(*row).reader().getModifyIndex() : index_of<table>(snapshot);
              },
          .answer =
              [find, render, missing](const View& snapshot) {
                const auto row = find(snapshot);
                if (!row) return Answer::error(row.error());
                return *row ? render(snapshot, *row)
                            : Answer::error(not_found(missing + " not found"));
              }};
}

/// For `render`: the whole object.
inline constexpr auto whole
    = [](const View&, const auto& row) { return Answer::json(to_json(*row)); };

}  // namespace nomad::api
