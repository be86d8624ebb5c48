// job run: registers a job and follows it until it runs.
#include <iostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/absent_services.hpp"
#include "cli/api_command.hpp"
#include "cli/job/job_file.hpp"
#include "cli/monitor.hpp"
#include "cli/output/describe.hpp"
#include "cli/output/layout.hpp"
#include "cli/run.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::cli {
namespace {

struct RunFlags : ApiCommand {
  using ApiCommand::ApiCommand;

  JobFileFlags file{*this};
  const std::optional<std::int64_t>& check_index = option<std::optional<std::int64_t>>(
      "check-index", "Registers only if the job's modify index is this; 0: if the job is new.");
  const std::int64_t& eval_priority = number("eval-priority", "The evaluation's priority.");
  const bool& detach = flag("detach", "Returns at once instead of following the evaluation.");
  const bool& output = flag("output", "Prints the job as JSON and registers nothing.");
  const bool& policy_override
      = flag("policy-override", "Passes over soft-mandatory policies of admission.");
  const bool& preserve_counts = flag("preserve-counts", "Keeps the group counts that are set.");
  const bool& preserve_resources
      = flag("preserve-resources", "Keeps the resources of tasks that are registered.");
  const bool& verbose = flag("verbose", "Shows whole ids.");
};

int follow(Api& api, const RunFlags& flags, const View& answer, const JobFile& file) {
  if (const auto warnings = answer["Warnings"].text(); !warnings.empty())
    std::cout << colored("Job Warnings:\n" + warnings + '\n', "yellow") << '\n';
  const auto eval_id = answer["EvalID"].text();
  if (eval_id.empty()) {
    std::cout << "Job registration successful\n";
    if (const auto stored = api.get("/v1/job/" + segment(file.text("ID"))))
      if (const auto next = next_launch(stored->view()); !next.empty())
        std::cout << fmt::format("Approximate next launch time: {}\n", next);
    return 0;
  }
  if (flags.detach) {
    std::cout << "Job registration successful\nEvaluation ID: " << eval_id << '\n';
    return 0;
  }
  return monitor_evaluation(api, eval_id, {.verbose = flags.verbose});
}

}  // namespace

Result<int> run_job_run(const std::vector<std::string>& arguments) {
  RunFlags flags{"job run [options] <path>",
                 "Registers the job in a file, or updates it, and follows the evaluation."};
  accept_without_effect(flags,
                        {"consul-namespace", "consul-token", "vault-namespace", "vault-token"});
  if (auto code = flags.parse(arguments, one_word("<path>"))) return *code;
  flags.common.choose_color();
  auto file = NOMAD_TRY(
      read_job_file(flags.positional()[0], flags.file).within("Error getting job struct"));
  if (flags.output) {
    print_json(boost::json::object{{"Job", file.job}});
    return 0;
  }
  use_scope_of(file.job, flags.common);
  auto api = NOMAD_TRY(Api::make(flags.common));
  boost::json::object body{{"Job", file.job},
                           {"PreserveCounts", flags.preserve_counts},
                           {"PreserveResources", flags.preserve_resources},
                           {"PolicyOverride", flags.policy_override},
                           {"EvalPriority", flags.eval_priority},
                           {"Submission", file.submission}};
  if (flags.check_index) {
    body["EnforceIndex"] = true;
    body["JobModifyIndex"] = *flags.check_index;
  }
  const auto answer = NOMAD_TRY(
      api.send("PUT", "/v1/jobs", {}, boost::json::serialize(body)).within("Error submitting job"));
  if (answer.status == 409) return mistake(answer.body + "\nJob not updated");
  if (answer.status / 100 != 2) return fail("Error submitting job", refusal(answer));
  const auto registered = NOMAD_TRY(json_of(answer).within("Error submitting job"));
  return follow(api, flags, View{registered}, file);
}

}  // namespace nomad::cli
