#include "cli/output/describe.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/output/layout.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/jobspec/cron/cron.hpp"

namespace nomad::cli {

std::string placement_failure(const View& metric, const std::string& indent) {
  std::string text;
  const auto bullet = [&](const std::string& line) { text += indent + "* " + line + '\n'; };
  if (metric["NodesEvaluated"].number() == 0) bullet("No nodes were eligible for evaluation");
  for (const auto& [dc, count] : metric["NodesAvailable"].members())
    if (count.number() == 0) bullet(fmt::format("No nodes are available in datacenter \"{}\"", dc));
  for (const auto& [name, count] : metric["ClassFiltered"].members())
    bullet(fmt::format("Class \"{}\": {} nodes excluded by filter", name, count.number()));
  for (const auto& [name, count] : metric["ConstraintFiltered"].members())
    bullet(fmt::format("Constraint \"{}\": {} nodes excluded by filter", name, count.number()));
  if (metric["NodesExhausted"].number() > 0)
    bullet(fmt::format("Resources exhausted on {} nodes", metric["NodesExhausted"].number()));
  for (const auto& [name, count] : metric["ClassExhausted"].members())
    bullet(fmt::format("Class \"{}\" exhausted on {} nodes", name, count.number()));
  for (const auto& [name, count] : metric["DimensionExhausted"].members())
    bullet(fmt::format("Dimension \"{}\" exhausted on {} nodes", name, count.number()));
  for (const auto& quota : metric["QuotaExhausted"].items())
    bullet(fmt::format("Quota limit hit \"{}\"", quota.text()));
  if (!text.empty()) text.pop_back();
  return text;
}

std::string failed_group(std::string_view group, const View& metric) {
  const auto count = metric["CoalescedFailures"].number() + 1;
  return fmt::format("Task Group \"{}\" (failed to place {} allocation{}):", group, count,
                     count == 1 ? "" : "s");
}

std::string placement_failures(const View& failed_groups,
                               const std::string& indent,
                               std::string_view between) {
  std::string text;
  for (const auto& [group, metric] : failed_groups.members()) {
    if (!text.empty()) text += between;
    text += indent + failed_group(group, metric);
    if (auto bullets = placement_failure(metric, indent + "  "); !bullets.empty())
      text += '\n' + bullets;
  }
  return text;
}

namespace {

Rows deployed_groups(const View& deployment) {
  const auto groups = deployment["TaskGroups"].members();
  const auto any = [&](auto holds) {
    return std::any_of(groups.begin(), groups.end(),
                       [&](const auto& g) { return holds(g.second); });
  };
  const bool reverts = any([](const View& g) { return g["AutoRevert"].truth(); });
  const bool canaries = any([](const View& g) { return g["DesiredCanaries"].number() > 0; });
  const bool deadlines = any([](const View& g) { return g["ProgressDeadline"].number() != 0; });
  Row header{"Task Group"};
  if (reverts) header.emplace_back("Auto Revert");
  if (canaries) header.emplace_back("Promoted");
  header.emplace_back("Desired");
  if (canaries) header.emplace_back("Canaries");
  header.insert(header.end(), {"Placed", "Healthy", "Unhealthy"});
  if (deadlines) header.emplace_back("Progress Deadline");
  Rows rows{header};
  for (const auto& [name, group] : groups) {
    Row row{name};
    if (reverts) row.push_back(group["AutoRevert"].text());
    if (canaries)
      row.push_back(group["DesiredCanaries"].number() > 0 ? group["Promoted"].text() : "N/A");
    row.push_back(group["DesiredTotal"].text());
    if (canaries) row.push_back(group["DesiredCanaries"].text());
    for (const auto* field : {"PlacedAllocs", "HealthyAllocs", "UnhealthyAllocs"})
      row.push_back(group[field].text());
    if (deadlines) row.push_back(clock_time(group["RequireProgressBy"]));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::string deployment_block(const View& deployment, bool verbose, bool brief) {
  Pairs block{{"ID", shown_id(deployment["ID"].text(), verbose)}};
  if (!brief) {
    block.emplace_back("Job ID", deployment["JobID"].text());
    block.emplace_back("Job Version", deployment["JobVersion"].text());
  }
  block.emplace_back("Status", deployment["Status"].text());
  block.emplace_back("Description", deployment["StatusDescription"].text());
  auto text = pairs(block);
  if (!deployment["TaskGroups"].members().empty())
    text += "\n\n" + title("Deployed") + '\n' + table(deployed_groups(deployment));
  return text;
}

std::string next_launch(const View& job) {
  const boost::json::value* const periodic = job["Periodic"].raw();
  const bool is_parameterized = !job["ParameterizedJob"].members().empty();
  if (is_parameterized || periodic == nullptr || !periodic->is_object()) return {};
  constexpr std::int64_t second = 1'000'000'000;
  const auto next = jobspec::next_launch(periodic->get_object(), unix_now() / second);
  if (!next) return {};
  if (!*next) return std::string{never_launched};
  const auto zone = TimeZone::find(job["Periodic"]["TimeZone"].text());
  const std::int64_t offset = zone ? zone->offset_at(**next) : 0;
  return fmt::format("{} ({})", clock_time(**next * second, offset), until(**next * second));
}

}  // namespace nomad::cli
