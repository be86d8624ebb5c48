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
                      if (!deployment) return Answer::error(not_found("deployment not found"));
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

Answer changed_answer(const Written<DeploymentDecision>& done) {
  const auto& decision = done.decision;
  std::string out;
  {
    JsonObject object{out};
    object.number("DeploymentModifyIndex", done.index)
        .number("EvalCreateIndex", decision.eval_id.empty() ? 0 : done.index)
        .text("EvalID", decision.eval_id)
        .number("Index", done.index);
    if (decision.reverted_to)
      object.number("RevertedJobVersion", *decision.reverted_to);
    else
      object.null("RevertedJobVersion");
  }
  return Answer::json(std::move(out)).with_index(done.index);
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
  for (const JsonNode& value : array->elements()) {
    if (!value.is(JsonKind::text))
      return Error{Errc::invalid_argument, std::string{name} + ": expected strings"};
    texts.emplace_back(value.text());
  }
  return texts;
}

void fail_deployment(Call call) {
  const auto id = call.rest;
  write(
      std::move(call),
      [&](const Snapshot& state, const EvalSeed& seed) {
        return cluster::decide_fail(state, id, seed);
      },
      changed_answer);
}

Result<bool> read_pause(const Call& call) {
  const auto body = read_body(call.request());
  if (!body) return body.error();
  BodyFields fields{*body, "DeploymentPauseRequest"};
  NOMAD_TRY(check_deployment_id(fields, call));
  const bool pause = fields.boolean("Pause");
  NOMAD_TRY(fields.check());
  return pause;
}

void pause_deployment(Call call) {
  const auto pause = read_pause(call);
  if (!pause) return call.fail(pause.error());
  const auto id = call.rest;
  write(
      std::move(call),
      [&](const Snapshot& state, const EvalSeed& seed) {
        return cluster::decide_pause(state, id, *pause, seed);
      },
      changed_answer);
}

struct Promotion {
  bool all = false;
  std::vector<std::string> groups;
};

Result<Promotion> read_promotion(const Call& call) {
  const auto body = read_body(call.request());
  if (!body) return body.error();
  BodyFields fields{*body, "DeploymentPromoteRequest"};
  NOMAD_TRY(check_deployment_id(fields, call));
  const bool all = fields.boolean("All");
  auto groups = texts_of(fields, "Groups");
  if (!groups) return groups.error();
  return Promotion{all, std::move(*groups)};
}

void promote_deployment(Call call) {
  const auto asked = read_promotion(call);
  if (!asked) return call.fail(asked.error());
  const auto id = call.rest;
  write(
      std::move(call),
      [&](const Snapshot& state, const EvalSeed& seed) {
        return cluster::decide_promote(state, id, asked->all, asked->groups, seed);
      },
      changed_answer);
}

struct AllocHealth {
  std::vector<std::string> healthy;
  std::vector<std::string> unhealthy;
};

Result<AllocHealth> read_health(const Call& call) {
  const auto body = read_body(call.request());
  if (!body) return body.error();
  BodyFields fields{*body, "DeploymentAllocHealthRequest"};
  NOMAD_TRY(check_deployment_id(fields, call));
  auto healthy = texts_of(fields, "HealthyAllocationIDs");
  if (!healthy) return healthy.error();
  auto unhealthy = texts_of(fields, "UnhealthyAllocationIDs");
  if (!unhealthy) return unhealthy.error();
  if (healthy->empty() && unhealthy->empty())
    return Error{Errc::rejected, "must specify at least one healthy/unhealthy allocation ID"};
  return AllocHealth{std::move(*healthy), std::move(*unhealthy)};
}

void set_alloc_health(Call call) {
  const auto asked = read_health(call);
  if (!asked) return call.fail(asked.error());
  const auto id = call.rest;
  write(
      std::move(call),
      [&](const Snapshot& state, const EvalSeed& seed) {
        return cluster::decide_alloc_health(state, id, asked->healthy, asked->unhealthy, seed);
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
  routes.below("/v1/deployment/allocation-health/",
               {{"", {{Methods::write, Capability::submit_job, set_alloc_health}}}});
  routes.below("/v1/deployment/", {{"", {{Methods::get, Capability::read_job, read_deployment}}}});
}

}  // namespace nomad::api
