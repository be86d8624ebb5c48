// /v1/scaling/policies and /v1/scaling/policy/<id>: what autoscalers read.
#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/list.hpp"
#include "actors/api/http/routes.hpp"
#include "runtime/object/entries.hpp"

namespace nomad::api {
namespace {

using state::Table;
using PolicyRef = Object<schema::ScalingPolicy>;

void append_policy_stub(std::string& out, schema::ScalingPolicy::Reader policy) {
  JsonObject object{out};
  object.number("CreateIndex", policy.getCreateIndex())
      .boolean("Enabled", policy.getEnabled())
      .text("ID", policy.getId())
      .number("ModifyIndex", policy.getModifyIndex());
  append_json_map(object.raw("Target"), policy.getTarget(),
                  [](std::string& to, auto value) { append_json_text(to, view(value)); });
  object.text("Type", policy.getType());
}

/// What the query asks for besides the namespace.
struct PolicyQuery {
  std::string job;
  std::string type;

  /// As Nomad has it: of a job the type is meant whole, elsewhere it is a prefix.
  bool wants(schema::ScalingPolicy::Reader policy) const {
    if (job.empty()) return view(policy.getType()).starts_with(type);
    return find_text(policy.getTarget(), "Job") == job
           && (type.empty() || view(policy.getType()) == type);
  }
};

Outcome list_policies(Call& call) {
  const PolicyQuery query{std::string{call.request().parameter_or_empty("job")},
                          std::string{call.request().parameter_or_empty("type")}};
  return read_state(call, [&query](const ReadOptions& options) -> Result<Read> {
    return Read{.watch = {state::watch_prefix(Table::scaling_policies, options.prefix)},
                .index = index_from_one<Table::scaling_policies>,
                .list =
                    [options, query](const View& snapshot, EarlyBody* early) {
                      return list_by_key(
                          snapshot, &state::Snapshot::scaling_policies_map, options,
                          [&](const PolicyRef& policy) -> Result<bool> {
                            return options.wants(namespace_of(*policy)) && query.wants(*policy);
                          },
                          [](std::string& out, const PolicyRef& policy) {
                            append_policy_stub(out, *policy);
                          },
                          early);
                    },
                .is_heavy = is_long<&state::Snapshot::scaling_policies_map>};
  });
}

Outcome read_policy(Call& call) {
  return read_state(call, [id = call.rest](const ReadOptions&) -> Result<Read> {
    return read_row<Table::scaling_policies>(
        id, "policy", [id](const View& snapshot) { return snapshot.scaling_policy(id); }, whole);
  });
}

}  // namespace

void add_scaling_routes(Routes& routes) {
  routes.exact("/v1/scaling/policies",
               {{Methods::get, Capability::list_scaling_policies, list_policies}});
  routes.below("/v1/scaling/policy/",
               {{"", {{Methods::get, Capability::read_scaling_policy, read_policy}}}});
}

}  // namespace nomad::api
