// How the newest deployments stand.
#include <algorithm>

#include <fmt/format.h>

#include "cli/output/layout.hpp"
#include "cli/why/findings.hpp"

namespace nomad::cli::why {
namespace {

std::string deployment_name(const View& deployment) {
  return fmt::format("Deployment {} of version {}", shown_id(deployment["ID"].text(), false),
                     deployment["JobVersion"].text());
}

void add_group_states(const View& deployment, Finding& finding) {
  for (const auto& [name, group] : deployment["TaskGroups"].members()) {
    auto line = fmt::format("Group \"{}\": {} wanted, {} placed, {} healthy, {} unhealthy", name,
                            group["DesiredTotal"].number(), group["PlacedAllocs"].number(),
                            group["HealthyAllocs"].number(), group["UnhealthyAllocs"].number());
    if (group["DesiredCanaries"].number() > 0)
      line += fmt::format(", {} canaries, {}promoted", group["DesiredCanaries"].number(),
                          group["Promoted"].truth() ? "" : "not ");
    if (deployment["Status"].text() == "running" && !group["RequireProgressBy"].is_null())
      line += fmt::format(", must go on by {}", clock_time(group["RequireProgressBy"]));
    finding.details.push_back(std::move(line));
  }
}

bool wants_promotion(const View& deployment) {
  const auto groups = deployment["TaskGroups"].members();
  return std::ranges::any_of(groups, [](const auto& entry) {
    const auto& group = entry.second;
    return group["DesiredCanaries"].number() > 0 && !group["Promoted"].truth()
           && group["HealthyAllocs"].number() >= group["DesiredCanaries"].number();
  });
}

Finding finding_of(const Facts& facts, const View& deployment) {
  const auto status = deployment["Status"].text();
  const auto id = shown_id(deployment["ID"].text(), false);
  const auto command = [&](std::string_view what) { return shell_command_for(facts, what, {id}); };
  Finding finding{.weight = Weight::note,
                  .what = fmt::format("{} is {}: {}", deployment_name(deployment), status,
                                      deployment["StatusDescription"].text())};
  if (status == "failed") {
    finding.weight = Weight::problem;
    finding.what = fmt::format("{} failed: {}", deployment_name(deployment),
                               deployment["StatusDescription"].text());
    finding.commands = {command("deployment status"),
                        shell_command_for(facts, "job history -p", {View{facts.job}["ID"].text()})};
  } else if (status == "paused") {
    finding.weight = Weight::warning;
    finding.commands = {command("deployment resume")};
  } else if (status == "running" && wants_promotion(deployment)) {
    finding.weight = Weight::warning;
    finding.what = deployment_name(deployment) + " waits to be promoted";
    finding.commands = {command("deployment promote"), command("deployment fail")};
  } else {
    finding.commands = {command("deployment status -monitor")};
  }
  add_group_states(deployment, finding);
  return finding;
}

}  // namespace

void find_in_deployments(const Facts& facts, std::vector<Finding>& out) {
  const auto deployments = newest_deployments(facts);
  if (deployments.empty() || View{facts.job}["Stop"].truth()) return;
  const auto status = deployments[0]["Status"].text();
  if (status != "successful" && status != "cancelled")
    out.push_back(finding_of(facts, deployments[0]));
  const auto undone = undone_deployment(facts);
  if (undone.is_null() || status == "failed") return;
  auto finding = finding_of(facts, undone);
  finding.weight = Weight::warning;
  out.push_back(std::move(finding));
}

}  // namespace nomad::cli::why
