// /v1/namespaces and /v1/namespace/<name>, read-only until ACLs come.
#include "actors/api/http/list.hpp"
#include "actors/api/http/routes.hpp"

namespace nomad::api {
namespace {

using state::Table;

Outcome list_namespaces(Call& call) {
  return read_state(call, [](const ReadOptions& options) -> Result<Read> {
    return Read{.watch = {state::watch_prefix(Table::namespaces, options.prefix)},
                .index = index_of<Table::namespaces>,
                .answer = [options](const View& snapshot) {
                  return list_by_key(snapshot, &state::Snapshot::namespaces_map, options, keep_all,
                                     append_whole);
                }};
  });
}

Outcome read_namespace(Call& call) {
  return read_state(call, [name = call.rest](const ReadOptions&) -> Result<Read> {
    return read_row<Table::namespaces>(
        name, "Namespace", [name](const View& snapshot) { return snapshot.get_namespace(name); },
        whole);
  });
}

}  // namespace

void add_namespace_routes(Routes& routes) {
  routes.exact("/v1/namespaces", {{Methods::get, Capability::any_in_namespace, list_namespaces}});
  routes.below("/v1/namespace/",
               {{"", {{Methods::get, Capability::any_in_namespace, read_namespace}}}});
}

}  // namespace nomad::api
