// Why groups could not be placed: by what the scheduler counted, and by what the nodes are.
#include <algorithm>

#include <fmt/format.h>

#include "cli/output/describe.hpp"
#include "cli/output/layout.hpp"
#include "cli/why/findings.hpp"
#include "runtime/access/policy/glob.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli::why {
namespace {

/// Nodes that are named one by one.
constexpr std::size_t most_nodes_named = 10;

/// What the tasks of a group take together, next to each other.
struct GroupDemand {
  std::int64_t cpu = 0;     ///< MHz
  std::int64_t memory = 0;  ///< MiB
  std::int64_t disk = 0;    ///< MiB
};

GroupDemand demand_of(const View& group) {
  GroupDemand demand{.disk = group["EphemeralDisk"]["SizeMB"].number()};
  for (const auto& task : group["Tasks"].items()) {
    const auto lifecycle = task["Lifecycle"];
    if (!lifecycle["Hook"].text().empty() && !lifecycle["Sidecar"].truth()) continue;
    demand.cpu += task["Resources"]["CPU"].number();
    demand.memory += task["Resources"]["MemoryMB"].number();
  }
  return demand;
}

std::string too_much(std::string_view what,
                     std::string_view unit,
                     std::int64_t asked,
                     std::int64_t has) {
  if (asked <= has) return {};
  return fmt::format("{} {} of {} are asked for, the node has {}", asked, unit, what, has);
}

std::string resource_obstacle(const View& group, const View& node) {
  const auto has = node["NodeResources"];
  if (has.is_null()) return {};
  const auto kept = node["ReservedResources"];
  const auto demand = demand_of(group);
  for (auto text :
       {too_much("memory", "MiB", demand.memory,
                 has["Memory"]["MemoryMB"].number() - kept["Memory"]["MemoryMB"].number()),
        too_much("processor time", "MHz", demand.cpu,
                 has["Cpu"]["CpuShares"].number() - kept["Cpu"]["CpuShares"].number()),
        too_much("disk", "MiB", demand.disk,
                 has["Disk"]["DiskMB"].number() - kept["Disk"]["DiskMB"].number())})
    if (!text.empty()) return text;
  return {};
}

std::string driver_obstacle(const View& group, const View& node) {
  for (const auto& task : group["Tasks"].items()) {
    const auto name = task["Driver"].text();
    const auto driver = node["Drivers"][name];
    if (!driver["Detected"].truth()) return fmt::format("driver \"{}\" is not there", name);
    if (!driver["Healthy"].truth())
      return fmt::format("driver \"{}\" is not healthy: {}", name,
                         driver["HealthDescription"].text());
  }
  return {};
}

/// The commands that show what of a metric is a reason.
std::vector<std::string> commands_for(const Facts& facts,
                                      const View& metric,
                                      const std::string& node) {
  if (!metric["QuotaExhausted"].items().empty()) {
    const View ns{facts.ns};
    const auto quota = ns["Quota"].text();
    if (quota.empty()) return {shell_command("quota list")};
    return {shell_command("quota status", {quota}),
            shell_command_in(ns["Name"].text(), "job status")};
  }
  std::vector<std::string> commands;
  if (node.empty() || metric["NodesEvaluated"].number() == 0)
    commands.push_back(shell_command("node status"));
  else
    commands.push_back(shell_command("node status -verbose", {node}));
  if (metric["NodesExhausted"].number() > 0)
    commands.push_back(shell_command_for(facts, "job inspect", {View{facts.job}["ID"].text()}));
  return commands;
}

Finding placement_finding(const Facts& facts, const std::string& name, const View& metric) {
  const View job{facts.job};
  const auto count = metric["CoalescedFailures"].number() + 1;
  Finding finding{.what = fmt::format("Group \"{}\": {} allocation{} can't be placed", name, count,
                                      count == 1 ? "" : "s")};
  const auto reasons = placement_failure(metric, "");
  for (const auto reason : split(reasons, '\n'))
    if (!reason.empty()) finding.details.emplace_back(reason);
  const auto nodes = View{facts.nodes}.items();
  std::size_t named = 0;
  std::string first;
  const bool is_quota = !metric["QuotaExhausted"].items().empty();
  for (const auto& node : nodes) {
    const auto why = is_quota ? std::string{} : obstacle(job, group_of_job(facts, name), node);
    if (first.empty()) first = shown_id(node["ID"].text(), false);
    if (why.empty() || ++named > most_nodes_named) continue;
    finding.details.push_back(fmt::format("Node {} ({}): {}", shown_id(node["ID"].text(), false),
                                          node["Name"].text(), why));
  }
  if (named > most_nodes_named)
    finding.details.push_back(
        fmt::format("{} other nodes do not fit either", named - most_nodes_named));
  finding.commands = commands_for(facts, metric, first);
  return finding;
}

}  // namespace

std::string obstacle(const View& job, const View& group, const View& node) {
  if (const auto status = node["Status"].text(); status != "ready") return "it is " + status;
  if (node["Drain"].truth()) return "it is being drained";
  if (node["SchedulingEligibility"].text() == "ineligible") return "it is not eligible";
  const auto pool = job["NodePool"].text();
  if (!pool.empty() && pool != "all" && pool != node["NodePool"].text())
    return fmt::format("it is of node pool \"{}\", the job of \"{}\"", node["NodePool"].text(),
                       pool);
  const auto datacenters = job["Datacenters"].items();
  const bool is_near = datacenters.empty() || std::ranges::any_of(datacenters, [&](const View& dc) {
                         return access::glob_matches(dc.text(), node["Datacenter"].text());
                       });
  if (!is_near)
    return fmt::format("it is in datacenter \"{}\", which the job does not name",
                       node["Datacenter"].text());
  if (auto text = driver_obstacle(group, node); !text.empty()) return text;
  return resource_obstacle(group, node);
}

void find_in_placements(const Facts& facts, std::vector<Finding>& out) {
  if (View{facts.job}["Stop"].truth()) return;
  for (const auto& [name, metric] : placement_metrics(facts).members())
    out.push_back(placement_finding(facts, name, metric));
}

}  // namespace nomad::cli::why
