// From the canonical api form to what servers store: members that only clients have go, names are
// interpolated, checks get names and tasks, ports their host network.
#include <algorithm>

#include <boost/json.hpp>

#include "runtime/base/text.hpp"
#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/jobspec/canonical/complete.hpp"
#include "runtime/jobspec/canonical/interpolation.hpp"
#include "runtime/jobspec/job_draft.hpp"
#include "runtime/jobspec/schema.hpp"
#include "runtime/jobspec/tree.hpp"

namespace nomad::jobspec {

namespace {

void store_ports(DraftBlock& network, FieldName side) {
  network.null_if_empty({side});
  network.each(side, [](DraftBlock& port) { port.set_default_text("HostNetwork", "default"); });
}

void store_network(DraftBlock network) {
  network.clear("Device");
  store_ports(network, "ReservedPorts");
  store_ports(network, "DynamicPorts");
  network.set_default("MBits", 0);
}

void store_resources(DraftBlock resources) {
  resources.clear("DiskMB");
  resources.null_if_empty({"Networks", "Devices"});
  resources.set_default("MemoryMaxMB", 0);
  resources.set_default("IOPS", 0);
  resources.each("Networks", store_network);
}

/// Copies that clients call by two names; the older one wins, as it was there first.
void store_proxy(DraftBlock proxy) {
  if (proxy.has("ExposeConfig")) proxy.move("ExposeConfig", "Expose");
  DraftBlock expose = proxy.child("Expose");
  if (expose.has("Path")) expose.move("Path", "Paths");
}

/// The text that a service's connect block is stored as.
std::string stored_connect(const DraftBlock& connect) {
  if (const DraftBlock proxy = connect.child("SidecarService").child("Proxy")) {
    store_proxy(proxy);
    proxy.each("Upstreams", [](DraftBlock& upstream) { upstream.child_or_new("MeshGateway"); });
  }
  const DraftBlock task = connect.child("SidecarTask");
  if (const DraftBlock resources = task.child("Resources")) store_resources(resources);
  if (DraftBlock logs = task.child("LogConfig")) logs.clear("Enabled");

  boost::json::object stored = tree_of(connect, block_types().connect);
  complete_stored(stored, block_types().connect);
  boost::json::object* gateway = tree::child(stored, "Gateway");
  boost::json::object* proxy = gateway == nullptr ? nullptr : tree::child(*gateway, "Proxy");
  if (proxy != nullptr) {
    tree::set_default(*proxy, "EnvoyGatewayBindAddresses", boost::json::object{});
    for (auto& entry : proxy->at("EnvoyGatewayBindAddresses").get_object())
      if (boost::json::object* address = entry.value().if_object()) address->erase("Name");
  }
  return stored_text(stored);
}

void store_check(DraftBlock& check,
                 std::string_view service,
                 std::string_view service_task,
                 bool in_group) {
  check.clear("Advertise");
  check.null_if_empty({"Args", "Header"});
  check.each("Header", [](DraftBlock& entry) { entry.null_if_empty({"Value"}); });
  if (check.text("Name").empty()) check.set("Name", "service: " + quote(service) + " check");
  if (!in_group || (check.text("TaskName").empty() && service_task != "group"))
    check.set("TaskName", service_task);
}

struct StoredLocation {
  std::string_view job;
  std::string_view job_namespace;
  std::string_view group;
  std::optional<std::string_view> task;  ///< nothing for a group's service
};

void store_service(DraftBlock& service, const StoredLocation& location) {
  const bool in_group = !location.task;
  service.clear("CheckRestart");
  service.null_if_empty({"Tags", "CanaryTags", "Checks", "TaggedAddresses"});
  if (!in_group) service.set_default_text("TaskName", *location.task);
  const std::string_view name = service.text("Name");
  if (name.find("${") != std::string_view::npos)
    service.set("Name", interpolate_service_name(name, location.job, location.group,
                                                 location.task.value_or("group")));
  service.each("Checks", [&](DraftBlock& check) {
    store_check(check, service.text("Name"), service.text("TaskName"), in_group);
  });
  if (const DraftBlock connect = service.child("Connect"))
    service.as<schema::Service>().setConnect(stored_connect(connect));
  service.set("Namespace", service.text("Provider") == "nomad"    ? location.job_namespace
                           : service.text("Provider") == "consul" ? std::string_view{"default"}
                                                                  : std::string_view{});
}

void store_scaling(DraftBlock& scaling, const StoredLocation& location, std::int64_t count) {
  for (const FieldName name :
       std::initializer_list<FieldName>{"Namespace", "ID", "CreateIndex", "ModifyIndex"})
    scaling.clear(name);
  if (location.task) {
    scaling.set_entries("Target", {{"Group", location.group},
                                   {"Job", location.job},
                                   {"Namespace", location.job_namespace},
                                   {"Task", *location.task}});
  } else {
    scaling.set_entries(
        "Target",
        {{"Group", location.group}, {"Job", location.job}, {"Namespace", location.job_namespace}});
    scaling.set_default_text("Type", "horizontal");
  }
  scaling.set_default("Enabled", true);
  scaling.set_default("Min", count);
  scaling.set_default("Max", -1);  // refused by validation
}

void store_vault(DraftBlock vault, std::string_view job_vault_namespace) {
  if (!job_vault_namespace.empty()) vault.set_default_text("Namespace", job_vault_namespace);
  if (vault.has("ChangeSignal")) vault.set("ChangeSignal", to_upper(vault.text("ChangeSignal")));
  vault.set_default_text("ChangeMode", "restart");
}

struct JobFacts {
  std::string_view id;
  std::string_view name;
  std::string_view job_namespace;
  std::string_view type;
  std::string_view vault_namespace;
};

void store_identity(DraftBlock& identity) {
  if (identity.text("Name") == "default") identity.set("Name", "");
  if (identity.has("ChangeSignal"))
    identity.set("ChangeSignal", to_upper(identity.text("ChangeSignal")));
}

void store_task(DraftBlock& task, const JobFacts& job, std::string_view group) {
  const std::string_view name = task.text("Name");
  task.null_if_empty({"Meta", "Config", "Env", "VolumeMounts", "ScalingPolicies", "Services",
                      "Artifacts", "Templates", "Identities", "Actions"});
  if (const DraftBlock resources = task.child("Resources")) store_resources(resources);
  if (DraftBlock logs = task.child("LogConfig")) logs.clear("Enabled");
  if (task.number("KillTimeout") == 0) task.set("KillTimeout", 5'000'000'000);
  if (const DraftBlock vault = task.child("Vault")) store_vault(vault, job.vault_namespace);
  task.each("Templates", [](DraftBlock& tmpl) {
    if (tmpl.has("ChangeSignal")) tmpl.set("ChangeSignal", to_upper(tmpl.text("ChangeSignal")));
  });
  if (DraftBlock own = task.child("Identity")) store_identity(own);
  task.each("Identities", [](DraftBlock& identity) { store_identity(identity); });
  task.remove_if("VolumeMounts", [](const DraftBlock& mount) { return !mount.has("Volume"); });
  task.each("VolumeMounts", [](DraftBlock& mount) { mount.set_default("Destination", ""); });
  task.each("Services", [&](DraftBlock& service) {
    store_service(service, {job.name, job.job_namespace, group, name});
  });
  task.each("ScalingPolicies", [&](DraftBlock& policy) {
    store_scaling(policy, {job.id, job.job_namespace, group, name}, 0);
  });
}

/// Volumes of a type that servers do not know are dropped, as they always were.
bool is_unknown_volume(const DraftBlock& entry) {
  const std::string_view type = entry.child("Value").text("Type");
  return type != "host" && type != "csi";
}

void store_group(DraftBlock& group, const JobFacts& job) {
  const std::string_view name = group.text("Name");
  group.null_if_empty({"Meta", "Networks", "Services", "Spreads", "Volumes", "Tasks"});
  if (job.type == "system" && group.number("Count") == 0) group.set("Count", 1);
  group.each("Networks", store_network);
  group.each("Services", [&](DraftBlock& service) {
    store_service(service, {job.name, job.job_namespace, name, std::nullopt});
  });
  if (DraftBlock disconnect = group.child("Disconnect")) disconnect.set_default("LostAfter", 0);
  if (DraftBlock scaling = group.child("Scaling"))
    store_scaling(scaling, {job.id, job.job_namespace, name, std::nullopt}, group.number("Count"));
  group.remove_if("Volumes", is_unknown_volume);
  group.each("Tasks", [&](DraftBlock& task) { store_task(task, job, name); });
}

/// Only the two values that hold for the whole job stay there; the rest is in the groups.
void store_update(DraftBlock& job) {
  const DraftBlock update = job.child("Update");
  const std::int64_t stagger = update.number("Stagger");
  const std::int64_t max_parallel = update.number("MaxParallel");
  DraftBlock kept = job.init("Update");
  if (max_parallel <= 0) return;
  kept.set("Stagger", stagger);
  kept.set("MaxParallel", max_parallel);
}

void store_multiregion(DraftBlock& job) {
  const DraftBlock multiregion = job.child("Multiregion");
  if (!multiregion) return;
  // One in which nothing stands is none.
  if (multiregion.list("Regions").empty() && multiregion.child("Strategy").is_zero())
    return job.clear("Multiregion");
  boost::json::object stored = tree_of(multiregion, block_types().multiregion);
  complete_stored(stored, block_types().multiregion);
  tree::set_default(stored, "Regions", boost::json::array{});
  tree::each(stored, "Regions", [](boost::json::object& region) {
    tree::set_default(region, "Datacenters", boost::json::array{});
    tree::set_default(region, "Meta", boost::json::object{});
  });
  job.as<schema::Job>().setMultiregion(stored_text(stored));
}

}  // namespace

void to_server_form(DraftBlock job, const AdmissionOptions& options) {
  for (const Field& field : block_types().job.fields)
    if (field.has(Trait::api_only) || field.has(Trait::server_only)) job.clear(*field.plan);
  store_update(job);
  job.null_if_empty({"Meta", "Spreads", "TaskGroups"});
  if (DraftBlock ui = job.child("UI")) ui.null_if_empty({"Links"});
  job.set_default_text("Namespace", "default");
  if (job.texts("Datacenters").size() == 0) job.set_texts("Datacenters", {"*"});
  if (job.number("Priority") == 0) job.set("Priority", options.default_priority);
  job.set_default_text("NodePool", options.default_node_pool);
  store_multiregion(job);
  if (DraftBlock parameterized = job.child("ParameterizedJob"))
    parameterized.set_default_text("Payload", "optional");

  const JobFacts facts{
      .id = job.text("ID"),
      .name = job.text("Name"),
      .job_namespace = job.text("Namespace"),
      .type = job.text("Type"),
      .vault_namespace = job.text("VaultNamespace"),
  };
  job.each("TaskGroups", [&](DraftBlock& group) { store_group(group, facts); });
}

void admit(DraftBlock job, const AdmissionOptions& options) {
  canonicalize(job);
  to_server_form(job, options);
  add_implied_constraints(job);
}

}  // namespace nomad::jobspec
