// /v1/deployments and /v1/deployment/…; actions come before the id in the path.
#include <boost/json.hpp>

#include "actors/api/allocs/alloc_endpoint.hpp"
#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/list.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/routes.hpp"

namespace nomad::api {
namespace {

using server::server_api::DeploymentChanged;
using state::Snapshot;
using state::Table;
using DeploymentRef = Object<schema::Deployment>;

std::uint64_t deployments_index(const Snapshot& snapshot) {
  return table_index(snapshot, Table::deployments);
}

void list_deployments(Call call) {
  read_state(std::move(call), [](const ReadOptions& options) -> Result<Read> {
    NOMAD_TRY(check_id_prefix("", options));
    auto filter = compile_filter(options);
    if (!filter) return filter.error();
    return Read{
        .watch = {state::watch_prefix(Table::deployments, options.prefix)},
        .index = deployments_index,
        .answer =
            [options, filter = *filter](const Snapshot& snapshot) {
              const bool by_id = !options.prefix.empty();
              const auto& tables = snapshot.tables();
              return list_page(
                  by_id ? tables.deployments : tables.deployments_by_create,
                  walk_by_create(options), options,
                  [&](const DeploymentRef& deployment) -> Result<bool> {
                    if (!options.wants(view(deployment->getNamespace()))) return false;
                    return keeps(filter, *deployment);
                  },
                  [by_id](std::string_view, const DeploymentRef& deployment) {
                    const auto id = view(deployment->getId());
                    return by_id ? std::string{id}
                                 : query::CreateToken::make(deployment->getCreateIndex(), id);
                  },
                  [](std::string& out, const DeploymentRef& one) { append_json(out, *one); });
            },
        .is_heavy =
            [](const Snapshot& snapshot) {
              return snapshot.tables().deployments.size() > heavy_rows;
            },
        .cacheable = true};
  });
}

void read_deployment(Call call) {
  const auto id = call.rest;
  read_state(std::move(call), [&id](const ReadOptions&) -> Result<Read> {
    NOMAD_TRY(check_id("deployment", id));
    return Read{.watch = {state::watch_key(Table::deployments, id)},
                .index =
                    [id](const Snapshot& snapshot) {
                      const auto deployment = snapshot.deployment(id);
                      return deployment ? deployment->getModifyIndex()
                                        : deployments_index(snapshot);
                    },
                .answer =
                    [id](const Snapshot& snapshot) {
                      const auto deployment = snapshot.deployment(id);
                      if (!deployment) return Answer::text(404, "deployment not found");
                      return Answer::json(to_json(*deployment));
                    }};
  });
}

void deployment_allocations(Call call) {
  const auto id = call.rest;
  read_state(std::move(call), [&id](const ReadOptions&) -> Result<Read> {
    return Read{
        .watch = {state::watch_key(Table::allocs_by_deployment, id)},
        .index = [](const Snapshot& snapshot) { return table_index(snapshot, Table::allocs); },
        .answer =
            [id](const Snapshot& snapshot) {
              return Answer::json(stub_list(snapshot.allocs_by_deployment(id)));
            }};
  });
}

Answer changed_answer(const DeploymentChanged& changed) {
  std::string out;
  {
    JsonObject object{out};
    object.number("DeploymentModifyIndex", changed.deployment_modify_index)
        .number("EvalCreateIndex", changed.eval_create_index)
        .text("EvalID", changed.eval_id)
        .number("Index", changed.index);
    if (changed.reverted_job_version)
      object.number("RevertedJobVersion", *changed.reverted_job_version);
    else
      object.null("RevertedJobVersion");
  }
  return Answer::json(std::move(out)).with_index(changed.index);
}

template <class Request>
void ask_changed(Call call, Result<Request> request) {
  if (!request) {
    call.fail(request.error());
    return;
  }
  const auto server = call.context->options.server;
  ask<DeploymentChanged>(std::move(call), server, std::move(*request), changed_answer);
}

/// Checks that the body names the deployment of the path.
Result<> check_deployment_id(BodyFields& fields, const Call& call) {
  const auto id = fields.text("DeploymentID");
  NOMAD_TRY(fields.check());
  if (id.empty()) return Error{Errc::invalid_argument, "DeploymentID must be specified"};
  if (id != call.rest) return Error{Errc::invalid_argument, "Deployment ID does not match"};
  return {};
}

Result<std::vector<std::string>> texts_of(BodyFields& fields, std::string_view name) {
  std::vector<std::string> texts;
  const auto* array = fields.array(name);
  NOMAD_TRY(fields.check());
  if (array == nullptr) return texts;
  for (const auto& value : *array) {
    if (!value.is_string())
      return Error{Errc::invalid_argument, std::string{name} + ": expected strings"};
    texts.emplace_back(value.get_string().data(), value.get_string().size());
  }
  return texts;
}

void fail_deployment(Call call) {
  ask_changed(std::move(call), Result<server::server_api::FailDeployment>{
                                   server::server_api::FailDeployment{call.rest}});
}

Result<server::server_api::PauseDeployment> make_pause(const Call& call) {
  const auto body = body_object(call.request());
  if (!body) return body.error();
  BodyFields fields{*body, "DeploymentPauseRequest"};
  NOMAD_TRY(check_deployment_id(fields, call));
  server::server_api::PauseDeployment request;
  request.deployment_id = call.rest;
  request.pause = fields.boolean("Pause");
  NOMAD_TRY(fields.check());
  return request;
}

Result<server::server_api::PromoteDeployment> make_promotion(const Call& call) {
  const auto body = body_object(call.request());
  if (!body) return body.error();
  BodyFields fields{*body, "DeploymentPromoteRequest"};
  NOMAD_TRY(check_deployment_id(fields, call));
  server::server_api::PromoteDeployment request;
  request.deployment_id = call.rest;
  request.all = fields.boolean("All");
  auto groups = texts_of(fields, "Groups");
  if (!groups) return groups.error();
  request.groups = std::move(*groups);
  return request;
}

Result<server::server_api::SetAllocHealth> make_health(const Call& call) {
  const auto body = body_object(call.request());
  if (!body) return body.error();
  BodyFields fields{*body, "DeploymentAllocHealthRequest"};
  NOMAD_TRY(check_deployment_id(fields, call));
  server::server_api::SetAllocHealth request;
  request.deployment_id = call.rest;
  auto healthy = texts_of(fields, "HealthyAllocationIDs");
  if (!healthy) return healthy.error();
  auto unhealthy = texts_of(fields, "UnhealthyAllocationIDs");
  if (!unhealthy) return unhealthy.error();
  if (healthy->empty() && unhealthy->empty())
    return Error{Errc::rejected, "must specify at least one healthy/unhealthy allocation ID"};
  request.healthy = std::move(*healthy);
  request.unhealthy = std::move(*unhealthy);
  return request;
}

void pause_deployment(Call call) {
  auto request = make_pause(call);
  ask_changed(std::move(call), std::move(request));
}

void promote_deployment(Call call) {
  auto request = make_promotion(call);
  ask_changed(std::move(call), std::move(request));
}

void set_alloc_health(Call call) {
  auto request = make_health(call);
  ask_changed(std::move(call), std::move(request));
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
  routes.below("/v1/deployment/allocation-health/",
               {{"", {{Methods::write, Capability::submit_job, set_alloc_health}}}});
  routes.below("/v1/deployment/", {{"", {{Methods::get, Capability::read_job, read_deployment}}}});
}

}  // namespace nomad::api
