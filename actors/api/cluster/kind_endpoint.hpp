// The endpoints of kinds that are listed and read by their keys, put whole, and removed. A kind is
// offered by a class that has
//   Kind           its descriptor (runtime/state/kinds/kinds.hpp);
//   list_path      "/v1/node/pools"; one is put there, too, unless `create_path` is another;
//   path           "/v1/node/pool/", below which the keys are;
//   noun           "node pool", for the texts of refusals;
//   read, write, remove   what callers must be able to do;
// and, where it has such a thing,
//   title          "Node pool": the noun where a text begins with it;
//   nameless       the refusal of a request below `path` that names none;
//   about          what its paths name, where it is judged by more than the namespace;
//   judged_by_name callers need the right for that one: rows and bodies are judged
//   ignores_filter its lists leave filters aside;
//   append_stub    what its lists show of one, if not the whole;
//   put_by_name    one is put below `path` alone;
//   decide_put(state, asking, object), decide_remove(state, asking, key, region)
//                  the decision, if that is more than cluster::decide_put and decide_remove.
// Lists take prefix, filter and pages; all reads wait for changes.
#pragma once

#include <string>
#include <string_view>

#include "actors/api/http/list.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/api/http/write.hpp"
#include "runtime/cluster/kind_commands.hpp"

namespace nomad::api {

/// What lists show of one.
template <class Api>
constexpr auto stub_of() {
  if constexpr (requires { &Api::append_stub; })
    return [](std::string& out, const auto& row) { Api::append_stub(out, *row); };
  else
    return append_whole;
}

template <class Api>
constexpr auto title_of() {
  if constexpr (requires { Api::title; })
    return Api::title;
  else
    return Api::noun;
}

/// All whose keys begin with the query's prefix and for which its filter holds.
template <class Api>
Outcome list_kind(Call& call) {
  using Kind = typename Api::Kind;
  return read_state(call, [](const ReadOptions& options) -> Result<Read> {
    RowFilter filter;
    if constexpr (!requires { Api::ignores_filter; }) filter = NOMAD_TRY(compile_filter(options));
    return Read{.watch = {state::watch_prefix(Kind::table, options.prefix)},
                .index = index_from_one<Kind::table>,
                .list =
                    [options, filter](const View& snapshot, EarlyBody* early) {
                      return list_by_key(
                          snapshot, &state::Snapshot::rows<Kind>, options,
                          [&](const auto& row) { return keeps(filter, row); }, stub_of<Api>(),
                          early);
                    },
                .is_heavy = is_long<&state::Snapshot::rows<Kind>>};
  });
}

/// The one that the path names.
template <class Api>
Outcome read_kind(Call& call) {
  using Kind = typename Api::Kind;
  return read_state(call, [key = call.rest](const ReadOptions&) -> Result<Read> {
    return read_row<Kind::table>(
        key, std::string{Api::noun},
        [key](const View& snapshot) { return snapshot.row<Kind>(key); }, whole);
  });
}

inline Answer kind_written(const server::Written<cluster::Decision>& done) {
  return Answer::empty().with_index(done.index);
}

/// Puts the one that the body is; if the path names one, it must be that.
template <class Api>
Outcome put_kind(Call& call) {
  using Kind = typename Api::Kind;
  const auto body = NOMAD_TRY(read_body(call.request()));
  Draft<typename Kind::Type> draft;
  NOMAD_TRY(from_json(body.root(), *draft));
  // Its lists and meta have no bound else, and there may be any number of them.
  NOMAD_TRY(
      call.context->bounds.check_text(title_of<Api>(), draft.reader().totalSize().wordCount * 8));
  if (!call.rest.empty() && Kind::key(draft.reader()) != call.rest)
    return bad_request(std::string{title_of<Api>()} + " name does not match request path");
  call.is_about(Kind::key(draft.reader()));
  return write(
      call,
      [wanted = draft.freeze()](const state::Snapshot& state, const access::Asking& asking,
                                const cluster::EvalSeed&) {
        if constexpr (requires { &Api::decide_put; })
          return Api::decide_put(state, asking, *wanted);
        else
          return cluster::decide_put<Kind>(state, asking, *wanted);
      },
      kind_written);
}

/// Removes the one that the path names.
template <class Api>
Outcome remove_kind(Call& call) {
  return write(
      call,
      [key = call.rest, region = call.context->region](
          const state::Snapshot& state, const access::Asking& asking, const cluster::EvalSeed&) {
        if constexpr (requires { &Api::decide_remove; })
          return Api::decide_remove(state, asking, key, region);
        else
          return cluster::decide_remove<typename Api::Kind>(state, asking, key);
      },
      kind_written);
}

/// An operation on the one that the path must name.
template <class Api, Handler run>
Outcome on_named(Call& call) {
  if constexpr (requires { Api::nameless; })
    if (call.rest.empty()) return bad_request(std::string{Api::nameless});
  return run(call);
}

/// Where one of a kind is written.
template <class Kind>
constexpr Where written_at() {
  if constexpr (requires { &Kind::is_shared; })
    return Where::authority;
  else
    return Where::by_method;
}

/// Enters the routes of a kind; `more` are operations below its path.
template <class Api>
void add_kind(Routes& routes, std::vector<Suffix> more = {}) {
  constexpr bool judges = requires {
    Api::judged_by_name;
  };
  std::vector<Operation> listing{
      {Methods::get, Api::read, list_kind<Api>, Where::by_method, judges}};
  constexpr auto where = written_at<typename Api::Kind>();
  const Operation put{Methods::write, Api::write, put_kind<Api>, where, judges};
  if constexpr (requires { Api::create_path; })
    routes.exact(std::string{Api::create_path}, {put});
  else if constexpr (!requires { Api::put_by_name; })
    listing.push_back(put);
  routes.exact(std::string{Api::list_path}, std::move(listing));
  more.push_back({"",
                  {{Methods::get, Api::read, on_named<Api, read_kind<Api>>},
                   {Methods::write, Api::write, on_named<Api, put_kind<Api>>, where},
                   {Methods::remove, Api::remove, on_named<Api, remove_kind<Api>>, where}}});
  auto about = About::nothing;
  if constexpr (requires { Api::about; }) about = Api::about;
  routes.below(std::string{Api::path}, std::move(more), about);
}

}  // namespace nomad::api
