#include "actors/api/http/call_metrics.hpp"

#include <algorithm>

namespace nomad::api {
namespace {

constexpr std::pair<std::string_view, std::string_view> measured[] = {
    {"GET /v1/jobs", "nomad.job.list"},
    {"PUT /v1/jobs", "nomad.job.register"},
    {"PUT /v1/validate/job", "nomad.job.validate"},
    {"PUT /v1/job/*/evaluate", "nomad.job.evaluate"},
    {"GET /v1/job/*/allocations", "nomad.job.allocations"},
    {"GET /v1/job/*/evaluations", "nomad.job.evaluations"},
    {"PUT /v1/job/*/periodic/force", "nomad.periodic.force"},
    {"PUT /v1/job/*/plan", "nomad.job.plan"},
    {"GET /v1/job/*/summary", "nomad.job_summary.get_job_summary"},
    {"PUT /v1/job/*/dispatch", "nomad.job.dispatch"},
    {"GET /v1/job/*/versions", "nomad.job.get_job_versions"},
    {"PUT /v1/job/*/revert", "nomad.job.revert"},
    {"GET /v1/job/*/deployments", "nomad.job.deployments"},
    {"GET /v1/job/*/deployment", "nomad.job.latest_deployment"},
    {"PUT /v1/job/*/stable", "nomad.job.stable"},
    {"GET /v1/job/*/scale", "nomad.job.scale_status"},
    {"PUT /v1/job/*/scale", "nomad.job.scale"},
    {"GET /v1/job/*/services", "nomad.job.get_service_registrations"},
    {"GET /v1/job/*/submission", "nomad.job.get_job_submission"},
    {"GET /v1/job/*/actions", "nomad.job.get_actions"},
    {"PUT /v1/job/*/tag", "nomad.job.tag_version"},
    {"DELETE /v1/job/*/tag", "nomad.job.tag_version"},
    {"GET /v1/job/*", "nomad.job.get_job"},
    {"PUT /v1/job/*", "nomad.job.register"},
    {"DELETE /v1/job/*", "nomad.job.deregister"},
    {"GET /v1/allocations", "nomad.alloc.list"},
    {"GET /v1/allocation/*", "nomad.alloc.get_alloc"},
    {"GET /v1/allocation/*/services", "nomad.alloc.get_service_registrations"},
    {"PUT /v1/allocation/*/stop", "nomad.alloc.stop"},
    {"GET /v1/evaluations", "nomad.eval.list"},
    {"DELETE /v1/evaluations", "nomad.eval.delete"},
    {"GET /v1/evaluations/count", "nomad.eval.count"},
    {"GET /v1/evaluation/*/allocations", "nomad.eval.allocations"},
    {"GET /v1/evaluation/*", "nomad.eval.get_eval"},
    {"GET /v1/deployments", "nomad.deployment.list"},
    {"GET /v1/deployment/allocations/*", "nomad.deployment.allocations"},
    {"PUT /v1/deployment/fail/*", "nomad.deployment.fail"},
    {"PUT /v1/deployment/pause/*", "nomad.deployment.pause"},
    {"PUT /v1/deployment/promote/*", "nomad.deployment.promote"},
    {"PUT /v1/deployment/unblock/*", "nomad.deployment.unblock"},
    {"PUT /v1/deployment/allocation-health/*", "nomad.deployment.set_alloc_health"},
    {"GET /v1/deployment/*", "nomad.deployment.get_deployment"},
    {"GET /v1/scaling/policies", "nomad.scaling.list_policies"},
    {"GET /v1/scaling/policy/*", "nomad.scaling.get_policy"},
    {"GET /v1/namespaces", "nomad.namespace.list_namespace"},
    {"PUT /v1/namespace", "nomad.namespace.upsert_namespaces"},
    {"GET /v1/namespace/*", "nomad.namespace.get_namespace"},
    {"PUT /v1/namespace/*", "nomad.namespace.upsert_namespaces"},
    {"DELETE /v1/namespace/*", "nomad.namespace.delete_namespaces"},
    {"GET /v1/node/pools", "nomad.node_pool.list"},
    {"PUT /v1/node/pools", "nomad.node_pool.upsert_node_pools"},
    {"GET /v1/node/pool/*/nodes", "nomad.node_pool.list_nodes"},
    {"GET /v1/node/pool/*/jobs", "nomad.node_pool.list_jobs"},
    {"GET /v1/node/pool/*", "nomad.node_pool.get_node_pool"},
    {"PUT /v1/node/pool/*", "nomad.node_pool.upsert_node_pools"},
    {"DELETE /v1/node/pool/*", "nomad.node_pool.delete_node_pools"},
    {"GET /v1/nodes", "nomad.client.list"},
    {"PUT /v1/node/*/evaluate", "nomad.client.evaluate"},
    {"GET /v1/node/*/allocations", "nomad.client.get_allocs"},
    {"PUT /v1/node/*/drain", "nomad.client.update_drain"},
    {"PUT /v1/node/*/eligibility", "nomad.client.update_eligibility"},
    {"PUT /v1/node/*/purge", "nomad.client.deregister"},
    {"GET /v1/node/*", "nomad.client.get_node"},
    {"GET /v1/services", "nomad.service_registration.list"},
    {"GET /v1/service/*", "nomad.service_registration.get_service"},
    {"DELETE /v1/service/*", "nomad.service_registration.delete_id"},
    {"PUT /v1/search", "nomad.search.prefix_search"},
    {"GET /v1/vars", "nomad.variables.list"},
    {"GET /v1/var/*", "nomad.variables.read"},
    {"PUT /v1/var/*", "nomad.variables.apply.set"},
    {"DELETE /v1/var/*", "nomad.variables.apply.delete"},
    {"GET /v1/acl/policies", "nomad.acl.list_policies"},
    {"GET /v1/acl/policy/*", "nomad.acl.get_policy"},
    {"PUT /v1/acl/policy/*", "nomad.acl.upsert_policies"},
    {"DELETE /v1/acl/policy/*", "nomad.acl.delete_policies"},
    {"PUT /v1/acl/bootstrap", "nomad.acl.bootstrap"},
    {"GET /v1/acl/tokens", "nomad.acl.list_tokens"},
    {"PUT /v1/acl/token", "nomad.acl.upsert_tokens"},
    {"GET /v1/acl/token/self", "nomad.acl.resolve_token"},
    {"GET /v1/acl/token/*", "nomad.acl.get_token"},
    {"PUT /v1/acl/token/*", "nomad.acl.upsert_tokens"},
    {"DELETE /v1/acl/token/*", "nomad.acl.delete_tokens"},
    {"PUT /v1/acl/token/onetime", "nomad.acl.upsert_one_time_token"},
    {"PUT /v1/acl/token/onetime/exchange", "nomad.acl.exchange_one_time_token"},
    {"GET /v1/acl/roles", "nomad.acl.list_roles"},
    {"PUT /v1/acl/role", "nomad.acl.upsert_roles"},
    {"GET /v1/acl/role/*", "nomad.acl.get_role_id"},
    {"PUT /v1/acl/role/*", "nomad.acl.upsert_roles"},
    {"DELETE /v1/acl/role/*", "nomad.acl.delete_roles"},
    {"GET /v1/acl/auth-methods", "nomad.acl.list_auth_methods"},
    {"PUT /v1/acl/auth-method", "nomad.acl.upsert_auth_methods"},
    {"GET /v1/acl/auth-method/*", "nomad.acl.get_auth_method_name"},
    {"PUT /v1/acl/auth-method/*", "nomad.acl.upsert_auth_methods"},
    {"DELETE /v1/acl/auth-method/*", "nomad.acl.delete_auth_methods_by_name"},
    {"GET /v1/acl/binding-rules", "nomad.acl.list_binding_rules"},
    {"PUT /v1/acl/binding-rule", "nomad.acl.upsert_binding_rules"},
    {"GET /v1/acl/binding-rule/*", "nomad.acl.get_binding_rule"},
    {"PUT /v1/acl/binding-rule/*", "nomad.acl.upsert_binding_rules"},
    {"DELETE /v1/acl/binding-rule/*", "nomad.acl.delete_binding_rules"},
    {"PUT /v1/acl/oidc/auth-url", "nomad.acl.oidc_auth_url"},
    {"PUT /v1/acl/oidc/complete-auth", "nomad.acl.oidc_complete_auth"},
    {"PUT /v1/acl/login", "nomad.acl.login"},
    {"GET /v1/acl/whoami", "nomad.acl.whoami"},
    {"GET /v1/operator/keyring/keys", "nomad.keyring.list"},
    {"PUT /v1/operator/keyring/rotate", "nomad.keyring.rotate"},
    {"DELETE /v1/operator/keyring/key/*", "nomad.keyring.delete"},
};

}  // namespace

std::string_view metric_of(std::string_view operation) {
  const auto* found = std::ranges::find(measured, operation,
                                        &std::pair<std::string_view, std::string_view>::first);
  return found != std::end(measured) ? found->second : std::string_view{};
}

std::string call_counter_of(std::string_view operation, std::string_view metric) {
  const auto begin = metric.find('.') + 1;
  const auto end = metric.find('.', begin);
  auto endpoint = metric.substr(begin, end - begin);
  if (endpoint == "client") endpoint = "node";
  if (endpoint == "job_summary") endpoint = "job";
  const bool reads = operation.starts_with("GET ");
  const bool lists = metric.substr(end).find("list") != std::string_view::npos;
  return "nomad.rpc." + std::string{endpoint} + (!reads ? ".write" : lists ? ".list" : ".read");
}

std::span<const std::pair<std::string_view, std::string_view>> measured_operations() {
  return measured;
}

}  // namespace nomad::api
