// Which region and namespace a request about a job means.
#include <boost/json.hpp>

#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/jobspec/tree.hpp"

namespace nomad::jobspec {

namespace {

constexpr std::string_view global_region = "global";

}  // namespace

RequestRegion resolve_region(const boost::json::object& job,
                             std::string_view query_region,
                             std::string_view body_region,
                             std::string_view agent_region) {
  const std::string_view job_region = tree::text(job, "Region");
  std::string_view region = !body_region.empty() ? body_region : query_region;
  if (region.empty()) region = job_region;
  if (region.empty() || region == global_region) region = agent_region;
  RequestRegion resolved{std::string{region}, std::string{region}};

  const boost::json::object* multiregion = tree::child(job, "Multiregion");
  if (multiregion == nullptr) return resolved;
  resolved.job = global_region;
  const boost::json::array& regions = tree::list(*multiregion, "Regions");
  bool served_here = regions.empty();
  for (const boost::json::value& candidate : regions)
    if (candidate.is_object() && tree::text(candidate.get_object(), "Name") == resolved.request)
      served_here = true;
  if (!served_here && regions.front().is_object())
    resolved.request = tree::text(regions.front().get_object(), "Name");
  return resolved;
}

std::string resolve_namespace(const boost::json::object& job,
                              std::string_view query_namespace,
                              std::string_view body_namespace) {
  if (!query_namespace.empty()) return std::string{query_namespace};
  if (!body_namespace.empty()) return std::string{body_namespace};
  const std::string_view own = tree::text(job, "Namespace");
  return own.empty() ? "default" : std::string{own};
}

}  // namespace nomad::jobspec
