// Defaults and inheritance of the api form. A default that stands for itself is an annotation of
// its field; here is what depends on other fields, and what is inherited. One function per block
// that has such rules, called from the outside in; a group's own policies are finished before its
// tasks, because tasks inherit from the finished ones. Last come the annotated defaults of all
// blocks.
#include "runtime/jobspec/canonical/canonicalize.hpp"

#include <algorithm>

#include <boost/json/value.hpp>

#include "runtime/base/text.hpp"
#include "runtime/jobspec/schema.hpp"
#include "runtime/jobspec/tree.hpp"
#include "runtime/object/disconnect.hpp"
#include "runtime/text/strings.hpp"

namespace nomad::jobspec {

namespace {

using namespace std::chrono_literals;

void set_fallback(DraftBlock& block, const Field& field) {
  const boost::json::value& fallback = *field.fallback;
  if (fallback.is_string())
    block.set(*field.plan, tree::text_of(fallback));
  else
    block.set(*field.plan, fallback.is_bool() ? fallback.get_bool() : tree::number_of(fallback));
}

/// The block's own annotated defaults.
void fill_own(DraftBlock block, const BlockType& type) {
  if (!type.has_fallbacks) return;
  for (const Field& field : type.fields) {
    if (field.fallback == nullptr) continue;
    const bool is_missing
        = field.has(Trait::nullable) ? !block.has(*field.plan) : block.is_zero(*field.plan);
    if (is_missing) set_fallback(block, field);
  }
}

/// The same for all blocks below too. What only requests have is merged elsewhere as it is.
void fill_all(const DraftBlock& block, const BlockType& type) {
  if (!type.has_fallbacks) return;
  fill_own(block, type);
  for (const Field& field : type.fields) {
    if (field.block == nullptr || !field.block->has_fallbacks || field.has(Trait::api_only)
        || !block.has(*field.plan))
      continue;
    if (field.kind == Kind::block) {
      fill_all(block.child(*field.plan), *field.block);
      continue;
    }
    for (const DraftBlock element : block.list(*field.plan))
      fill_all(field.kind == Kind::block_map ? element.child("Value") : element, *field.block);
  }
}

void fill_multiregion(DraftBlock multiregion) {
  multiregion.child_or_new("Strategy");
  multiregion.set_default_list("Regions");
  multiregion.each("Regions", [](DraftBlock& region) {
    region.set_default_list("Datacenters");
    region.set_default_list("Meta");
  });
}

void fill_periodic(DraftBlock periodic) {
  periodic.set_default_list("Specs");
  periodic.set_default_text("TimeZone", "UTC");  // for "" too, though it may be null
}

void fill_reschedule(DraftBlock policy, std::string_view job_type) {
  const bool service = job_type == "service";
  const bool batch = job_type == "batch";
  policy.set_default("Interval", batch ? ns(24h) : 0);
  policy.set_default("Attempts", batch ? 1 : 0);
  policy.set_default("Delay", service ? ns(30s) : batch ? ns(5s) : 0);
  policy.set_default("DelayFunction", service ? "exponential" : batch ? "constant" : "");
  policy.set_default("MaxDelay", service ? ns(1h) : 0);
  policy.set_default("Unlimited", service);
}

void fill_restart(DraftBlock policy, std::string_view job_type) {
  const bool service = job_type == "service" || job_type == "system";
  policy.set_default("Attempts", service ? 2 : 3);
  policy.set_default("Interval", service ? ns(30min) : ns(24h));
  fill_own(policy, block_types().restart);  // before tasks inherit it
}

void fill_resources(DraftBlock resources) {
  if (!resources.has("Cores")) {
    resources.set("Cores", 0);
    resources.set_default("CPU", 100);
  }
  resources.set_default("CPU", 0);
}

/// "local" joined with a single path element.
std::string under_local(std::string_view element) {
  if (element == "." || element == "/") return "local";
  if (element == "..") return ".";
  return "local/" + std::string{element};
}

void fill_artifact(DraftBlock artifact) {
  artifact.null_if_empty({"GetterOptions", "GetterHeaders"});
  if (artifact.has("RelativeDest")) return;
  artifact.set("RelativeDest", artifact.text("GetterMode") == "file"
                                   ? under_local(base_name(artifact.text("GetterSource")))
                                   : std::string{"local/"});
}

void fill_template(DraftBlock tmpl) {
  fill_own(tmpl, block_types().tmpl);
  if (tmpl.has("ChangeSignal"))
    tmpl.set("ChangeSignal", to_upper(tmpl.text("ChangeSignal")));
  else
    tmpl.set("ChangeSignal", tmpl.text("ChangeMode") == "signal" ? "SIGHUP" : "");
  if (DraftBlock script = tmpl.child("ChangeScript")) script.set_default_list("Args");
}

void fill_sidecar_task(DraftBlock task) {
  task.null_if_empty({"Config", "Env", "Meta"});
  fill_resources(task.child_or_new("Resources"));
  task.child_or_new("LogConfig");
}

void fill_proxy(DraftBlock proxy) {
  if (DraftBlock expose = proxy.child("Expose")) expose.null_if_empty({"Paths", "Path"});
  proxy.null_if_empty({"Upstreams", "Config"});
  proxy.each("Upstreams", [](DraftBlock& upstream) { upstream.null_if_empty({"Config"}); });
}

void fill_gateway(const DraftBlock& gateway) {
  if (DraftBlock proxy = gateway.child("Proxy"))
    proxy.null_if_empty({"EnvoyGatewayBindAddresses", "Config"});
  if (DraftBlock ingress = gateway.child("Ingress")) {
    ingress.null_if_empty({"Listeners"});
    ingress.each("Listeners", [](DraftBlock& listener) { listener.null_if_empty({"Services"}); });
  }
  if (DraftBlock terminating = gateway.child("Terminating"))
    terminating.null_if_empty({"Services"});
}

void fill_connect(const DraftBlock& connect) {
  if (DraftBlock sidecar = connect.child("SidecarService")) {
    sidecar.null_if_empty({"Tags", "Meta"});
    if (const DraftBlock proxy = sidecar.child("Proxy")) fill_proxy(proxy);
  }
  if (const DraftBlock task = connect.child("SidecarTask")) fill_sidecar_task(task);
  if (const DraftBlock gateway = connect.child("Gateway")) fill_gateway(gateway);
}

/// The service's policy with what the check sets written over it.
void inherit_check_restart(DraftBlock& check, const DraftBlock& service_policy) {
  if (!service_policy) return;
  DraftBlock own = check.child_or_new("CheckRestart");
  if (own.number("Limit") <= 0) own.clear("Limit");
  if (!own.flag("IgnoreWarnings")) own.clear("IgnoreWarnings");
  own.fill_from(service_policy);
}

void fill_check(DraftBlock& check, const DraftBlock& service_policy, std::string_view on_update) {
  inherit_check_restart(check, service_policy);
  if (check.number("SuccessBeforePassing") < 0) check.set("SuccessBeforePassing", 0);
  if (check.number("FailuresBeforeCritical") < 0) check.set("FailuresBeforeCritical", 0);
  check.set_default_text("OnUpdate", on_update);
}

/// Where a service stands: for its default name.
struct Location {
  std::string_view job;
  std::string_view group;
  std::optional<std::string_view> task;  ///< nothing for a group's service
};

void fill_service(DraftBlock service, const Location& location) {
  if (service.text("Name").empty()) {
    std::string name = std::string{location.job} + "-" + std::string{location.group};
    if (location.task) name += "-" + std::string{*location.task};
    service.set("Name", name);
  }
  fill_own(service, block_types().service);  // before its checks inherit OnUpdate
  service.null_if_empty({"Meta", "CanaryMeta", "TaggedAddresses"});
  if (const DraftBlock connect = service.child("Connect")) fill_connect(connect);
  const DraftBlock policy = service.child("CheckRestart");
  const std::string_view on_update = service.text("OnUpdate");
  service.each("Checks", [&](DraftBlock& check) { fill_check(check, policy, on_update); });
}

void fill_task(DraftBlock task, const DraftBlock& group_restart, const Location& location) {
  fill_resources(task.child_or_new("Resources"));
  task.child_or_new("LogConfig");
  task.each("Artifacts", fill_artifact);
  task.each("Templates", fill_template);
  task.each("Services", [&](const DraftBlock& service) { fill_service(service, location); });
  if (const DraftBlock lifecycle = task.child("Lifecycle");
      lifecycle && lifecycle.text("Hook").empty())
    task.clear("Lifecycle");
  task.child_or_new("RestartPolicy").fill_from(group_restart);
}

/// What a group takes from its job. The job is not changed while groups are filled.
struct JobDefaults {
  std::string_view name;
  std::string_view type;
  std::string_view consul_namespace;
  DraftBlock update;
  DraftBlock reschedule;
  DraftBlock migrate;
};

/// The job's policy with the group's written over it; none when neither has one.
DraftBlock inherit(DraftBlock& group, FieldName member, const DraftBlock& from_job) {
  if (!from_job) return group.child(member);
  DraftBlock own = group.child_or_new(member);
  own.fill_from(from_job);
  return own;
}

void fill_group_policies(DraftBlock& group, const JobDefaults& job) {
  const bool use_job = job.update && (group.has("Update") || !job.update.is_zero());
  inherit(group, "Update", use_job ? job.update : DraftBlock{});

  if (!inherit(group, "ReschedulePolicy", job.reschedule) && job.type != "system")
    group.init("ReschedulePolicy");
  if (const DraftBlock policy = group.child("ReschedulePolicy")) fill_reschedule(policy, job.type);

  if (!inherit(group, "Migrate", job.migrate) && job.type == "service") group.init("Migrate");

  fill_restart(group.child_or_new("RestartPolicy"), job.type);
}

void fill_disconnect(DraftBlock disconnect) {
  disconnect.set_default("Replace", true);
  disconnect.set_default_text("Reconcile", reconcile_words.front());
}

void fill_group(DraftBlock group, const JobDefaults& job) {
  DraftBlock scaling = group.child("Scaling");
  if (!group.has("Count") && scaling.has("Min")) group.set("Count", scaling.number("Min"));
  fill_own(group, block_types().group);
  if (scaling) {
    scaling.set_default("Enabled", true);
    scaling.set_default("Min", group.number("Count"));
    scaling.set_default_text("Type", "horizontal");
  }
  group.child_or_new("EphemeralDisk");
  group.child_or_new("Consul").set_default_text("Namespace", job.consul_namespace);
  fill_group_policies(group, job);
  if (const DraftBlock disconnect = group.child("Disconnect")) fill_disconnect(disconnect);

  const std::string_view name = group.text("Name");
  const DraftBlock restart = group.child("RestartPolicy");
  group.each("Tasks", [&](const DraftBlock& task) {
    fill_task(task, restart, {job.name, name, task.text("Name")});
  });
  group.each("Services", [&](const DraftBlock& service) {
    fill_service(service, {job.name, name, std::nullopt});
  });
}

/// What answers show of a job without one: all that is not text is there, and zero. Its text may be
/// left out, and is not the default then.
bool stands_for_none(const DraftBlock& update) {
  return update.is_zero()
         && std::ranges::all_of(block_types().update.fields, [&](const Field& field) {
              return field.kind == Kind::text || update.has(*field.plan);
            });
}

}  // namespace

void canonicalize(DraftBlock job) {
  fill_own(job, block_types().job);
  if (!job.has("Name")) job.set("Name", job.text("ID"));
  if (const DraftBlock periodic = job.child("Periodic")) fill_periodic(periodic);
  if (job.text("Type") == "service") job.child_or_new("Update");
  if (const DraftBlock update = job.child("Update"); update && !stands_for_none(update))
    fill_own(update, block_types().update);
  if (const DraftBlock multiregion = job.child("Multiregion")) fill_multiregion(multiregion);

  const JobDefaults defaults{
      .name = job.text("Name"),
      .type = job.text("Type"),
      .consul_namespace = job.text("ConsulNamespace"),
      .update = job.child("Update"),
      .reschedule = job.child("Reschedule"),
      .migrate = job.child("Migrate"),
  };
  job.each("TaskGroups", [&](const DraftBlock& group) { fill_group(group, defaults); });
  fill_all(job, block_types().job);
}

}  // namespace nomad::jobspec
