// /v1/namespaces, /v1/namespace and /v1/namespace/<name>.
#include "actors/api/http/list.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/api/http/write.hpp"
#include "runtime/cluster/setting_commands.hpp"

namespace nomad::api {
namespace {

using cluster::Decision;
using cluster::EvalSeed;
using server::Written;
using state::Snapshot;
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
  if (call.rest.empty()) return bad_request("Missing Namespace Name");
  return read_state(call, [name = call.rest](const ReadOptions&) -> Result<Read> {
    return read_row<Table::namespaces>(
        name, "Namespace", [name](const View& snapshot) { return snapshot.get_namespace(name); },
        whole);
  });
}

Outcome write_namespace_of(Call& call, std::string_view name) {
  const auto body = NOMAD_TRY(read_body(call.request()));
  Draft<schema::Namespace> draft;
  NOMAD_TRY(from_json(body.root(), *draft));
  if (!name.empty() && view(draft.reader().getName()) != name)
    return bad_request("Namespace name does not match request path");
  return write(
      call,
      [ns = draft.freeze()](const Snapshot&, const access::Asking& asking, const EvalSeed&) {
        return cluster::decide_namespace(asking, *ns);
      },
      [](const Written<Decision>& done) { return Answer::empty().with_index(done.index); });
}

Outcome put_namespace(Call& call) {
  return write_namespace_of(call, "");
}

Outcome put_named(Call& call) {
  if (call.rest.empty()) return bad_request("Missing Namespace Name");
  return write_namespace_of(call, std::string{call.rest});
}

Outcome delete_namespace(Call& call) {
  if (call.rest.empty()) return bad_request("Missing Namespace Name");
  return write(
      call,
      [name = call.rest, region = call.context->options.agent.region](
          const Snapshot& state, const access::Asking& asking, const EvalSeed&) {
        return cluster::decide_namespace_delete(state, asking, name, region);
      },
      [](const Written<Decision>& done) { return Answer::empty().with_index(done.index); });
}

}  // namespace

void add_namespace_routes(Routes& routes) {
  routes.exact("/v1/namespaces", {{Methods::get, Capability::any_in_namespace, list_namespaces}});
  routes.exact("/v1/namespace", {{Methods::write, Capability::management, put_namespace}});
  routes.below("/v1/namespace/", {{"",
                                   {{Methods::get, Capability::any_in_namespace, read_namespace},
                                    {Methods::write, Capability::management, put_named},
                                    {Methods::remove, Capability::management, delete_namespace}}}});
}

}  // namespace nomad::api
