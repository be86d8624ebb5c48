// Which region and namespace a request about a job means.
#include "runtime/jobspec/canonical/canonicalize.hpp"

namespace nomad::jobspec {

namespace {

constexpr std::string_view global_region = "global";

}  // namespace

RequestRegion resolve_region(const DraftBlock& job,
                             std::string_view query_region,
                             std::string_view body_region,
                             std::string_view agent_region) {
  const std::string_view job_region = job.text("Region");
  std::string_view region = !body_region.empty() ? body_region : query_region;
  if (region.empty()) region = job_region;
  if (region.empty() || region == global_region) region = agent_region;
  RequestRegion resolved{std::string{region}, std::string{region}};

  const DraftBlock multiregion = job.child("Multiregion");
  if (!multiregion) return resolved;
  const DraftBlocks regions = multiregion.list("Regions");
  if (regions.empty()) return resolved;
  resolved.job = global_region;
  bool served_here = false;
  for (const DraftBlock candidate : regions)
    if (candidate.text("Name") == resolved.request) served_here = true;
  if (!served_here) resolved.request = regions.front().text("Name");
  return resolved;
}

std::string resolve_namespace(const DraftBlock& job,
                              std::string_view query_namespace,
                              std::string_view body_namespace) {
  if (!query_namespace.empty()) return std::string{query_namespace};
  if (!body_namespace.empty()) return std::string{body_namespace};
  const std::string_view own = job.text("Namespace");
  return own.empty() ? "default" : std::string{own};
}

}  // namespace nomad::jobspec
