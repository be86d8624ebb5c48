// From the canonical api form to what servers store: members that only clients have go, names are
// interpolated, checks get names and tasks, ports their host network.
#include <algorithm>

#include <boost/json.hpp>

#include "runtime/base/text.hpp"
#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/jobspec/canonical/complete.hpp"
#include "runtime/jobspec/canonical/interpolation.hpp"
#include "runtime/jobspec/schema.hpp"
#include "runtime/jobspec/tree.hpp"

namespace nomad::jobspec {

namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;
using tree::each;

void upper_case_member(object& in, std::string_view name) {
  value* found = tree::find(in, name);
  if (found == nullptr || !found->is_string()) return;
  for (char& c : found->get_string())
    c = to_upper(c);
}

void store_network(object& network) {
  network.erase("Device");
  for (const std::string_view side : {"ReservedPorts", "DynamicPorts"}) {
    tree::null_if_empty(network, side);
    each(network, side,
         [](object& port) { tree::set_default_text(port, "HostNetwork", "default"); });
  }
  tree::set_default(network, "MBits", 0);
}

void store_resources(object& resources) {
  resources.erase("DiskMB");
  tree::null_if_empty(resources, "Networks");
  tree::null_if_empty(resources, "Devices");
  for (const std::string_view name : {"MemoryMaxMB", "IOPS"})
    tree::set_default(resources, name, 0);
  each(resources, "Networks", store_network);
}

/// Copies that clients call by two names; the older one wins, as it was there first.
void store_proxy(object& proxy) {
  if (value* older = tree::find(proxy, "ExposeConfig")) {
    value taken = std::move(*older);
    proxy["Expose"] = std::move(taken);
  }
  proxy.erase("ExposeConfig");
  object* expose = tree::child(proxy, "Expose");
  if (expose == nullptr) return;
  if (value* older = tree::find(*expose, "Path")) {
    value taken = std::move(*older);
    (*expose)["Paths"] = std::move(taken);
  }
  expose->erase("Path");
}

void store_connect(object& connect) {
  if (object* sidecar = tree::child(connect, "SidecarService"))
    if (object* proxy = tree::child(*sidecar, "Proxy")) {
      store_proxy(*proxy);
      each(*proxy, "Upstreams",
           [](object& upstream) { tree::set_default(upstream, "MeshGateway", object{}); });
    }
  if (object* task = tree::child(connect, "SidecarTask")) {
    if (object* resources = tree::child(*task, "Resources")) store_resources(*resources);
    if (object* logs = tree::child(*task, "LogConfig")) logs->erase("Enabled");
  }
  complete_stored(connect, block_types().connect);
  object* gateway = tree::child(connect, "Gateway");
  object* proxy = gateway == nullptr ? nullptr : tree::child(*gateway, "Proxy");
  if (proxy == nullptr) return;
  tree::set_default(*proxy, "EnvoyGatewayBindAddresses", object{});
  for (auto& entry : proxy->at("EnvoyGatewayBindAddresses").get_object())
    if (object* address = entry.value().if_object()) address->erase("Name");
}

void store_check(object& check,
                 std::string_view service,
                 std::string_view service_task,
                 bool in_group) {
  check.erase("Advertise");
  tree::null_if_empty(check, "Args");
  tree::null_if_empty(check, "Header");
  if (object* header = tree::child(check, "Header"))
    for (auto& entry : *header)
      if (entry.value().is_array() && entry.value().get_array().empty()) entry.value() = nullptr;
  if (tree::text(check, "Name").empty()) check["Name"] = "service: " + quote(service) + " check";
  if (!in_group) check["TaskName"] = service_task;
  if (tree::text(check, "TaskName").empty() && service_task != "group")
    check["TaskName"] = service_task;
}

struct StoredPlace {
  std::string_view job;
  std::string_view job_namespace;
  std::string_view group;
  const std::string* task;  ///< null for a group's service
};

void store_service(object& service, const StoredPlace& place) {
  const bool in_group = place.task == nullptr;
  service.erase("CheckRestart");
  for (const std::string_view name : {"Tags", "CanaryTags", "Checks", "TaggedAddresses"})
    tree::null_if_empty(service, name);
  if (!in_group) tree::set_default_text(service, "TaskName", *place.task);
  const std::string_view name = tree::text(service, "Name");
  if (name.find("${") != std::string_view::npos) {
    std::string resolved = interpolate_service_name(
        name, place.job, place.group, in_group ? std::string_view{"group"} : *place.task);
    service["Name"] = std::move(resolved);
  }
  const std::string resolved_name{tree::text(service, "Name")};
  const std::string task_name{tree::text(service, "TaskName")};
  each(service, "Checks",
       [&](object& check) { store_check(check, resolved_name, task_name, in_group); });
  if (object* connect = tree::child(service, "Connect")) store_connect(*connect);
  service["Namespace"] = tree::text(service, "Provider") == "nomad"    ? place.job_namespace
                         : tree::text(service, "Provider") == "consul" ? std::string_view{"default"}
                                                                       : std::string_view{};
}

void store_scaling(object& scaling, const StoredPlace& place, std::int64_t count) {
  for (const std::string_view name : {"Namespace", "ID", "CreateIndex", "ModifyIndex"})
    scaling.erase(name);
  object target{{"Namespace", place.job_namespace}, {"Job", place.job}, {"Group", place.group}};
  if (place.task != nullptr) target["Task"] = *place.task;
  scaling["Target"] = std::move(target);
  if (place.task == nullptr) tree::set_default_text(scaling, "Type", "horizontal");
  tree::set_default(scaling, "Enabled", true);
  tree::set_default(scaling, "Min", count);
  tree::set_default(scaling, "Max", -1);  // refused by validation
}

void store_vault(object& vault, std::string_view job_vault_namespace) {
  if (!job_vault_namespace.empty()) tree::set_default_text(vault, "Namespace", job_vault_namespace);
  upper_case_member(vault, "ChangeSignal");
  tree::set_default_text(vault, "ChangeMode", "restart");
}

void store_volume_mounts(object& task) {
  array* mounts = tree::find_list(task, "VolumeMounts");
  if (mounts == nullptr) return;
  mounts->erase(std::remove_if(mounts->begin(), mounts->end(),
                               [](const value& mount) {
                                 return !mount.is_object()
                                        || tree::find(mount.get_object(), "Volume") == nullptr;
                               }),
                mounts->end());
  for (value& mount : *mounts)
    tree::set_default(mount.get_object(), "Destination", "");
}

struct JobFacts {
  std::string_view id;
  std::string_view name;
  std::string_view job_namespace;
  std::string_view type;
  std::string_view vault_namespace;
};

void store_task(object& task, const JobFacts& job, std::string_view group) {
  for (const std::string_view name : {"Meta", "Config", "Env"})
    tree::null_if_empty(task, name);
  const std::string task_name{tree::text(task, "Name")};
  if (object* resources = tree::child(task, "Resources")) store_resources(*resources);
  if (object* logs = tree::child(task, "LogConfig")) logs->erase("Enabled");
  if (tree::number(task, "KillTimeout") == 0) task["KillTimeout"] = 5'000'000'000;
  if (object* vault = tree::child(task, "Vault")) store_vault(*vault, job.vault_namespace);
  each(task, "Templates", [](object& tmpl) { upper_case_member(tmpl, "ChangeSignal"); });
  for (const std::string_view name :
       {"VolumeMounts", "ScalingPolicies", "Services", "Artifacts", "Templates"})
    tree::null_if_empty(task, name);
  store_volume_mounts(task);
  each(task, "Services", [&](object& service) {
    store_service(service, {job.name, job.job_namespace, group, &task_name});
  });
  each(task, "ScalingPolicies", [&](object& policy) {
    store_scaling(policy, {job.id, job.job_namespace, group, &task_name}, 0);
  });
}

/// Volumes of a type that servers do not know are dropped, as they always were.
void store_volumes(object& group) {
  object* volumes = tree::child(group, "Volumes");
  if (volumes == nullptr) return;
  for (auto at = volumes->begin(); at != volumes->end();) {
    const object* volume = at->value().if_object();
    const std::string_view type = volume == nullptr ? "" : tree::text(*volume, "Type");
    at = type == "host" || type == "csi" ? at + 1 : volumes->erase(at);
  }
}

void store_group(object& group, const JobFacts& job) {
  const std::string name{tree::text(group, "Name")};
  for (const std::string_view list :
       {"Meta", "Networks", "Services", "Spreads", "Volumes", "Tasks"})
    tree::null_if_empty(group, list);
  if (job.type == "system" && tree::number(group, "Count") == 0) group["Count"] = 1;
  each(group, "Networks", store_network);
  each(group, "Services", [&](object& service) {
    store_service(service, {job.name, job.job_namespace, name, nullptr});
  });
  if (object* scaling = tree::child(group, "Scaling"))
    store_scaling(*scaling, {job.id, job.job_namespace, name, nullptr},
                  tree::number(group, "Count"));
  store_volumes(group);
  each(group, "Tasks", [&](object& task) { store_task(task, job, name); });
}

/// Only the two values that hold for the whole job stay there; the rest is in the groups.
void store_update(object& job) {
  object kept;
  if (const object* update = tree::child(job, "Update");
      update != nullptr && tree::number(*update, "MaxParallel") > 0) {
    kept["Stagger"] = tree::number(*update, "Stagger");
    kept["MaxParallel"] = tree::number(*update, "MaxParallel");
  }
  job["Update"] = std::move(kept);
}

}  // namespace

void to_server_form(object& job, const AdmissionOptions& options) {
  for (const Field& field : block_types().job.fields)
    if (field.has(Trait::api_only) || field.has(Trait::server_only)) job.erase(field.json);
  store_update(job);
  for (const std::string_view name : {"Meta", "Spreads", "TaskGroups"})
    tree::null_if_empty(job, name);
  tree::set_default_text(job, "Namespace", "default");
  if (tree::list(job, "Datacenters").empty()) job["Datacenters"] = array{"*"};
  if (tree::number(job, "Priority") == 0) job["Priority"] = options.default_priority;
  tree::set_default_text(job, "NodePool", options.default_node_pool);
  if (object* multiregion = tree::child(job, "Multiregion"))
    complete_stored(*multiregion, block_types().multiregion);
  if (object* parameterized = tree::child(job, "ParameterizedJob"))
    tree::set_default_text(*parameterized, "Payload", "optional");

  const JobFacts facts{
      .id = tree::text(job, "ID"),
      .name = tree::text(job, "Name"),
      .job_namespace = tree::text(job, "Namespace"),
      .type = tree::text(job, "Type"),
      .vault_namespace = tree::text(job, "VaultNamespace"),
  };
  each(job, "TaskGroups", [&](object& group) { store_group(group, facts); });
}

void admit(object& job, const AdmissionOptions& options) {
  canonicalize(job);
  to_server_form(job, options);
  add_implied_constraints(job);
}

}  // namespace nomad::jobspec
