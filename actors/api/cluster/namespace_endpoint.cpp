// /v1/namespaces and /v1/namespace/<name>, read-only until ACLs come.
#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/list.hpp"
#include "actors/api/http/routes.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::api {
namespace {

using state::Snapshot;
using state::Table;

void list_namespaces(Call call) {
  read_state(std::move(call), [](const ReadOptions& options) -> Result<Read> {
    return Read{
        .watch = {state::watch_prefix(Table::namespaces, options.prefix)},
        .index = [](const Snapshot& snapshot) { return table_index(snapshot, Table::namespaces); },
        .answer =
            [options](const Snapshot& snapshot) {
              using Namespace = Object<schema::Namespace>;
              Walk walk;
              walk.prefix = options.prefix;
              return list_page(
                  snapshot.tables().namespaces, walk, options,
                  [](const Namespace&) -> Result<bool> { return true; },
                  [](std::string_view key, const Namespace&) { return std::string{key}; },
                  [](std::string& out, const Namespace& one) { append_json(out, *one); });
            }};
  });
}

void read_namespace(Call call) {
  const auto name = call.rest;
  read_state(std::move(call), [&name](const ReadOptions&) -> Result<Read> {
    return Read{.watch = {state::watch_key(Table::namespaces, name)},
                .index =
                    [name](const Snapshot& snapshot) {
                      const auto found = snapshot.get_namespace(name);
                      return found ? found->getModifyIndex()
                                   : table_index(snapshot, Table::namespaces);
                    },
                .answer =
                    [name](const Snapshot& snapshot) {
                      const auto found = snapshot.get_namespace(name);
                      return found ? Answer::json(to_json(*found))
                                   : Answer::error(not_found("Namespace not found"));
                    }};
  });
}

}  // namespace

void add_namespace_routes(Routes& routes) {
  routes.exact("/v1/namespaces", {{Methods::get, Capability::any_in_namespace, list_namespaces}});
  routes.below("/v1/namespace/",
               {{"", {{Methods::get, Capability::any_in_namespace, read_namespace}}}});
}

}  // namespace nomad::api
