#include "actors/api/openapi/operation_table.hpp"

#include "schema/acl.capnp.h"
#include "schema/admission.capnp.h"
#include "schema/alloc.capnp.h"
#include "schema/deployment.capnp.h"
#include "schema/eval.capnp.h"
#include "schema/job.capnp.h"
#include "schema/node.capnp.h"
#include "schema/operator.capnp.h"
#include "schema/quota.capnp.h"
#include "schema/scaling.capnp.h"
#include "schema/service.capnp.h"
#include "schema/variable.capnp.h"

namespace nomad::api::openapi {
namespace {

template <class T>
capnp::StructSchema schema_of() {
  return capnp::Schema::from<T>();
}

template <class T>
constexpr Body object_of{Form::object, schema_of<T>};
template <class T>
constexpr Body list_of{Form::list, schema_of<T>};

template <class T>
constexpr Body member_of(std::string_view name) {
  return {Form::member, schema_of<T>, name};
}

constexpr Body any{};
constexpr Body any_list{Form::list};
constexpr Body any_object{Form::object};
constexpr Body text{Form::text};
constexpr Body lines{Form::lines};
constexpr Body bytes{Form::bytes};
constexpr Body nothing{Form::nothing};
constexpr Body no_content{Form::no_content};
constexpr Body unsupported{Form::unsupported};

constexpr Body typed(std::string_view types) {
  return {Form::typed, nullptr, {}, types};
}

constexpr std::string_view json_or_text = "application/json text/plain";
constexpr bool paged = true;
constexpr bool put_alone = true;

constexpr Row all_rows[] = {
    // Jobs.
    {"GET /v1/jobs", "meta", any_list, {}, paged},
    {"PUT /v1/jobs", "", any_object, member_of<schema::Job>("Job")},
    {"GET /v1/jobs/statuses", "include_children", any_list, {}, paged},
    {"PUT /v1/jobs/statuses", "include_children", any_list, any_object, paged},
    {"PUT /v1/jobs/parse", "", any_object, any_object},
    {"PUT /v1/validate/job", "", any_object, member_of<schema::Job>("Job")},
    {"GET /v1/job/*", "", object_of<schema::Job>},
    {"PUT /v1/job/*", "", any_object, member_of<schema::Job>("Job")},
    {"DELETE /v1/job/*", "purge global eval_priority no_shutdown_delay", any_object},
    {"GET /v1/job/*/allocations", "all", any_list, {}, paged},
    {"GET /v1/job/*/evaluations", "", list_of<schema::Evaluation>, {}, paged},
    {"GET /v1/job/*/summary", "", any_object},
    {"GET /v1/job/*/versions", "diffs diff_tag diff_version", any_object},
    {"PUT /v1/job/*/tag", "", any_object, any_object},
    {"DELETE /v1/job/*/tag", "", any_object},
    {"GET /v1/job/*/actions", "", any_list},
    {"GET /v1/job/*/explain", "group node alloc", any_object},
    {"GET /v1/job/*/capacity", "group", any_object},
    {"ANY /v1/job/*/action", "action allocID group task tty ws_handshake", any},
    {"GET /v1/job/*/deployments", "all", list_of<schema::Deployment>, {}, paged},
    {"GET /v1/job/*/deployment", "all", any},
    {"GET /v1/job/*/services", "", any},
    {"GET /v1/job/*/submission", "version", object_of<schema::JobSubmission>},
    {"GET /v1/job/*/logs", "task type since tail origin grep follow ws_handshake", lines},
    {"GET /v1/job/*/scale", "", any_object},
    {"PUT /v1/job/*/scale", "", any_object, any_object},
    {"PUT /v1/job/*/plan", "", any_object, member_of<schema::Job>("Job")},
    {"PUT /v1/job/*/evaluate", "", any_object, any_object},
    {"PUT /v1/job/*/revert", "", any_object, any_object},
    {"PUT /v1/job/*/stable", "", any_object, any_object},
    {"PUT /v1/job/*/dispatch", "idempotency_token", any_object, any_object},
    {"PUT /v1/job/*/periodic/force", "", any_object},
    // Allocations, evaluations, deployments.
    {"GET /v1/allocations", "resources task_states", any_list, {}, paged},
    {"GET /v1/allocation/*", "", object_of<schema::Allocation>},
    {"GET /v1/allocation/*/services", "", list_of<schema::ServiceRegistration>},
    {"PUT /v1/allocation/*/stop", "no_shutdown_delay", any_object},
    {"GET /v1/evaluations", "job status", list_of<schema::Evaluation>, {}, paged},
    {"GET /v1/evaluations/count", "job status", any_object},
    {"DELETE /v1/evaluations", "", any_object, any_object},
    {"GET /v1/evaluation/*", "related", object_of<schema::Evaluation>},
    {"GET /v1/evaluation/*/allocations", "", any_list},
    {"GET /v1/deployments", "", list_of<schema::Deployment>, {}, paged},
    {"GET /v1/deployment/*", "", object_of<schema::Deployment>},
    {"GET /v1/deployment/allocations/*", "", any_list},
    {"PUT /v1/deployment/pause/*", "", any_object, any_object},
    {"PUT /v1/deployment/promote/*", "", any_object, any_object},
    {"PUT /v1/deployment/allocation-health/*", "", any_object, any_object},
    // What tasks have and do.
    {"ANY /v1/client/allocation/*/exec", "task command tty ws_handshake", any},
    {"ANY /v1/client/allocation/*/restart", "", any, any_object},
    {"PUT /v1/client/allocation/*/signal", "", any, any_object},
    {"GET /v1/client/allocation/*/pause", "task", any_object},
    {"PUT /v1/client/allocation/*/pause", "", any_object, any_object},
    {"ANY /v1/client/allocation/*/stats", "task", any_object},
    {"GET /v1/client/allocation/*/snapshot", "", typed("application/x-tar")},
    {"GET /v1/client/fs/ls/*", "path per_page next_token", any_list},
    {"GET /v1/client/fs/stat/*", "path", any_object},
    {"GET /v1/client/fs/cat/*", "path", typed("*/*")},
    {"GET /v1/client/fs/readat/*", "path offset limit", typed("*/*")},
    {"GET /v1/client/fs/stream/*", "path offset origin follow", text},
    {"GET /v1/client/fs/logs/*", "task type offset origin follow plain", typed(json_or_text)},
    {"GET /v1/client/fs/lines/*", "task type since tail origin grep follow begun", lines},
    {"ANY /v1/client/stats", "node_id", any_object},
    {"ANY /v1/client/gc", "node_id", nothing},
    {"ANY /v1/client/allocation/*/gc", "", nothing},
    {"GET /v1/client/metrics/history", "node_id alloc_id task", any_list},
    {"GET /v1/client/metadata", "node_id", any_object},
    {"PUT /v1/client/metadata", "node_id", any_object, any_object},
    // Nodes and places.
    {"GET /v1/nodes", "os resources", any_list, {}, paged},
    {"GET /v1/node/*", "", object_of<schema::Node>},
    {"GET /v1/node/*/allocations", "", any_list},
    {"PUT /v1/node/*/drain", "", any_object, any_object},
    {"PUT /v1/node/*/eligibility", "", any_object, any_object},
    {"GET /v1/node/pools", "", list_of<schema::NodePool>, {}, paged},
    {"PUT /v1/node/pools", "", nothing, object_of<schema::NodePool>},
    {"GET /v1/node/pool/*", "", object_of<schema::NodePool>},
    {"PUT /v1/node/pool/*", "", nothing, object_of<schema::NodePool>},
    {"DELETE /v1/node/pool/*", "", nothing},
    {"GET /v1/node/pool/*/nodes", "os resources", any_list, {}, paged},
    {"GET /v1/node/pool/*/jobs", "", any_list, {}, paged},
    {"GET /v1/namespaces", "", list_of<schema::Namespace>, {}, paged},
    {"PUT /v1/namespace", "", nothing, object_of<schema::Namespace>},
    {"GET /v1/namespace/*", "", object_of<schema::Namespace>},
    {"PUT /v1/namespace/*", "", nothing, object_of<schema::Namespace>},
    {"DELETE /v1/namespace/*", "", nothing},
    {"GET /v1/quotas", "", list_of<schema::QuotaSpec>, {}, paged},
    {"PUT /v1/quota", "", nothing, object_of<schema::QuotaSpec>},
    {"GET /v1/quota/*", "", object_of<schema::QuotaSpec>},
    {"PUT /v1/quota/*", "", nothing, object_of<schema::QuotaSpec>},
    {"DELETE /v1/quota/*", "", nothing},
    {"GET /v1/quota-usages", "", list_of<schema::QuotaUsage>, {}, paged},
    {"GET /v1/quota/usage/*", "", object_of<schema::QuotaUsage>},
    {"GET /v1/services", "", any_list, {}, paged},
    {"GET /v1/service/*", "choose", list_of<schema::ServiceRegistration>, {}, paged},
    {"DELETE /v1/service/*", "", nothing},
    {"GET /v1/scaling/policies", "job type", any_list},
    {"GET /v1/scaling/policy/*", "", any_object},
    {"GET /v1/vars", "", list_of<schema::Variable>, {}, paged},
    {"GET /v1/var/*", "", object_of<schema::Variable>},
    {"PUT /v1/var/*", "cas lock-operation", object_of<schema::Variable>, any_object, !paged,
     !put_alone, object_of<schema::Variable>},
    {"DELETE /v1/var/*", "cas", no_content, {}, !paged, !put_alone, object_of<schema::Variable>},
    {"GET /v1/volumes", "type plugin_id node_id", any_list, {}, paged},
    {"GET /v1/volumes/external", "plugin_id", any_object, {}, paged},
    {"GET /v1/volumes/snapshot", "plugin_id", any_object, {}, paged},
    {"PUT /v1/volumes/snapshot", "", any_object, any_object},
    {"DELETE /v1/volumes/snapshot", "plugin_id snapshot_id", nothing},
    {"PUT /v1/volumes", "", nothing, any_object},
    {"PUT /v1/volume/csi/*", "", nothing, any_object},
    {"PUT /v1/volume/csi/*/create", "", any_object, any_object},
    {"DELETE /v1/volume/csi/*", "force", nothing},
    {"DELETE /v1/volume/csi/*/delete", "", nothing},
    {"DELETE /v1/volume/csi/*/detach", "node", nothing},
    {"GET /v1/plugins", "type", any_list},
    {"PUT /v1/search", "", any_object, any_object},
    {"PUT /v1/search/fuzzy", "", any_object, any_object},
    // Access.
    {"GET /v1/acl/policies", "", any_list, {}, paged},
    {"GET /v1/acl/policy/*", "", object_of<schema::AclPolicy>},
    {"PUT /v1/acl/policy/*", "", nothing, object_of<schema::AclPolicy>},
    {"DELETE /v1/acl/policy/*", "", nothing},
    {"GET /v1/acl/tokens", "global", list_of<schema::AclToken>, {}, paged},
    {"GET /v1/acl/token/*", "", object_of<schema::AclToken>},
    {"GET /v1/acl/token/self", "", object_of<schema::AclToken>},
    {"PUT /v1/acl/token", "", object_of<schema::AclToken>, object_of<schema::AclToken>},
    {"PUT /v1/acl/token/*", "", object_of<schema::AclToken>, object_of<schema::AclToken>},
    {"DELETE /v1/acl/token/*", "", nothing},
    {"PUT /v1/acl/bootstrap", "", object_of<schema::AclToken>, any_object},
    {"PUT /v1/acl/login", "", object_of<schema::AclToken>, any_object},
    {"PUT /v1/acl/token/onetime/exchange", "", any_object, any_object},
    {"PUT /v1/acl/oidc/auth-url", "", any_object, any_object},
    {"PUT /v1/acl/oidc/complete-auth", "", object_of<schema::AclToken>, any_object},
    {"GET /v1/acl/roles", "", any_list, {}, paged},
    {"GET /v1/acl/role/*", "", object_of<schema::AclRole>},
    {"PUT /v1/acl/role", "", object_of<schema::AclRole>, object_of<schema::AclRole>},
    {"PUT /v1/acl/role/*", "", object_of<schema::AclRole>, object_of<schema::AclRole>},
    {"DELETE /v1/acl/role/*", "", nothing},
    {"GET /v1/acl/auth-methods", "", any_list, {}, paged},
    {"GET /v1/acl/auth-method/*", "", object_of<schema::AclAuthMethod>},
    {"PUT /v1/acl/auth-method", "", any, object_of<schema::AclAuthMethod>},
    {"PUT /v1/acl/auth-method/*", "", any, object_of<schema::AclAuthMethod>},
    {"DELETE /v1/acl/auth-method/*", "", nothing},
    {"GET /v1/acl/binding-rules", "", any_list, {}, paged},
    {"GET /v1/acl/binding-rule/*", "", object_of<schema::AclBindingRule>},
    {"PUT /v1/acl/binding-rule", "", any, object_of<schema::AclBindingRule>},
    {"PUT /v1/acl/binding-rule/*", "", any, object_of<schema::AclBindingRule>},
    {"DELETE /v1/acl/binding-rule/*", "", nothing},
    {"GET /v1/acl/explain", "accessor capability namespace path node_pool host_volume plugin",
     any_object},
    {"GET /v1/sentinel/policies", "", any_list, {}, paged},
    {"GET /v1/sentinel/policy/*", "", object_of<schema::AdmissionPolicy>},
    {"PUT /v1/sentinel/policy/*", "", nothing, object_of<schema::AdmissionPolicy>},
    {"DELETE /v1/sentinel/policy/*", "", nothing},
    // Agents and operators.
    {"PUT /v1/agent/servers", "address", nothing},
    {"PUT /v1/agent/join", "address", any_object},
    {"PUT /v1/agent/force-leave", "node prune", nothing},
    {"GET /v1/agent/actors", "node_id server_id", any_list},
    {"GET /v1/agent/host", "node_id server_id", any_object},
    {"GET /v1/agent/monitor", "log_level log_json plain node_id server_id", typed(json_or_text)},
    {"GET /v1/agent/pprof/cmdline", "node_id server_id", text},
    {"GET /v1/agent/pprof/heap", "node_id server_id", bytes},
    {"GET /v1/agent/pprof/allocs", "node_id server_id", bytes},
    {"GET /v1/agent/pprof/profile", "seconds node_id server_id", bytes},
    {"GET /v1/event/stream", "topic index ws_handshake", typed("application/json")},
    {"GET /v1/metrics", "format", typed(json_or_text)},
    {"PUT /v1/operator/scheduler/configuration", "cas", any_object,
     object_of<schema::SchedulerConfiguration>},
    {"GET /v1/operator/autopilot/configuration", "", object_of<schema::AutopilotConfiguration>},
    {"PUT /v1/operator/autopilot/configuration", "cas", any,
     object_of<schema::AutopilotConfiguration>, !paged, put_alone},
    {"PUT /v1/operator/license", "", unsupported, {}, !paged, put_alone},
    {"GET /v1/operator/license", "", no_content},
    {"ANY /v1/recommendation", "", unsupported},
    {"ANY /v1/recommendation/*", "", unsupported},
    {"ANY /v1/recommendations", "", unsupported},
    {"ANY /v1/recommendations/apply", "", unsupported},
    {"PUT /v1/system/gc", "", nothing, {}, !paged, put_alone},
    {"PUT /v1/system/reconcile/summaries", "", nothing, {}, !paged, put_alone},
    {"GET /v1/operator/decisions", "eval reserves", any},
    {"DELETE /v1/operator/raft/peer", "id address", nothing},
    {"PUT /v1/operator/raft/transfer-leadership", "id address", nothing},
    {"GET /v1/operator/snapshot", "", typed("application/x-gzip")},
    {"PUT /v1/operator/snapshot", "", nothing, bytes},
    {"DELETE /v1/operator/keyring/key/*", "force", any},
    {"PUT /v1/operator/keyring/rotate", "algo full publish_time", any_object},
};

}  // namespace

std::span<const Row> rows() {
  return all_rows;
}

}  // namespace nomad::api::openapi
