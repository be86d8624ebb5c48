// Kinds that are offered as they are stored (kind_endpoint.hpp): /v1/namespaces,
// …/namespace/<name>.
#include "actors/api/cluster/kind_endpoint.hpp"
#include "runtime/cluster/setting_commands.hpp"

namespace nomad::api {
namespace {

struct NamespaceApi {
  using Kind = state::kind::Namespaces;
  static constexpr std::string_view list_path = "/v1/namespaces";
  static constexpr std::string_view create_path = "/v1/namespace";
  static constexpr std::string_view path = "/v1/namespace/";
  static constexpr std::string_view noun = "Namespace";
  static constexpr std::string_view nameless = "Missing Namespace Name";
  static constexpr auto read = Capability::any_in_namespace;
  static constexpr auto write = Capability::management;
  static constexpr auto remove = Capability::management;
  static constexpr bool ignores_filter = true;
  static constexpr auto decide_remove = cluster::decide_namespace_delete;

  static Result<cluster::Decision> decide_put(const state::Snapshot& state,
                                              const access::Asking& asking,
                                              schema::Namespace::Reader ns) {
    return cluster::decide_namespace(state, asking, ns);
  }
};

}  // namespace

void add_kind_routes(Routes& routes) {
  add_kind<NamespaceApi>(routes);
}

}  // namespace nomad::api
