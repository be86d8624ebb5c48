// Defaults and inheritance of the api form. One function per block, called from the outside in; a
// group is finished before its tasks, because tasks inherit from the finished group.
#include "runtime/jobspec/canonicalize.hpp"

#include <chrono>

#include <boost/json.hpp>

#include "runtime/base/text.hpp"
#include "runtime/jobspec/schema.hpp"
#include "runtime/jobspec/tree.hpp"

namespace nomad::jobspec {

namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;
using namespace std::chrono_literals;
using tree::each;
using tree::ns;
using tree::set_default;

/// Overwrites members of `base` by those that `over` sets.
void merge(object& base, const object& over) {
  for (const auto& member : over)
    if (!member.value().is_null()) base[member.key()] = member.value();
}

void fill_update(object& update) {
  set_default(update, "MaxParallel", 1);
  set_default(update, "Stagger", ns(30s));
  set_default(update, "HealthCheck", "checks");
  set_default(update, "HealthyDeadline", ns(5min));
  set_default(update, "ProgressDeadline", ns(10min));
  set_default(update, "MinHealthyTime", ns(10s));
  set_default(update, "AutoRevert", false);
  set_default(update, "Canary", 0);
  set_default(update, "AutoPromote", false);
}

bool update_is_empty(const object& update) {
  using namespace tree;
  return number(update, "Stagger") == 0 && number(update, "MaxParallel") == 0
         && text(update, "HealthCheck").empty() && number(update, "MinHealthyTime") == 0
         && number(update, "HealthyDeadline") == 0 && number(update, "ProgressDeadline") == 0
         && !flag(update, "AutoRevert") && !flag(update, "AutoPromote")
         && number(update, "Canary") == 0;
}

void fill_multiregion(object& multiregion) {
  set_default(multiregion, "Strategy", object{});
  if (object* strategy = tree::child(multiregion, "Strategy")) {
    set_default(*strategy, "MaxParallel", 0);
    set_default(*strategy, "OnFailure", "");
  }
  set_default(multiregion, "Regions", array{});
  each(multiregion, "Regions", [](object& region) {
    set_default(region, "Count", 1);
    set_default(region, "Datacenters", array{});
    set_default(region, "Meta", object{});
  });
}

void fill_periodic(object& periodic) {
  set_default(periodic, "Enabled", true);
  set_default(periodic, "Spec", "");
  set_default(periodic, "Specs", array{});
  set_default(periodic, "SpecType", "cron");
  set_default(periodic, "ProhibitOverlap", false);
  tree::set_default_text(periodic, "TimeZone", "UTC");
}

void fill_weights(object& in, std::string_view list) {
  each(in, list, [](object& item) { set_default(item, "Weight", 50); });
}

void fill_reschedule(object& policy, std::string_view job_type) {
  const bool service = job_type == "service";
  const bool batch = job_type == "batch";
  set_default(policy, "Interval", batch ? ns(24h) : 0);
  set_default(policy, "Attempts", batch ? 1 : 0);
  set_default(policy, "Delay", service ? ns(30s) : batch ? ns(5s) : 0);
  set_default(policy, "DelayFunction", service ? "exponential" : batch ? "constant" : "");
  set_default(policy, "MaxDelay", service ? ns(1h) : 0);
  set_default(policy, "Unlimited", service);
}

void fill_migrate(object& migrate) {
  set_default(migrate, "MaxParallel", 1);
  set_default(migrate, "HealthCheck", "checks");
  set_default(migrate, "MinHealthyTime", ns(10s));
  set_default(migrate, "HealthyDeadline", ns(5min));
}

void fill_restart(object& policy, std::string_view job_type) {
  const bool service = job_type == "service" || job_type == "system";
  set_default(policy, "Delay", ns(15s));
  set_default(policy, "Attempts", service ? 2 : 3);
  set_default(policy, "Interval", service ? ns(30min) : ns(24h));
  set_default(policy, "Mode", "fail");
  set_default(policy, "RenderTemplates", false);
}

void fill_disk(object& disk) {
  set_default(disk, "Sticky", false);
  set_default(disk, "Migrate", false);
  set_default(disk, "SizeMB", 300);
}

void fill_resources(object& resources) {
  if (tree::find(resources, "Cores") == nullptr) {
    resources["Cores"] = 0;
    set_default(resources, "CPU", 100);
  }
  set_default(resources, "CPU", 0);
  set_default(resources, "MemoryMB", 300);
  each(resources, "Devices", [](object& device) {
    set_default(device, "Count", 1);
    fill_weights(device, "Affinities");
  });
}

void fill_logs(object& logs) {
  set_default(logs, "MaxFiles", 10);
  set_default(logs, "MaxFileSizeMB", 10);
  set_default(logs, "Disabled", false);
}

/// The last element of a slash-separated path, as Go's path.Base has it.
std::string_view base_name(std::string_view path) {
  if (path.empty()) return ".";
  while (path.size() > 1 && path.back() == '/')
    path.remove_suffix(1);
  if (path == "/") return path;
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// "local" joined with a single path element.
std::string under_local(std::string_view element) {
  if (element == "." || element == "/") return "local";
  if (element == "..") return ".";
  return "local/" + std::string{element};
}

void fill_artifact(object& artifact) {
  set_default(artifact, "GetterMode", "any");
  set_default(artifact, "GetterSource", "");
  tree::null_if_empty(artifact, "GetterOptions");
  tree::null_if_empty(artifact, "GetterHeaders");
  if (tree::find(artifact, "RelativeDest") != nullptr) return;
  artifact["RelativeDest"] = tree::text(artifact, "GetterMode") == "file"
                                 ? under_local(base_name(tree::text(artifact, "GetterSource")))
                                 : std::string{"local/"};
}

void upper_case(boost::json::string& text) {
  for (char& c : text)
    c = to_upper(c);
}

void fill_template(object& tmpl) {
  set_default(tmpl, "SourcePath", "");
  set_default(tmpl, "DestPath", "");
  set_default(tmpl, "EmbeddedTmpl", "");
  set_default(tmpl, "ChangeMode", "restart");
  if (value* signal = tree::find(tmpl, "ChangeSignal"))
    upper_case(signal->get_string());
  else
    tmpl["ChangeSignal"] = tree::text(tmpl, "ChangeMode") == "signal" ? "SIGHUP" : "";
  if (object* script = tree::child(tmpl, "ChangeScript")) {
    set_default(*script, "Command", "");
    set_default(*script, "Args", array{});
    set_default(*script, "Timeout", ns(5s));
    set_default(*script, "FailOnError", false);
  }
  set_default(tmpl, "Splay", ns(5s));
  set_default(tmpl, "Perms", "0644");
  set_default(tmpl, "LeftDelim", "{{");
  set_default(tmpl, "RightDelim", "}}");
  set_default(tmpl, "Envvars", false);
  set_default(tmpl, "ErrMissingKey", false);
  set_default(tmpl, "VaultGrace", 0);
}

void fill_vault(object& vault) {
  set_default(vault, "Env", true);
  set_default(vault, "DisableFile", false);
  set_default(vault, "Namespace", "");
  set_default(vault, "ChangeMode", "restart");
  set_default(vault, "ChangeSignal", "SIGHUP");
}

void fill_sidecar_task(object& task) {
  for (const std::string_view name : {"Config", "Env", "Meta"})
    tree::null_if_empty(task, name);
  set_default(task, "Resources", object{});
  if (object* resources = tree::child(task, "Resources")) fill_resources(*resources);
  set_default(task, "LogConfig", object{});
  if (object* logs = tree::child(task, "LogConfig")) fill_logs(*logs);
  set_default(task, "KillTimeout", ns(5s));
  set_default(task, "ShutdownDelay", 0);
}

void fill_proxy(object& proxy) {
  if (object* expose = tree::child(proxy, "Expose")) {
    tree::null_if_empty(*expose, "Paths");
    tree::null_if_empty(*expose, "Path");
  }
  tree::null_if_empty(proxy, "Upstreams");
  each(proxy, "Upstreams", [](object& upstream) { tree::null_if_empty(upstream, "Config"); });
  tree::null_if_empty(proxy, "Config");
}

void fill_gateway(object& gateway) {
  if (object* proxy = tree::child(gateway, "Proxy")) {
    set_default(*proxy, "ConnectTimeout", ns(5s));
    tree::null_if_empty(*proxy, "EnvoyGatewayBindAddresses");
    tree::null_if_empty(*proxy, "Config");
  }
  if (object* ingress = tree::child(gateway, "Ingress")) {
    tree::null_if_empty(*ingress, "Listeners");
    each(*ingress, "Listeners", [](object& listener) {
      tree::set_default_text(listener, "Protocol", "tcp");
      tree::null_if_empty(listener, "Services");
    });
  }
  if (object* terminating = tree::child(gateway, "Terminating"))
    tree::null_if_empty(*terminating, "Services");
}

void fill_connect(object& connect) {
  if (object* sidecar = tree::child(connect, "SidecarService")) {
    tree::null_if_empty(*sidecar, "Tags");
    tree::null_if_empty(*sidecar, "Meta");
    if (object* proxy = tree::child(*sidecar, "Proxy")) fill_proxy(*proxy);
  }
  if (object* task = tree::child(connect, "SidecarTask")) fill_sidecar_task(*task);
  if (object* gateway = tree::child(connect, "Gateway")) fill_gateway(*gateway);
}

/// The service's policy with what the check sets written over it.
void inherit_check_restart(object& check, const object* service_policy) {
  object* own = tree::child(check, "CheckRestart");
  if (service_policy != nullptr) {
    object merged = *service_policy;
    if (own != nullptr) {
      if (tree::number(*own, "Limit") > 0) merged["Limit"] = own->at("Limit");
      if (const value* grace = tree::find(*own, "Grace")) merged["Grace"] = *grace;
      if (tree::flag(*own, "IgnoreWarnings")) merged["IgnoreWarnings"] = true;
    }
    value& slot = check["CheckRestart"];
    slot = std::move(merged);
    own = &slot.get_object();
  }
  if (own != nullptr) set_default(*own, "Grace", ns(1s));
}

void fill_check(object& check, const object* service_policy, std::string_view on_update) {
  inherit_check_restart(check, service_policy);
  for (const std::string_view name : {"SuccessBeforePassing", "FailuresBeforeCritical"})
    if (tree::number(check, name) < 0) check[name] = 0;
  tree::set_default_text(check, "OnUpdate", on_update);
}

/// Where a service stands: for its default name.
struct Place {
  std::string_view job;
  std::string_view group;
  const std::string* task;  ///< null for a group's service
};

void fill_service(object& service, const Place& place) {
  if (tree::text(service, "Name").empty()) {
    std::string name = std::string{place.job} + "-" + std::string{place.group};
    if (place.task != nullptr) name += "-" + *place.task;
    service["Name"] = name;
  }
  tree::set_default_text(service, "AddressMode", "auto");
  tree::set_default_text(service, "OnUpdate", "require_healthy");
  tree::set_default_text(service, "Provider", "consul");
  for (const std::string_view name : {"Meta", "CanaryMeta", "TaggedAddresses"})
    tree::null_if_empty(service, name);
  if (object* connect = tree::child(service, "Connect")) fill_connect(*connect);
  const object* policy = tree::child(service, "CheckRestart");
  const std::string_view on_update = tree::text(service, "OnUpdate");
  each(service, "Checks", [&](object& check) { fill_check(check, policy, on_update); });
}

void fill_csi_plugin(object& plugin) {
  tree::set_default_text(plugin, "MountDir", "/csi");
  tree::set_default_text(plugin, "StagePublishBaseDir", "/local/csi");
  if (tree::number(plugin, "HealthTimeout") == 0) plugin["HealthTimeout"] = ns(30s);
}

void fill_task(object& task, const object& group_restart, const Place& place) {
  set_default(task, "Resources", object{});
  if (object* resources = tree::child(task, "Resources")) fill_resources(*resources);
  set_default(task, "KillTimeout", ns(5s));
  set_default(task, "LogConfig", object{});
  if (object* logs = tree::child(task, "LogConfig")) fill_logs(*logs);
  each(task, "Artifacts", fill_artifact);
  if (object* vault = tree::child(task, "Vault")) fill_vault(*vault);
  each(task, "Templates", fill_template);
  each(task, "Services", [&](object& service) { fill_service(service, place); });
  fill_weights(task, "Affinities");
  each(task, "VolumeMounts", [](object& mount) {
    set_default(mount, "PropagationMode", "private");
    set_default(mount, "ReadOnly", false);
  });
  if (object* lifecycle = tree::child(task, "Lifecycle");
      lifecycle != nullptr && tree::text(*lifecycle, "Hook").empty())
    task["Lifecycle"] = nullptr;
  if (object* plugin = tree::child(task, "CSIPluginConfig")) fill_csi_plugin(*plugin);
  object restart = group_restart;
  if (const object* own = tree::child(task, "RestartPolicy")) merge(restart, *own);
  task["RestartPolicy"] = std::move(restart);
}

/// What a group takes from its job, by reference: the job is not changed while groups are filled.
struct JobDefaults {
  std::string_view name;
  std::string_view type;
  std::string_view consul_namespace;
  const object* update;
  const object* reschedule;
  const object* migrate;
};

/// The job's policy with the group's written over it; nothing when neither has one.
object* inherit(object& group, std::string_view member, const object* from_job) {
  if (from_job == nullptr) return tree::child(group, member);
  object merged = *from_job;
  if (const object* own = tree::child(group, member)) merge(merged, *own);
  value& slot = group[member];
  slot = std::move(merged);
  return &slot.get_object();
}

void fill_group_policies(object& group, const JobDefaults& job) {
  const bool own_update = tree::child(group, "Update") != nullptr;
  const bool use_job = job.update != nullptr && (own_update || !update_is_empty(*job.update));
  if (object* update = inherit(group, "Update", use_job ? job.update : nullptr))
    fill_update(*update);

  if (inherit(group, "ReschedulePolicy", job.reschedule) == nullptr && job.type != "system")
    group["ReschedulePolicy"] = object{};
  if (object* policy = tree::child(group, "ReschedulePolicy")) fill_reschedule(*policy, job.type);

  if (inherit(group, "Migrate", job.migrate) == nullptr && job.type == "service")
    group["Migrate"] = object{};
  if (object* migrate = tree::child(group, "Migrate")) fill_migrate(*migrate);

  set_default(group, "RestartPolicy", object{});
  if (object* restart = tree::child(group, "RestartPolicy")) fill_restart(*restart, job.type);
}

void fill_group(object& group, const JobDefaults& job) {
  set_default(group, "Name", "");
  if (object* scaling = tree::child(group, "Scaling")) {
    if (tree::find(group, "Count") == nullptr)
      if (const value* least = tree::find(*scaling, "Min")) group["Count"] = *least;
  }
  set_default(group, "Count", 1);
  const std::int64_t count = tree::number(group, "Count");
  if (object* scaling = tree::child(group, "Scaling")) {
    set_default(*scaling, "Enabled", true);
    set_default(*scaling, "Min", count);
    tree::set_default_text(*scaling, "Type", "horizontal");
  }
  set_default(group, "EphemeralDisk", object{});
  if (object* disk = tree::child(group, "EphemeralDisk")) fill_disk(*disk);
  set_default(group, "Consul", object{});
  if (object* consul = tree::child(group, "Consul"))
    tree::set_default_text(*consul, "Namespace", job.consul_namespace);
  fill_group_policies(group, job);

  const std::string name{tree::text(group, "Name")};
  const object restart = *tree::child(group, "RestartPolicy");
  each(group, "Tasks", [&](object& task) {
    const std::string task_name{tree::text(task, "Name")};
    fill_task(task, restart, {job.name, name, &task_name});
  });
  fill_weights(group, "Spreads");
  fill_weights(group, "Affinities");
  each(group, "Services", [&](object& service) {
    fill_service(service, {job.name, name, nullptr});
  });
}

void fill_job_scalars(object& job) {
  set_default(job, "ID", "");
  if (tree::find(job, "Name") == nullptr) job["Name"] = std::string{tree::text(job, "ID")};
  set_default(job, "Namespace", "default");
  set_default(job, "Priority", 50);
  set_default(job, "Region", "global");
  set_default(job, "Type", "service");
  for (const std::string_view name :
       {"ParentID", "NodePool", "ConsulToken", "ConsulNamespace", "VaultToken", "VaultNamespace",
        "NomadTokenID", "Status", "StatusDescription"})
    set_default(job, name, "");
  for (const std::string_view name : {"Stop", "AllAtOnce", "Stable"})
    set_default(job, name, false);
  for (const std::string_view name : {"Version", "CreateIndex", "ModifyIndex", "JobModifyIndex"})
    set_default(job, name, 0);
}

}  // namespace

void canonicalize(object& job) {
  job.reserve(job.size() + 24);
  fill_job_scalars(job);
  if (object* periodic = tree::child(job, "Periodic")) fill_periodic(*periodic);
  if (tree::text(job, "Type") == "service") set_default(job, "Update", object{});
  if (object* update = tree::child(job, "Update")) fill_update(*update);
  if (object* multiregion = tree::child(job, "Multiregion")) fill_multiregion(*multiregion);

  const JobDefaults defaults{
      .name = tree::text(job, "Name"),
      .type = tree::text(job, "Type"),
      .consul_namespace = tree::text(job, "ConsulNamespace"),
      .update = tree::child(job, "Update"),
      .reschedule = tree::child(job, "Reschedule"),
      .migrate = tree::child(job, "Migrate"),
  };
  each(job, "TaskGroups", [&](object& group) { fill_group(group, defaults); });
  fill_weights(job, "Spreads");
  fill_weights(job, "Affinities");
}

}  // namespace nomad::jobspec
