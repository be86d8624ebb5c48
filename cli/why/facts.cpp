#include "cli/why/facts.hpp"

#include <algorithm>
#include <set>

#include "runtime/base/sorting/sort_stably.hpp"

namespace nomad::cli::why {
namespace {

constexpr std::int64_t second = 1'000'000'000;
/// As long a task may be on its way before it is one that waits.
constexpr std::int64_t patience = 5 * second;

std::vector<View> newest_by(const boost::json::value& list, std::string_view index) {
  auto items = View{list}.items();
  sort_stably(items, [index](const View& a, const View& b) {
    return a[index].number() > b[index].number();
  });
  return items;
}

bool is_unhealthy(const View& alloc) {
  const auto healthy = alloc["DeploymentStatus"]["Healthy"];
  return !healthy.is_null() && !healthy.truth();
}

/// How much a task is to blame: 0 not at all.
int blame(const View& task) {
  const auto events = task["Events"].items();
  const auto last = events.empty() ? std::string{} : events.back()["Type"].text();
  const auto is_last = [&last](auto... types) { return ((last == types) || ...); };
  const bool was_killed_for_another = std::ranges::any_of(events, [](const View& event) {
    const auto type = event["Type"].text();
    return type == "Sibling Task Failed" || type == "Leader Task Dead";
  });
  if (task["Failed"].truth()) return was_killed_for_another ? 1 : 5;
  if (is_last("Driver Failure", "Failed Artifact Download", "Setup Failure", "Failed Validation",
              "Task hook failed"))
    return 4;
  if (is_last("Restarting")) return 4;
  if (task["State"].text() == "pending" && is_last("Template", "Downloading Artifacts")) return 3;
  return task["Restarts"].number() > 0 && task["State"].text() != "dead" ? 2 : 0;
}

/// The task that is to blame most; "" if none is.
std::string blamed_task(const View& alloc) {
  std::string worst;
  int most = 0;
  for (const auto& [name, task] : alloc["TaskStates"].members())
    if (const auto its = blame(task); its > most) {
      most = its;
      worst = name;
    }
  return worst;
}

/// Whether an allocation that should run does not do it well.
bool is_suspect(const View& alloc, std::int64_t now) {
  const auto status = alloc["ClientStatus"].text();
  if (status == "failed" || status == "lost" || status == "unknown") return true;
  if (status == "complete") return false;
  if (is_unhealthy(alloc)) return true;
  if (status == "pending" && blamed_task(alloc).empty())
    return now - alloc["CreateTime"].number() > patience;
  return !blamed_task(alloc).empty();
}

/// The version of the job that was rolled back last; -1 for none, also if another came since.
std::int64_t rolled_back_version(const Facts& facts) {
  const auto undone = undone_deployment(facts);
  return undone.is_null() ? -1 : undone["JobVersion"].number();
}

/// Whether the allocation still stands for its position in the job.
bool is_current(const View& alloc) {
  return alloc["DesiredStatus"].text() == "run" && alloc["NextAllocation"].text().empty();
}

}  // namespace

std::vector<FailingAlloc> failing_allocs(const Facts& facts) {
  std::vector<FailingAlloc> found;
  const auto rolled_back = rolled_back_version(facts);
  for (const auto& alloc : newest_by(facts.allocations, "CreateIndex")) {
    const bool is_asked = alloc["ID"].text() == facts.only_alloc;
    const bool of_rollback = is_unhealthy(alloc) && alloc["JobVersion"].number() == rolled_back;
    if (!facts.only_alloc.empty() && !is_asked) continue;
    if (!is_asked && !of_rollback && !is_current(alloc)) continue;
    if (!of_rollback && !is_suspect(alloc, facts.now)) continue;
    const auto same = std::ranges::find_if(found, [&](const FailingAlloc& other) {
      return other.alloc["TaskGroup"].text() == alloc["TaskGroup"].text()
             && other.alloc["JobVersion"].number() == alloc["JobVersion"].number();
    });
    if (same != found.end())
      ++same->alike;
    else
      found.push_back({.alloc = alloc, .task = blamed_task(alloc)});
  }
  return found;
}

std::vector<std::string> allocs_to_check(const Facts& facts) {
  std::vector<std::string> ids;
  std::set<std::string> groups;
  const auto add = [&](const View& alloc) {
    if (alloc["ClientStatus"].text() != "running") return;
    if (groups.insert(alloc["TaskGroup"].text()).second) ids.push_back(alloc["ID"].text());
  };
  for (const auto& each : failing_allocs(facts))
    add(each.alloc);
  for (const auto& alloc : newest_by(facts.allocations, "CreateIndex"))
    if (facts.only_alloc.empty() ? is_current(alloc) : alloc["ID"].text() == facts.only_alloc)
      add(alloc);
  return ids;
}

View placement_metrics(const Facts& facts) {
  const auto evals = newest_by(facts.evaluations, "ModifyIndex");
  const auto fails = [](const View& eval) { return !eval["FailedTGAllocs"].members().empty(); };
  const bool is_blocked = std::ranges::any_of(
      evals, [](const View& eval) { return eval["Status"].text() == "blocked"; });
  for (const auto& eval : evals) {
    if (fails(eval)) return eval["FailedTGAllocs"];
    // What was decided later stands for all, unless something still waits for room.
    if (!is_blocked && eval["Status"].text() == "complete") return {};
  }
  return {};
}

View group_of_job(const Facts& facts, std::string_view name) {
  for (const auto& group : View{facts.job}["TaskGroups"].items())
    if (group["Name"].text() == name) return group;
  return {};
}

std::vector<View> newest_deployments(const Facts& facts) {
  return newest_by(facts.deployments, "CreateIndex");
}

View undone_deployment(const Facts& facts) {
  const View job{facts.job};
  for (const auto& deployment : newest_deployments(facts))
    if (deployment["Status"].text() == "failed"
        && deployment["JobVersion"].number() + 1 == job["Version"].number()
        && deployment["ModifyIndex"].number() >= job["JobModifyIndex"].number())
      return deployment;
  return {};
}

}  // namespace nomad::cli::why
