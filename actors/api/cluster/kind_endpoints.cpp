// Kinds that are offered as they are stored (kind_endpoint.hpp): /v1/namespaces,
// …/namespace/<name>, /v1/sentinel/policies, …/policy/<name>.
#include "actors/api/acl/acl_endpoint.hpp"
#include "actors/api/cluster/kind_endpoint.hpp"
#include "runtime/cluster/admission/admission.hpp"
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
  static constexpr auto decide_put = cluster::decide_namespace;
};

/// Of admission. As of access control, who manages writes and reads.
struct AdmissionApi {
  using Kind = state::kind::AdmissionPolicies;
  static constexpr std::string_view list_path = "/v1/sentinel/policies";
  static constexpr std::string_view path = "/v1/sentinel/policy/";
  static constexpr std::string_view noun = "sentinel policy";
  static constexpr std::string_view title = "Sentinel policy";
  static constexpr std::string_view nameless = "Missing Policy Name";
  static constexpr auto read = Capability::management;
  static constexpr auto write = Capability::management;
  static constexpr auto remove = Capability::management;
  static constexpr bool put_by_name = true;
  static constexpr auto decide_put = cluster::decide_put_admission;

  static void append_stub(std::string& out, schema::AdmissionPolicy::Reader policy) {
    JsonObject object{out};
    object.number("CreateIndex", policy.getCreateIndex())
        .text("Description", policy.getDescription())
        .text("EnforcementLevel", policy.getEnforcementLevel());
    append_base64(object, "Hash", policy.getHash());
    object.number("ModifyIndex", policy.getModifyIndex())
        .text("Name", policy.getName())
        .text("Scope", policy.getScope());
  }
};

}  // namespace

void add_kind_routes(Routes& routes) {
  add_kind<NamespaceApi>(routes);
  add_kind<AdmissionApi>(routes);
}

}  // namespace nomad::api
