// /v1/namespaces, /v1/namespace and /v1/namespace/<name>.
#include "actors/api/cluster/place_endpoint.hpp"
#include "actors/api/http/routes.hpp"

namespace nomad::api {
namespace {

using state::Table;

Outcome list_namespaces(Call& call) {
  return list_places<Table::namespaces, &state::Snapshot::namespaces_map>(call, false);
}

Outcome put_namespace(Call& call) {
  return put_place<schema::Namespace, cluster::decide_namespace>(call, "Namespace");
}

/// An operation on the namespace that the path must name.
template <Handler run>
Outcome on_named(Call& call) {
  if (call.rest.empty()) return bad_request("Missing Namespace Name");
  return run(call);
}

Outcome read_namespace(Call& call) {
  return read_place<Table::namespaces, schema::Namespace, &View::get_namespace>(call, "Namespace");
}

constexpr Handler delete_namespace = delete_place<cluster::decide_namespace_delete>;

}  // namespace

void add_namespace_routes(Routes& routes) {
  routes.exact("/v1/namespaces", {{Methods::get, Capability::any_in_namespace, list_namespaces}});
  routes.exact("/v1/namespace", {{Methods::write, Capability::management, put_namespace}});
  routes.below("/v1/namespace/",
               {{"",
                 {{Methods::get, Capability::any_in_namespace, on_named<read_namespace>},
                  {Methods::write, Capability::management, on_named<put_namespace>},
                  {Methods::remove, Capability::management, on_named<delete_namespace>}}}});
}

}  // namespace nomad::api
