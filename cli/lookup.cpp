#include "cli/lookup.hpp"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/did_you_mean.hpp"
#include "runtime/base/sorting/sort_stably.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

std::string table_of(const UuidKind& kind, const View& matches, bool verbose) {
  if (kind.noun == alloc_kind.noun) return alloc_table(matches, verbose);
  if (kind.noun == node_kind.noun) return pool_node_table(matches, verbose);
  if (kind.noun == eval_kind.noun) return eval_table(matches, verbose);
  return deployment_table(matches, verbose);
}

/// Newest first, as the lists are shown.
std::vector<View> newest_first(const View& list) {
  auto items = list.items();
  sort_stably(items, [](const View& a, const View& b) {
    return a["CreateIndex"].number() > b["CreateIndex"].number();
  });
  return items;
}

}  // namespace

Result<Answer> find_by_prefix(Api& api,
                              const UuidKind& kind,
                              const std::string& prefix,
                              bool verbose) {
  if (prefix.size() < 2)
    return mistake(std::string{kind.title} + " must contain at least two characters.");
  const auto hyphens = std::count(prefix.begin(), prefix.end(), '-');
  const bool is_odd = (prefix.size() - static_cast<std::size_t>(hyphens)) % 2 != 0;
  const auto asked = is_odd ? prefix.substr(0, prefix.size() - 1) : prefix;
  const auto list
      = NOMAD_TRY(api.get(std::string{kind.list_path}, {{"prefix", asked}}).within(kind.error));
  boost::json::array matches;
  for (const auto& item : list.view().items())
    if (item["ID"].text().starts_with(prefix)) matches.push_back(*item.raw());
  if (matches.empty() && !kind.id.empty())
    return mistake(
        fmt::format("{}: {} \"{}\" matched no {}s", kind.error, kind.id, asked, kind.noun));
  if (matches.empty())
    return mistake(fmt::format("No {}(s) with prefix{} \"{}\" found{}", kind.noun, kind.or_id,
                               prefix, kind.noun == node_kind.noun ? meant_node(api, prefix) : ""));
  if (matches.size() > 1) {
    const boost::json::value several = matches;
    return mistake(fmt::format("Prefix matched multiple {}s\n\n{}", kind.noun,
                               table_of(kind, View{several}, verbose)));
  }
  const View match{matches[0]};
  if (!match["Namespace"].text().empty()) api.use_namespace(match["Namespace"].text());
  return api.get(std::string{kind.read_path} + match["ID"].text()).within(kind.error);
}

Result<std::string> own_node(Api& api) {
  const auto self = NOMAD_TRY(api.get("/v1/agent/self")
                                  .within("failed querying self endpoint")
                                  .within("Error querying agent info"));
  auto id = self.view()["stats"]["client"]["node_id"].text();
  if (id.empty()) return mistake("Agent is not running in client mode");
  return id;
}

namespace {

bool is_of_kind(const View& job, const JobKind& kind) {
  return kind.flag.empty() || (job[kind.flag].truth() && job["ParentID"].text().empty());
}

std::string meant_job(Api& api, const std::string& id, const JobKind& kind) {
  const auto list = api.get("/v1/jobs", {{"per_page", std::to_string(most_compared_names)}});
  if (!list) return {};
  std::vector<std::string> names;
  for (const auto& job : list->view().items())
    if (is_of_kind(job, kind)) names.push_back(job["ID"].text());
  return meant_among(id, names);
}

}  // namespace

Result<std::string> find_job(Api& api, const std::string& id, const JobKind& kind) {
  const auto list = NOMAD_TRY(
      api.get("/v1/jobs", {{"prefix", id}}).within("Error querying job prefix \"" + id + '"'));
  auto matches = list.view().items();
  std::erase_if(matches, [&](const View& job) { return !is_of_kind(job, kind); });
  if (matches.empty())
    return mistake(fmt::format("No {}job(s) with prefix or ID \"{}\" found{}", kind.adjective, id,
                               meant_job(api, id, kind)));
  const auto exact = std::find_if(matches.begin(), matches.end(),
                                  [&](const View& job) { return job["ID"].text() == id; });
  if (exact == matches.end() && matches.size() > 1) {
    boost::json::array several;
    for (const auto& job : matches)
      several.push_back(*job.raw());
    const boost::json::value shown = several;
    return mistake(fmt::format("Prefix \"{}\" matched multiple jobs\n\n{}", id,
                               job_table(View{shown}, api.all_namespaces())));
  }
  const auto& match = exact == matches.end() ? matches.front() : *exact;
  const auto ns = match["JobSummary"]["Namespace"].text();
  if (!ns.empty()) api.use_namespace(ns);
  return match["ID"].text();
}

Result<std::string> any_alloc_of_job(Api& api, const std::string& job, const std::string& group) {
  const auto allocs = NOMAD_TRY(
      api.get("/v1/job/" + segment(job) + "/allocations").within("Error querying job allocations"));
  for (const auto* wanted : {"running", ""})
    for (const auto& alloc : newest_first(allocs.view()))
      if ((group.empty() || alloc["TaskGroup"].text() == group)
          && (*wanted == '\0' || alloc["ClientStatus"].text() == wanted))
        return alloc["ID"].text();
  if (!group.empty())
    return mistake(fmt::format("No allocations found for group \"{}\" of job \"{}\"", group, job));
  return mistake(fmt::format("No allocations found for job \"{}\"", job));
}

std::vector<std::string> tasks_of_alloc(const View& alloc) {
  std::vector<std::string> names;
  for (const auto& group : alloc["Job"]["TaskGroups"].items())
    if (group["Name"].text() == alloc["TaskGroup"].text())
      for (const auto& task : group["Tasks"].items())
        names.push_back(task["Name"].text());
  return names;
}

std::string alloc_table(const View& allocs, bool verbose, bool names_nodes) {
  Row header{"ID"};
  if (verbose) header.emplace_back("Eval ID");
  header.emplace_back("Node ID");
  if (verbose && names_nodes) header.emplace_back("Node Name");
  header.insert(header.end(),
                {"Task Group", "Version", "Desired", "Status", "Created", "Modified"});
  Rows rows{header};
  for (const auto& alloc : newest_first(allocs)) {
    Row row{shown_id(alloc["ID"].text(), verbose)};
    if (verbose) row.push_back(alloc["EvalID"].text());
    row.push_back(shown_id(alloc["NodeID"].text(), verbose));
    if (verbose && names_nodes) row.push_back(alloc["NodeName"].text());
    const auto version
        = alloc["JobVersion"].is_null() ? alloc["Job"]["Version"] : alloc["JobVersion"];
    for (auto cell : {alloc["TaskGroup"].text(), version.text(), alloc["DesiredStatus"].text(),
                      alloc["ClientStatus"].text()})
      row.push_back(std::move(cell));
    for (const auto* field : {"CreateTime", "ModifyTime"})
      row.push_back(verbose ? clock_time(alloc[field].number()) : age(alloc[field].number()));
    rows.push_back(std::move(row));
  }
  return table(rows);
}

std::string node_table(const View& nodes, bool verbose, bool with_os, bool with_allocs, Api* api) {
  Row header{"ID", "Node Pool", "DC", "Name", "Class"};
  if (with_os) header.emplace_back("OS");
  if (verbose) header.insert(header.end(), {"Address", "Version"});
  header.insert(header.end(), {"Drain", "Eligibility", "Status"});
  if (with_allocs) header.emplace_back("Running Allocs");
  Rows rows{header};
  for (const auto& node : newest_first(nodes)) {
    Row row{shown_id(node["ID"].text(), verbose), node["NodePool"].text(),
            node["Datacenter"].text(), node["Name"].text(), node["NodeClass"].text()};
    if (with_os) row.push_back(node["Attributes"]["os.name"].text());
    if (verbose) row.insert(row.end(), {node["Address"].text(), node["Version"].text()});
    row.insert(row.end(), {node["Drain"].truth() ? "true" : "false",
                           node["SchedulingEligibility"].text(), node["Status"].text()});
    if (with_allocs && api != nullptr) {
      auto allocs = api->get("/v1/node/" + node["ID"].text() + "/allocations");
      const auto items = allocs ? allocs->view().items() : std::vector<View>{};
      row.push_back(std::to_string(std::count_if(items.begin(), items.end(), [](const View& a) {
        return a["ClientStatus"].text() == "running";
      })));
    }
    rows.push_back(std::move(row));
  }
  return table(rows);
}

std::string pool_node_table(const View& nodes, bool verbose) {
  Rows rows{{"ID", "DC", "Name", "Class", "Drain", "Eligibility", "Status"}};
  for (const auto& node : newest_first(nodes))
    rows.push_back({shown_id(node["ID"].text(), verbose), node["Datacenter"].text(),
                    node["Name"].text(), node["NodeClass"].text(),
                    node["Drain"].truth() ? "true" : "false", node["SchedulingEligibility"].text(),
                    node["Status"].text()});
  return table(rows);
}

std::string eval_table(const View& evals, bool verbose) {
  Rows rows{{"ID", "Priority", "Triggered By", "Job ID", "Namespace", "Node ID", "Status",
             "Placement Failures"}};
  for (const auto& eval : newest_first(evals)) {
    const auto status = eval["Status"].text();
    const bool in_progress = status == "pending" || status == "blocked";
    rows.push_back({shown_id(eval["ID"].text(), verbose), eval["Priority"].text(),
                    eval["TriggeredBy"].text(), eval["JobID"].text(), eval["Namespace"].text(),
                    shown_id(eval["NodeID"].text(), verbose), status,
                    in_progress ? "N/A - In Progress"
                                : (eval["FailedTGAllocs"].members().empty() ? "false" : "true")});
  }
  return table(rows);
}

std::string deployment_table(const View& deployments, bool verbose) {
  Rows rows{{"ID", "Job ID", "Job Version", "Status", "Description"}};
  for (const auto& deployment : newest_first(deployments))
    rows.push_back({shown_id(deployment["ID"].text(), verbose), deployment["JobID"].text(),
                    deployment["JobVersion"].text(), deployment["Status"].text(),
                    deployment["StatusDescription"].text()});
  return table(rows);
}

AllocFlags::AllocFlags(Arguments& command)
    : job{command.flag("job", "The first argument is a job; one of its allocations is taken.")},
      group{command.option("group", "With -job: an allocation of this group.")} {}

Result<Answer> choose_alloc(Api& api,
                            const AllocFlags& flags,
                            const std::string& name,
                            bool verbose) {
  if (!flags.job && !flags.group.empty())
    return mistake("-group says of which group of a job the allocation is: it needs -job");
  if (!flags.job) return find_by_prefix(api, alloc_kind, name, verbose);
  const auto job = NOMAD_TRY(find_job(api, name));
  const auto alloc = NOMAD_TRY(any_alloc_of_job(api, job, flags.group));
  return find_by_prefix(api, alloc_kind, alloc, verbose);
}

Result<std::string> choose_task(const View& alloc,
                                const std::string& flag,
                                const std::string& argument,
                                std::string_view complaint) {
  const auto names = tasks_of_alloc(alloc);
  if (!flag.empty() && std::find(names.begin(), names.end(), flag) == names.end())
    return mistake(fmt::format("{}Could not find task named: {}, found:\n{}", complaint, flag,
                               join(names, "\n")));
  if (!flag.empty()) return flag;
  if (!argument.empty()) return argument;
  if (names.size() == 1) return names[0];
  return mistake(fmt::format(
      "{}Allocation \"{}\" is running the following tasks:\n  * {}\n\nPlease specify the task.",
      complaint, alloc["ID"].text().substr(0, 8), join(names, "\n  * ")));
}

}  // namespace nomad::cli
