// What the endpoints of namespaces and of node pools have in common: places that are listed and
// read by name, put whole, and deleted when nothing is left in them.
#pragma once

#include <string>
#include <string_view>

#include "actors/api/http/list.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/write.hpp"
#include "runtime/cluster/setting_commands.hpp"

namespace nomad::api {

/// All whose names begin with the query's prefix, in the table's `map`, and, if `takes_filter`, for
/// which the filter holds.
template <state::Table table, auto map>
Outcome list_places(Call& call, bool takes_filter) {
  return read_state(call, [takes_filter](const ReadOptions& options) -> Result<Read> {
    const auto filter = NOMAD_TRY(compile_filter(takes_filter ? options : ReadOptions{}));
    return Read{.watch = {state::watch_prefix(table, options.prefix)},
                .index = index_of<table>,
                .answer = [options, filter](const View& snapshot) {
                  return list_by_key(
                      snapshot, map, options,
                      [&](const auto& place) { return keeps(filter, *place); }, append_whole);
                }};
  });
}

/// The one that the path names. `kind`: for the text of a refusal.
template <state::Table table, class T, auto find>
Outcome read_place(Call& call, std::string_view kind) {
  return read_state(call, [name = call.rest, kind](const ReadOptions&) -> Result<Read> {
    return read_row<table>(
        name, std::string{kind},
        [name](const View& snapshot) -> Result<Object<T>> { return (snapshot.*find)(name); },
        whole);
  });
}

inline Answer place_written(const server::Written<cluster::Decision>& done) {
  return Answer::empty().with_index(done.index);
}

/// Puts the T that the body is, as `decide(asking, T)` decides; if the path names one, it must be
/// that.
template <class T, auto decide>
Outcome put_place(Call& call, std::string_view kind) {
  const auto body = NOMAD_TRY(read_body(call.request()));
  Draft<T> draft;
  NOMAD_TRY(from_json(body.root(), *draft));
  if (!call.rest.empty() && view(draft.reader().getName()) != call.rest)
    return bad_request(std::string{kind} + " name does not match request path");
  return write(
      call,
      [place = draft.freeze()](const state::Snapshot&, const access::Asking& asking,
                               const cluster::EvalSeed&) { return decide(asking, *place); },
      place_written);
}

/// Deletes the one that the path names, as `decide(snapshot, asking, name, region)` decides.
template <auto decide>
Outcome delete_place(Call& call) {
  return write(
      call,
      [name = call.rest, region = call.context->options.agent.region](
          const state::Snapshot& state, const access::Asking& asking, const cluster::EvalSeed&) {
        return decide(state, asking, name, region);
      },
      place_written);
}

}  // namespace nomad::api
