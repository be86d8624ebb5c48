// job status: the list of jobs, or one job with its groups, deployment and allocations.
#include <algorithm>
#include <iostream>

#include "cli/api_command.hpp"
#include "cli/job/explained.hpp"
#include "cli/lookup.hpp"
#include "cli/output/api_shape.hpp"
#include "cli/output/describe.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/run.hpp"
#include "runtime/base/sorting/sort_stably.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

struct JobStatusFlags : ApiCommand {
  using ApiCommand::ApiCommand;

  const bool& brief = flag("short", "Shows the job's basics only.");
  const bool& evals = flag("evals", "Shows its evaluations too.");
  const bool& all_allocs = flag("all-allocs", "Also allocations of an earlier job of that id.");
  const bool& verbose = flag("verbose", "Shows whole ids and more columns.");
  const OutputFlags output{*this};
};

std::string shown_type(const View& job) {
  auto type = job["Type"].text();
  const auto has
      = [&](const char* field) { return job[field].truth() || !job[field].members().empty(); };
  if (has("Periodic")) type += "/periodic";
  if (has("ParameterizedJob")) type += "/parameterized";
  return type;
}

/// What was dispatched has the block, too.
bool is_parameterized(const View& job) {
  return !job["ParameterizedJob"].members().empty() && !job["Dispatched"].truth();
}

/// Launched by the clock: a job with parameters is only ever dispatched.
bool is_periodic(const View& job) {
  return !job["Periodic"].members().empty() && job["ParameterizedJob"].members().empty();
}

std::string shown_status(const View& job) {
  return job["Status"].text() + (job["Stop"].truth() ? " (stopped)" : "");
}

std::vector<std::string> texts(const View& list) {
  std::vector<std::string> all;
  for (const auto& item : list.items())
    all.push_back(item.text());
  return all;
}

Result<int> list_jobs(Api& api, const OutputFlags& output) {
  auto jobs = NOMAD_TRY(api.get("/v1/jobs").within("Error querying jobs"));
  if (auto code = output.print(jobs.body)) return *code;
  const auto items = jobs.view().items();
  if (items.empty()) {
    std::cout << "No running jobs\n";
    return 0;
  }
  std::cout << job_table(jobs.view(), api.all_namespaces()) << '\n';
  return 0;
}

void print_basics(const View& job) {
  Pairs basics{{"ID", job["ID"].text()},
               {"Name", job["Name"].text()},
               {"Submit Date", clock_time(job["SubmitTime"].number())},
               {"Type", job["Type"].text()},
               {"Priority", job["Priority"].text()},
               {"Datacenters", join(texts(job["Datacenters"]), ",")},
               {"Namespace", job["Namespace"].text()},
               {"Node Pool", job["NodePool"].text()},
               {"Status", shown_status(job)},
               {"Periodic", job["Periodic"].members().empty() ? "false" : "true"},
               {"Parameterized", is_parameterized(job) ? "true" : "false"}};
  if (const auto next = next_launch(job); !next.empty())
    basics.push_back({"Next Periodic Launch",
                      job["Stop"].truth() ? "none (job stopped)" : std::string{trim(next)}});
  std::cout << pairs(basics) << '\n';
}

void print_summary(const View& summary) {
  Rows rows{
      {"Task Group", "Queued", "Starting", "Running", "Failed", "Complete", "Lost", "Unknown"}};
  for (const auto& [group, counts] : summary["Summary"].members()) {
    Row row{group};
    for (const auto* field :
         {"Queued", "Starting", "Running", "Failed", "Complete", "Lost", "Unknown"})
      row.push_back(std::to_string(counts[field].number()));
    rows.push_back(std::move(row));
  }
  print_section("Summary", table(rows));
}

Result<int> print_children(Api& api, const View& job, const View& summary) {
  const auto children = summary["Children"];
  Rows counts{
      {"Pending", "Running", "Dead"},
      {std::to_string(children["Pending"].number()), std::to_string(children["Running"].number()),
       std::to_string(children["Dead"].number())}};
  const bool periodic = is_periodic(job);
  if (const auto wants = job["ParameterizedJob"]; is_parameterized(job))
    print_section("Parameterized Job",
                  pairs({{"Payload", wants["Payload"].text()},
                         {"Required Metadata", join(texts(wants["MetaRequired"]), ", ")},
                         {"Optional Metadata", join(texts(wants["MetaOptional"]), ", ")}}));
  print_section(periodic ? "Children Job Summary" : "Parameterized Job Summary", table(counts));
  const auto prefix = job["ID"].text() + (periodic ? "/periodic-" : "/dispatch-");
  auto list
      = NOMAD_TRY(api.get("/v1/jobs", {{"prefix", prefix}}).within("Error querying child jobs"));
  Rows rows{{"ID", "Status"}};
  for (const auto& child : list.view().items())
    rows.push_back({child["ID"].text(), shown_status(child)});
  const auto* name = periodic ? "Previously Launched Jobs" : "Dispatched Jobs";
  if (rows.size() > 1)
    print_section(name, table(rows));
  else
    std::cout << (periodic ? "\nNo instances of periodic job found\n"
                           : "\nNo dispatched instances of parameterized job found\n");
  return 0;
}

void print_evals(const View& evals, bool verbose) {
  Rows rows{{"ID", "Priority", "Triggered By", "Status", "Placement Failures"}};
  auto items = evals.items();
  sort_stably(items, [](const View& a, const View& b) {
    return a["CreateIndex"].number() > b["CreateIndex"].number();
  });
  for (const auto& eval : items)
    rows.push_back({shown_id(eval["ID"].text(), verbose), eval["Priority"].text(),
                    eval["TriggeredBy"].text(), eval["Status"].text(),
                    eval["FailedTGAllocs"].members().empty() ? "false" : "true"});
  print_section("Evaluations", table(rows));
}

void print_placement_failure(Api& api, const View& job, const View& evals) {
  View latest;
  for (const auto& eval : evals.items())
    if (eval["CreateIndex"].number() > latest["CreateIndex"].number()) latest = eval;
  if (latest["Status"].text() != "blocked") return;
  for (const auto& eval : evals.items())
    if (eval["BlockedEval"].text() == latest["ID"].text()
        && !eval["FailedTGAllocs"].members().empty()) {
      auto text = placement_failures(eval["FailedTGAllocs"], "");
      if (const auto why = placement_summary(api, job["ID"].text()); !why.empty())
        text += (text.ends_with('\n') ? "" : "\n") + why;
      return print_section("Placement Failure", text);
    }
}

Result<int> show_job(Api& api, const JobStatusFlags& flags, const std::string& id) {
  const auto path = "/v1/job/" + segment(id);
  auto job = api.get(path);
  if (!job) return fail("Error querying job", job.error());
  print_basics(job->view());
  if (flags.brief) return 0;
  auto summary = NOMAD_TRY(api.get(path + "/summary").within("Error querying job summary"));
  const bool has_children = is_periodic(job->view()) || is_parameterized(job->view());
  if (has_children) return print_children(api, job->view(), summary.view());
  print_summary(summary.view());
  auto evals = NOMAD_TRY(api.get(path + "/evaluations").within("Error querying job evaluations"));
  if (flags.evals || flags.verbose) print_evals(evals.view(), flags.verbose);
  print_placement_failure(api, job->view(), evals.view());
  auto deployment = api.get(path + "/deployment");
  if (!deployment) return fail("Error querying latest job deployment", deployment.error());
  if (!deployment->view().is_null())
    print_section("Latest Deployment", deployment_block(deployment->view(), flags.verbose, true));
  auto allocs
      = NOMAD_TRY(api.get(path + "/allocations", {{"all", flags.all_allocs ? "true" : "false"}})
                      .within("Error querying job allocations"));
  print_section("Allocations", allocs.view().items().empty()
                                   ? "No allocations placed"
                                   : alloc_table(allocs.view(), flags.verbose));
  return 0;
}

}  // namespace

std::string job_table(const View& jobs, bool with_namespace) {
  Rows rows{{"ID", "Type", "Priority", "Status", "Submit Date"}};
  if (with_namespace) rows[0].insert(rows[0].begin() + 1, "Namespace");
  for (const auto& job : jobs.items()) {
    Row row{job["ID"].text(), shown_type(job), job["Priority"].text(), shown_status(job),
            clock_time(job["SubmitTime"].number())};
    if (with_namespace) row.insert(row.begin() + 1, job["JobSummary"]["Namespace"].text());
    rows.push_back(std::move(row));
  }
  return table(rows);
}

Result<int> run_job_status(const std::vector<std::string>& arguments) {
  JobStatusFlags command{"job status [options] [id]", "Lists the jobs, or shows one."};
  if (auto code = command.start(arguments, optional_word("<job>"))) return *code;
  auto& api = *command.api;
  if (command.positional().empty()) return list_jobs(api, command.output);
  const auto job = NOMAD_TRY(find_job(api, command.positional()[0]));
  if (!command.output.requested()) return show_job(api, command, job);
  const auto stored = NOMAD_TRY(api.get("/v1/job/" + segment(job)).within("Error querying job"));
  return *command.output.print(as_printed(ApiShape::job, stored.body));
}

}  // namespace nomad::cli
