#include "cli/output/api_shape.hpp"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json.hpp>

namespace nomad::cli {
namespace {

using Names = std::initializer_list<std::string_view>;

/// Adds the members that are missing.
void add_missing(boost::json::object& object, Names names, const boost::json::value& zero) {
  for (const auto name : names)
    object.emplace(boost::json::string_view{name.data(), name.size()}, zero);
}

void shape_evaluation(boost::json::object& eval) {
  add_missing(eval,
              {"BlockedEval", "DeploymentID", "NextEval", "NodeID", "PreviousEval",
               "QuotaLimitReached", "StatusDescription"},
              "");
  add_missing(eval, {"JobModifyIndex", "NodeModifyIndex", "SnapshotIndex", "Wait"}, 0);
  add_missing(eval, {"AnnotatePlan", "EscapedComputedClass"}, false);
  add_missing(
      eval,
      {"ClassEligibility", "FailedTGAllocs", "QueuedAllocations", "RelatedEvals", "WaitUntil"},
      nullptr);
}

void shape_deployment(boost::json::object& deployment) {
  deployment.erase("EvalPriority");
  auto* groups = deployment.if_contains("TaskGroups");
  if (groups == nullptr || !groups->is_object()) return;
  for (auto& group : groups->get_object())
    if (group.value().is_object()) group.value().get_object().erase("AutoPromote");
}

/// By their names, as the API sends them.
boost::json::object sorted(boost::json::object object) {
  std::map<std::string, boost::json::value> members;
  for (auto& member : object)
    members.emplace(std::string{member.key()}, std::move(member.value()));
  boost::json::object out;
  for (auto& [name, value] : members)
    out.emplace(name, std::move(value));
  return out;
}

/// Calls `use` with each object that `path` leads to: names with dots between; "*" stands for every
/// member or item.
template <class Use>
void each_object(boost::json::value& value, std::string_view path, const Use& use) {
  if (path.empty()) {
    if (value.is_object()) use(value.get_object());
    return;
  }
  const auto name = path.substr(0, path.find('.'));
  const auto rest = path.substr(std::min(path.size(), name.size() + 1));
  if (name == "*" && value.is_array()) {
    for (auto& item : value.get_array())
      each_object(item, rest, use);
  } else if (value.is_object()) {
    for (auto& member : value.get_object())
      if (name == "*" || member.key() == boost::json::string_view{name.data(), name.size()})
        each_object(member.value(), rest, use);
  }
}

void erase_at(boost::json::value& value, std::string_view path, Names names) {
  each_object(value, path, [&names](boost::json::object& object) {
    for (const auto name : names)
      object.erase(boost::json::string_view{name.data(), name.size()});
  });
}

void add_at(boost::json::value& value,
            std::string_view path,
            Names names,
            const boost::json::value& zero) {
  each_object(value, path, [&](boost::json::object& object) {
    add_missing(object, names, zero);
    object = sorted(std::move(object));
  });
}

void shape_networks(boost::json::value& value, Names paths) {
  for (const auto path : paths)
    add_at(value, path, {"Hostname"}, "");
}

void shape_services(boost::json::value& job, const std::string& services) {
  erase_at(job, services, {"Namespace"});
  add_at(job, services, {"CheckRestart"}, nullptr);
  add_at(job, services + ".Checks.*", {"CheckRestart"}, nullptr);
  add_at(job, services + ".Checks.*", {"Advertise"}, "");
}

void shape_job(boost::json::value& job) {
  add_at(job, "", {"Migrate", "Reschedule"}, nullptr);
  add_at(job, "TaskGroups.*.Scaling", {"Namespace"}, "");
  shape_networks(job, {"TaskGroups.*.Networks.*", "TaskGroups.*.Tasks.*.Resources.Networks.*"});
  shape_services(job, "TaskGroups.*.Services.*");
  shape_services(job, "TaskGroups.*.Tasks.*.Services.*");
  add_at(job, "TaskGroups.*.Tasks.*.LogConfig", {"Enabled"}, nullptr);
  each_object(job, "TaskGroups.*.Tasks.*", [](boost::json::object& task) {
    const auto* csi = task.if_contains("CSIPluginConfig");
    if (csi != nullptr && csi->is_null()) task.erase("CSIPluginConfig");
  });
  each_object(job, "UI.Links.*", [](boost::json::object& link) {
    auto* url = link.if_contains("Url");
    if (url == nullptr) return;
    auto value = std::move(*url);
    link.erase("Url");
    link.emplace("URL", std::move(value));
  });
}

void shape_alloc(boost::json::value& alloc) {
  add_at(alloc, "",
         {"DesiredDescription", "FollowupEvalID", "NextAllocation", "PreemptedByAllocation",
          "PreviousAllocation"},
         "");
  add_at(alloc, "", {"PreemptedAllocations", "RescheduleTracker", "Services"}, nullptr);
  add_at(alloc, "", {"DesiredTransition"}, boost::json::object{});
  add_at(alloc, "DesiredTransition", {"Migrate", "Reschedule"}, nullptr);
  shape_networks(alloc,
                 {"AllocatedResources.Shared.Networks.*", "AllocatedResources.Tasks.*.Networks.*",
                  "Resources.Networks.*", "TaskResources.*.Networks.*"});
  add_at(alloc, "TaskStates.*.Events.*", {"DiskSize"}, 0);
  erase_at(alloc, "", {"SharedResources", "SigningKeyID"});
  erase_at(alloc, "DesiredTransition", {"ForceReschedule", "NoShutdownDelay"});
  erase_at(alloc, "AllocatedResources", {"TaskLifecycles"});
  erase_at(alloc, "AllocatedResources.Tasks.*.Cpu", {"ReservedCores"});
  each_object(alloc, "", [](boost::json::object& object) {
    if (auto* job = object.if_contains("Job")) shape_job(*job);
  });
}

void shape_alloc_stub(boost::json::value& alloc) {
  erase_at(alloc, "", {"DesiredTransition"});
  add_at(alloc, "TaskStates.*.Events.*", {"DiskSize"}, 0);
}

void shape_node(boost::json::value& node) {
  erase_at(node, "",
           {"ComputedClass", "LastAllocUpdateIndex", "LastMissedHeartbeatIndex", "SecretID"});
  erase_at(node, "NodeResources", {"NodeNetworks"});
  erase_at(node, "ReservedResources.Cpu", {"ReservedCpuCores"});
  shape_networks(node, {"NodeResources.Networks.*", "Resources.Networks.*"});
}

void shape_node_stub(boost::json::value& node) {
  each_object(node, "", [](boost::json::object& object) {
    const auto* volumes = object.if_contains("HostVolumes");
    if (volumes != nullptr && volumes->is_null()) object.erase("HostVolumes");
  });
}

void shape_one(ApiShape shape, boost::json::value& one) {
  if (!one.is_object()) return;
  if (shape == ApiShape::alloc) shape_alloc(one);
  if (shape == ApiShape::alloc_stub) shape_alloc_stub(one);
  if (shape == ApiShape::job) shape_job(one);
  if (shape == ApiShape::node) shape_node(one);
  if (shape == ApiShape::node_stub) shape_node_stub(one);
  auto& object = one.get_object();
  if (shape == ApiShape::deployment) shape_deployment(object);
  if (shape == ApiShape::evaluation) shape_evaluation(object);
  if (shape == ApiShape::kind) object.erase("Hash");
  if (shape == ApiShape::scaling_policy) add_missing(object, {"Namespace"}, "");
  object = sorted(std::move(object));
}

}  // namespace

boost::json::value as_printed(ApiShape shape, const boost::json::value& answer) {
  auto printed = answer;
  if (printed.is_array())
    for (auto& one : printed.get_array())
      shape_one(shape, one);
  else
    shape_one(shape, printed);
  return printed;
}

}  // namespace nomad::cli
