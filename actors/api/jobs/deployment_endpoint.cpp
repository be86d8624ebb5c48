// /v1/deployments and /v1/deployment/…; actions come before the id in the path.
#include <boost/json.hpp>

#include "actors/api/allocs/alloc_endpoint.hpp"
#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/list.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/api/http/write.hpp"
#include "runtime/cluster/deployment_commands.hpp"

namespace nomad::api {
namespace {

using cluster::DeploymentDecision;
using cluster::EvalSeed;
using server::Written;
using state::Snapshot;
using state::Table;
using DeploymentRef = Object<schema::Deployment>;

Outcome list_deployments(Call& call) {
  return read_state(call, [](const ReadOptions& options) -> Result<Read> {
    NOMAD_TRY(check_id_prefix("", options));
    auto filter = NOMAD_TRY(compile_filter(options));
    return Read{.watch = {state::watch_prefix(Table::deployments, options.prefix)},
                .index = index_of<Table::deployments>,
                .list =
                    [options, filter](const View& snapshot, EarlyBody* early) {
                      return list_by_create(
                          snapshot, &state::Snapshot::deployments_map,
                          &state::Snapshot::deployments_by_create_map, options,
                          [&](const DeploymentRef& deployment) -> Result<bool> {
                            if (!options.wants(view(deployment->getNamespace()))) return false;
                            return keeps(filter, deployment);
                          },
                          append_whole, early);
                    },
                .is_heavy = is_long<&state::Snapshot::deployments_map>,
                .cacheable = true};
  });
}

Outcome read_deployment(Call& call) {
  return read_state(call, [&](const ReadOptions&) -> Result<Read> {
    NOMAD_TRY(check_id("deployment", call.rest));
    return read_row<Table::deployments>(
        call.rest, "deployment",
        [id = call.rest](const View& snapshot) -> Result<Object<schema::Deployment>> {
          auto deployment = snapshot.deployment(id);
          const bool is_hidden = !deployment && deployment.error().code == Errc::permission_denied;
          if (is_hidden) return Object<schema::Deployment>{};  // in Nomad there is none then
          return deployment;
        },
        whole);
  });
}

Outcome deployment_allocations(Call& call) {
  return read_state(call, [id = call.rest](const ReadOptions&) -> Result<Read> {
    NOMAD_TRY(check_id("", id));
    return Read{.watch = {state::watch_key(Table::allocs_by_deployment, id)},
                .index = index_of<Table::allocs>,
                .answer = [id](const View& snapshot) {
                  return Answer::json(stub_list(snapshot.allocs_by_deployment(id)));
                }};
  });
}

/// Nothing but zeros if nothing was changed.
Answer changed_answer(const Written<DeploymentDecision>& done) {
  const auto& decision = done.decision;
  const auto index = done.outcome ? done.index : 0;
  JsonObject object;
  object.number("DeploymentModifyIndex", index)
      .number("EvalCreateIndex", decision.eval_id.empty() ? 0 : index)
      .text("EvalID", decision.eval_id)
      .number("Index", index);
  if (decision.reverted_to)
    object.number("RevertedJobVersion", *decision.reverted_to);
  else
    object.null("RevertedJobVersion");
  return Answer::json(object.take()).with_index(index);
}

/// Checks that the body names the deployment of the path.
Result<> check_deployment_id(BodyFields& fields, const Call& call) {
  const auto id = fields.text("DeploymentID");
  NOMAD_TRY(fields.check());
  if (id.empty()) return Error{Errc::invalid_argument, "DeploymentID must be specified"};
  if (id != call.rest) return Error{Errc::invalid_argument, "Deployment ID does not match"};
  return check_id("deployment", id);
}

Result<std::vector<std::string>> texts_of(BodyFields& fields, std::string_view name) {
  std::vector<std::string> texts;
  const auto* array = fields.array(name);
  NOMAD_TRY(fields.check());
  if (array == nullptr) return texts;
  for (const JsonNode& value : array->elements()) {
    if (!value.is(JsonKind::text))
      return Error{Errc::invalid_argument, std::string{name} + ": expected strings"};
    texts.emplace_back(value.text());
  }
  return texts;
}

Outcome fail_deployment(Call& call) {
  NOMAD_TRY(check_id("deployment", call.rest));
  return write(
      call,
      [id = call.rest](const Snapshot& state, const access::Asking& asking, const EvalSeed& seed) {
        return cluster::decide_fail(state, asking, id, seed);
      },
      changed_answer);
}

Outcome pause_deployment(Call& call) {
  const auto body = NOMAD_TRY(read_body(call.request()));
  BodyFields fields{body, "DeploymentPauseRequest"};
  NOMAD_TRY(check_deployment_id(fields, call));
  const bool pause = fields.boolean("Pause");
  NOMAD_TRY(fields.check());
  return write(
      call,
      [pause, id = call.rest](const Snapshot& state, const access::Asking& asking,
                              const EvalSeed& seed) {
        return cluster::decide_pause(state, asking, id, pause, seed);
      },
      changed_answer);
}

Outcome unblock_deployment(Call& call) {
  const auto body = NOMAD_TRY(read_body(call.request()));
  BodyFields fields{body, "DeploymentUnblockRequest"};
  NOMAD_TRY(check_deployment_id(fields, call));
  return write(
      call,
      [id = call.rest](const Snapshot& state, const access::Asking& asking, const EvalSeed& seed) {
        return cluster::decide_unblock(state, asking, id, seed);
      },
      changed_answer);
}

Outcome promote_deployment(Call& call) {
  const auto body = NOMAD_TRY(read_body(call.request()));
  BodyFields fields{body, "DeploymentPromoteRequest"};
  NOMAD_TRY(check_deployment_id(fields, call));
  const bool all = fields.boolean("All");
  const auto groups = NOMAD_TRY(texts_of(fields, "Groups"));
  return write(
      call,
      [all, groups, id = call.rest](const Snapshot& state, const access::Asking& asking,
                                    const EvalSeed& seed) {
        return cluster::decide_promote(state, asking, id, all, groups, seed);
      },
      changed_answer);
}

Outcome set_alloc_health(Call& call) {
  const auto body = NOMAD_TRY(read_body(call.request()));
  BodyFields fields{body, "DeploymentAllocHealthRequest"};
  NOMAD_TRY(check_deployment_id(fields, call));
  const auto healthy = NOMAD_TRY(texts_of(fields, "HealthyAllocationIDs"));
  const auto unhealthy = NOMAD_TRY(texts_of(fields, "UnhealthyAllocationIDs"));
  if (healthy.empty() && unhealthy.empty())
    return Error{Errc::rejected, "must specify at least one healthy/unhealthy allocation ID"};
  return write(
      call,
      [healthy, unhealthy, id = call.rest](const Snapshot& state, const access::Asking& asking,
                                           const EvalSeed& seed) {
        return cluster::decide_alloc_health(state, asking, id, healthy, unhealthy, seed);
      },
      changed_answer);
}

}  // namespace

void add_deployment_routes(Routes& routes) {
  routes.exact("/v1/deployments", {{Methods::get, Capability::read_job, list_deployments}});
  routes.below("/v1/deployment/allocations/",
               {{"", {{Methods::get, Capability::read_job, deployment_allocations}}}});
  routes.below("/v1/deployment/fail/",
               {{"", {{Methods::write, Capability::submit_job, fail_deployment}}}});
  routes.below("/v1/deployment/pause/",
               {{"", {{Methods::write, Capability::submit_job, pause_deployment}}}});
  routes.below("/v1/deployment/promote/",
               {{"", {{Methods::write, Capability::submit_job, promote_deployment}}}});
  routes.below("/v1/deployment/unblock/",
               {{"", {{Methods::write, Capability::submit_job, unblock_deployment}}}});
  routes.below("/v1/deployment/allocation-health/",
               {{"", {{Methods::write, Capability::submit_job, set_alloc_health}}}});
  routes.below("/v1/deployment/", {{"", {{Methods::get, Capability::read_job, read_deployment}}}});
}

}  // namespace nomad::api
