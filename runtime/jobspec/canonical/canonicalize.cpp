// Defaults and inheritance of the api form. A default that stands for itself is an annotation of
// its field; here is what depends on other fields, and what is inherited. One function per block
// that has such rules, called from the outside in; a group's own policies are finished before its
// tasks, because tasks inherit from the finished ones. Last come the annotated defaults of all
// blocks.
#include "runtime/jobspec/canonical/canonicalize.hpp"

#include <algorithm>
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

bool is_zero(const value& single) {
  if (single.is_number()) return tree::number_of(single) == 0;
  return single.is_bool() ? !single.get_bool() : tree::text_of(single).empty();
}

/// The block's own annotated defaults.
void fill_own(object& block, const BlockType& type) {
  if (!type.has_fallbacks) return;
  for (const Field& field : type.fields) {
    if (field.fallback == nullptr) continue;
    const auto [at, added] = block.emplace(field.json, *field.fallback);
    if (added) continue;
    value& present = at->value();
    if (present.is_null() || (!field.has(Trait::nullable) && is_zero(present)))
      present = *field.fallback;
  }
}

/// The same for all blocks below too. What only requests have is merged elsewhere as it is.
void fill_all(object& block, const BlockType& type) {
  if (!type.has_fallbacks) return;
  fill_own(block, type);
  for (const Field& field : type.fields) {
    if (field.block == nullptr || !field.block->has_fallbacks || field.has(Trait::api_only))
      continue;
    value* found = block.if_contains(field.json);
    if (found == nullptr) continue;
    const auto fill = [&](value& inner) {
      if (object* content = inner.if_object()) fill_all(*content, *field.block);
    };
    if (field.kind == Kind::block) {
      fill(*found);
    } else if (array* elements = found->if_array()) {
      for (value& element : *elements)
        fill(element);
    } else if (object* entries = found->if_object()) {
      for (auto& entry : *entries)
        fill(entry.value());
    }
  }
}

bool update_is_empty(const object& update) {
  return std::all_of(update.begin(), update.end(), [](const auto& member) {
    return member.value().is_null() || is_zero(member.value());
  });
}

void fill_multiregion(object& multiregion) {
  set_default(multiregion, "Strategy", object{});
  set_default(multiregion, "Regions", array{});
  each(multiregion, "Regions", [](object& region) {
    set_default(region, "Datacenters", array{});
    set_default(region, "Meta", object{});
  });
}

void fill_periodic(object& periodic) {
  set_default(periodic, "Specs", array{});
  tree::set_default_text(periodic, "TimeZone", "UTC");  // for "" too, though it may be null
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

void fill_restart(object& policy, std::string_view job_type) {
  const bool service = job_type == "service" || job_type == "system";
  set_default(policy, "Attempts", service ? 2 : 3);
  set_default(policy, "Interval", service ? ns(30min) : ns(24h));
  fill_own(policy, block_types().restart);  // before tasks inherit it
}

void fill_resources(object& resources) {
  if (tree::find(resources, "Cores") == nullptr) {
    resources["Cores"] = 0;
    set_default(resources, "CPU", 100);
  }
  set_default(resources, "CPU", 0);
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
  fill_own(tmpl, block_types().tmpl);
  if (value* signal = tree::find(tmpl, "ChangeSignal"))
    upper_case(signal->get_string());
  else
    tmpl["ChangeSignal"] = tree::text(tmpl, "ChangeMode") == "signal" ? "SIGHUP" : "";
  if (object* script = tree::child(tmpl, "ChangeScript")) set_default(*script, "Args", array{});
}

void fill_sidecar_task(object& task) {
  for (const std::string_view name : {"Config", "Env", "Meta"})
    tree::null_if_empty(task, name);
  set_default(task, "Resources", object{});
  if (object* resources = tree::child(task, "Resources")) fill_resources(*resources);
  set_default(task, "LogConfig", object{});
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
    tree::null_if_empty(*proxy, "EnvoyGatewayBindAddresses");
    tree::null_if_empty(*proxy, "Config");
  }
  if (object* ingress = tree::child(gateway, "Ingress")) {
    tree::null_if_empty(*ingress, "Listeners");
    each(*ingress, "Listeners",
         [](object& listener) { tree::null_if_empty(listener, "Services"); });
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
  fill_own(service, block_types().service);  // before its checks inherit OnUpdate
  for (const std::string_view name : {"Meta", "CanaryMeta", "TaggedAddresses"})
    tree::null_if_empty(service, name);
  if (object* connect = tree::child(service, "Connect")) fill_connect(*connect);
  const object* policy = tree::child(service, "CheckRestart");
  const std::string_view on_update = tree::text(service, "OnUpdate");
  each(service, "Checks", [&](object& check) { fill_check(check, policy, on_update); });
}

void fill_task(object& task, const object& group_restart, const Place& place) {
  set_default(task, "Resources", object{});
  if (object* resources = tree::child(task, "Resources")) fill_resources(*resources);
  set_default(task, "LogConfig", object{});
  each(task, "Artifacts", fill_artifact);
  each(task, "Templates", fill_template);
  each(task, "Services", [&](object& service) { fill_service(service, place); });
  if (object* lifecycle = tree::child(task, "Lifecycle");
      lifecycle != nullptr && tree::text(*lifecycle, "Hook").empty())
    task["Lifecycle"] = nullptr;
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
  inherit(group, "Update", use_job ? job.update : nullptr);

  if (inherit(group, "ReschedulePolicy", job.reschedule) == nullptr && job.type != "system")
    group["ReschedulePolicy"] = object{};
  if (object* policy = tree::child(group, "ReschedulePolicy")) fill_reschedule(*policy, job.type);

  if (inherit(group, "Migrate", job.migrate) == nullptr && job.type == "service")
    group["Migrate"] = object{};

  set_default(group, "RestartPolicy", object{});
  if (object* restart = tree::child(group, "RestartPolicy")) fill_restart(*restart, job.type);
}

void fill_group(object& group, const JobDefaults& job) {
  if (object* scaling = tree::child(group, "Scaling")) {
    if (tree::find(group, "Count") == nullptr)
      if (const value* least = tree::find(*scaling, "Min")) group["Count"] = *least;
  }
  fill_own(group, block_types().group);
  const std::int64_t count = tree::number(group, "Count");
  if (object* scaling = tree::child(group, "Scaling")) {
    set_default(*scaling, "Enabled", true);
    set_default(*scaling, "Min", count);
    tree::set_default_text(*scaling, "Type", "horizontal");
  }
  set_default(group, "EphemeralDisk", object{});
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
  each(group, "Services", [&](object& service) {
    fill_service(service, {job.name, name, nullptr});
  });
}

}  // namespace

void canonicalize(object& job) {
  job.reserve(job.size() + 24);
  fill_own(job, block_types().job);
  if (tree::find(job, "Name") == nullptr) job["Name"] = std::string{tree::text(job, "ID")};
  if (object* periodic = tree::child(job, "Periodic")) fill_periodic(*periodic);
  if (tree::text(job, "Type") == "service") set_default(job, "Update", object{});
  if (object* update = tree::child(job, "Update")) fill_own(*update, block_types().update);
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
  fill_all(job, block_types().job);
}

}  // namespace nomad::jobspec
