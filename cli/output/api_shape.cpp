#include "cli/output/api_shape.hpp"

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

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

void shape_one(ApiShape shape, boost::json::value& one) {
  if (!one.is_object()) return;
  auto& object = one.get_object();
  if (shape == ApiShape::deployment) shape_deployment(object);
  if (shape == ApiShape::evaluation) shape_evaluation(object);
  if (shape == ApiShape::place) object.erase("Hash");
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
