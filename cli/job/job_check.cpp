// job plan and job validate: what would happen, and whether the file is right.
#include <iostream>
#include <map>
#include <string>
#include <tuple>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/absent_services.hpp"
#include "cli/api.hpp"
#include "cli/job/circumstances.hpp"
#include "cli/job/job_file.hpp"
#include "cli/output/describe.hpp"
#include "cli/output/diff.hpp"
#include "cli/output/layout.hpp"
#include "cli/programs.hpp"
#include "cli/run.hpp"
#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/jobspec/job_draft.hpp"
#include "runtime/jobspec/validate/validate.hpp"
#include "runtime/net/http/error_status.hpp"
#include "runtime/text/shell_word.hpp"

namespace nomad::cli {
namespace {

constexpr std::string_view check_index_help
    = "When running the job with the check-index flag, the job will only be run if the\n"
      "job modify index given matches the server-side version. If the index has\n"
      "changed, another user has modified the job and the plan's results are\n"
      "potentially invalid.\n";

void print_dry_run(const View& plan, const JobFile& file) {
  const bool is_system = file.text("Type") == "system";
  const auto failed = plan["FailedTGAllocs"];
  std::cout << title("Scheduler dry-run:") << '\n';
  if (failed.members().empty()) {
    std::cout << colored("- All tasks successfully allocated.", "green") << '\n';
  } else {
    std::cout << colored(is_system ? "- WARNING: Failed to place allocations on all nodes."
                                   : "- WARNING: Failed to place all allocations.",
                         "yellow")
              << '\n'
              << placement_failures(failed, "  ") << '\n';
  }
  for (const auto& eval : plan["CreatedEvals"].items())
    if (eval["TriggeredBy"].text() == "rolling-update")
      std::cout << fmt::format("- Rolling update, next evaluation will be in {}.\n",
                               short_duration(eval["Wait"].number()));
  const boost::json::value job = file.job;
  if (const auto next = next_launch(View{job}); !next.empty() && next != never_launched)
    std::cout << fmt::format("- If submitted now, next periodic launch would be at {}.\n", next);
  std::cout << '\n';
}

/// So many allocations, or jobs, are listed one by one.
constexpr std::size_t most_listed = 10;

/// Who would be preempted: each allocation, or how many of each job, or of each type of jobs.
void print_preemptions(const View& plan) {
  const auto preempted = plan["Annotations"]["PreemptedAllocs"].items();
  if (preempted.empty()) return;
  using Job = std::tuple<std::string, std::string, std::string>;
  std::map<Job, std::size_t> jobs;
  std::map<std::string, std::size_t> types;
  Rows rows{{"Alloc ID", "Job ID", "Task Group"}};
  for (const auto& alloc : preempted) {
    rows.push_back({alloc["ID"].text(), alloc["JobID"].text(), alloc["TaskGroup"].text()});
    ++jobs[{alloc["JobType"].text(), alloc["JobID"].text(), alloc["Namespace"].text()}];
    ++types[alloc["JobType"].text()];
  }
  if (preempted.size() >= most_listed && jobs.size() < most_listed) {
    rows = {{"Job ID", "Namespace", "Job Type", "Preemptions"}};
    for (const auto& [job, count] : jobs)
      rows.push_back({std::get<1>(job), std::get<2>(job), std::get<0>(job), std::to_string(count)});
  } else if (preempted.size() >= most_listed) {
    rows = {{"Job Type", "Preemptions"}};
    for (const auto& [type, count] : types)
      rows.push_back({type, std::to_string(count)});
  }
  std::cout << colored("Preemptions:\n", "yellow") << '\n' << table(rows) << '\n';
}

/// Which nodes new allocations would come to.
void print_placements(const View& plan) {
  Rows rows{{"Task Group", "Node ID", "Node Name", "Allocations"}};
  for (const auto& [group, nodes] : plan["Placements"].members())
    for (const auto& node : nodes.items())
      rows.push_back({group, node["NodeID"].text(), node["NodeName"].text(), node["Count"].text()});
  if (rows.size() > 1) std::cout << title("Placements:") << '\n' << table(rows) << "\n\n";
}

/// 1 when the plan would create or destroy something. A job that is as registered never comes to
/// rest otherwise: one that is periodic, or that waits for capacity.
int code_of(const View& plan) {
  if (plan["Diff"]["Type"].text() == "None") return 0;
  for (const auto& [group, updates] : plan["Annotations"]["DesiredTGUpdates"].members())
    for (const auto* field :
         {"Place", "Migrate", "Stop", "InPlaceUpdate", "DestructiveUpdate", "Canary"})
      if (std::string_view{field} != "InPlaceUpdate" && updates[field].number() > 0) return 1;
  return 0;
}

/// The command that registers what was planned, if nobody has changed the job since: with all that
/// was given to the plan and is not the plan's own or secret.
std::string run_command(const Arguments& planned, std::int64_t index) {
  std::string out = fmt::format("{} job run -check-index {}", program_name(), index);
  for (const std::string& flag : planned.given()) {
    const std::string_view name = std::string_view{flag}.substr(0, flag.find('='));
    const bool is_left_out = name == "-diff" || name == "-verbose" || name == "-token"
                             || name == "-with" || name.starts_with("-vault-");
    if (!is_left_out) out += ' ' + shell_word(flag);
  }
  const std::string& path = planned.positional().front();
  return fmt::format("{}{} {}", out, path.size() > 1 && path[0] == '-' ? " --" : "",
                     shell_word(path));
}

}  // namespace

Result<int> run_job_plan(const std::vector<std::string>& arguments) {
  Arguments parser{"job plan [options] <path>",
                   "Shows what registering a job file would change, and changes nothing."};
  CommonFlags common{parser};
  const JobFileFlags file_flags{parser};
  auto& show_diff = parser.flag("diff", "Whether the difference to the stored job is shown.", true);
  auto& policy_override
      = parser.flag("policy-override", "Passes over soft-mandatory policies of admission.");
  auto& verbose = parser.flag(
      "verbose", "Shows added and deleted parts whole, and the nodes of new allocations.");
  auto& with = parser.list(
      "with",
      "Plans as if this were so: \"drain NODE\", \"remove NODE\" or \"add 3 like NODE\"; can "
      "be given several times.");
  accept_without_effect(parser, {"vault-namespace", "vault-token"});
  constexpr int broken = 255;  // 1 says that there is something to do
  if (auto code = parser.parse(arguments)) return *code == 0 ? 0 : broken;
  if (parser.positional().size() != 1) {
    parser.misuse("This command takes one argument: <path>");
    return broken;
  }
  const auto failed = [](std::string_view what, const Error& error) {
    fail(what, error);
    return broken;
  };
  common.choose_color();
  auto file = read_job_file(parser.positional()[0], file_flags);
  if (!file) return failed("Error getting job struct", file.error());
  use_scope_of(file->job, common);
  auto api = Api::make(common);
  if (!api) return failed("Error", api.error());
  const auto id = file->text("ID");
  if (id.empty()) return failed("Error during plan", {Errc::invalid_argument, "Missing job ID"});
  auto supposed = circumstances(*api, with);
  if (!supposed) return failed("Error reading -with", supposed.error());
  auto plan = api->put("/v1/job/" + segment(id) + "/plan",
                       boost::json::object{{"Job", file->job},
                                           {"Diff", true},
                                           {"PolicyOverride", policy_override},
                                           {"With", std::move(*supposed)}});
  if (!plan) return failed("Error during plan", plan.error());
  const auto view = plan->view();
  if (show_diff) std::cout << job_diff(view["Diff"], verbose);
  print_dry_run(view, *file);
  if (const auto warnings = view["Warnings"].text(); !warnings.empty())
    std::cout << colored("Job Warnings:\n" + warnings, "yellow") << "\n\n";
  print_preemptions(view);
  if (verbose || !with.empty()) print_placements(view);
  const auto index = view["JobModifyIndex"].number();
  std::cout << fmt::format("{}\nTo submit the job with version verification run:\n\n{}\n\n{}",
                           title(fmt::format("Job Modify Index: {}", index)),
                           run_command(parser, index), check_index_help);
  return code_of(view);
}

Result<int> run_job_validate(const std::vector<std::string>& arguments) {
  Arguments parser{"job validate [options] <path>",
                   "Checks a job file: by the agent if one answers, else here."};
  CommonFlags common{parser};
  const JobFileFlags file_flags{parser};
  accept_without_effect(parser, {"vault-namespace", "vault-token"});
  if (auto code = parser.parse(arguments, one_word("<path>"))) return *code;
  common.choose_color();
  auto file = NOMAD_TRY(
      read_job_file(parser.positional()[0], file_flags).within("Error getting job struct"));
  use_scope_of(file.job, common);
  auto api = NOMAD_TRY(Api::make(common));
  std::vector<std::string> errors;
  std::string warnings;
  if (auto answer = api.put("/v1/validate/job", boost::json::object{{"Job", file.job}})) {
    for (const auto& each : answer->view()["ValidationErrors"].items())
      errors.push_back(each.text());
    warnings = answer->view()["Warnings"].text();
    // Also without servers, or without a leader, the job can be looked at.
  } else if (net::http_status(answer.error().code) < 500) {
    return fail("Error validating job", answer.error());
  } else {
    auto draft = NOMAD_TRY(jobspec::JobDraft::decode(file.job).within("Error validating job"));
    jobspec::admit(draft.job());
    const auto validation
        = jobspec::validate(draft.job(), {.job_types = std::nullopt, .providers = std::nullopt});
    errors = validation.errors;
    warnings = validation.warning_text();
  }
  if (!errors.empty()) {
    std::cerr << colored("Job validation errors:", "red") << '\n';
    std::cerr << jobspec::join_errors(errors);
    return 1;
  }
  if (!warnings.empty()) std::cout << colored("Job Warnings:\n" + warnings, "yellow") << "\n\n";
  std::cout << colored("Job validation successful", "green") << '\n';
  return 0;
}

}  // namespace nomad::cli
