// job inspect, allocs, deployments, history: reading what is stored of a job.
#include <algorithm>
#include <iostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/lookup.hpp"
#include "cli/output/api_shape.hpp"
#include "cli/output/describe.hpp"
#include "cli/output/diff.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

/// What all commands of this file start with: the flags, one job id, a connection.
struct JobView : ApiCommand {
  OutputFlags output;
  std::string job;

  JobView(std::string_view usage, std::string_view about) : ApiCommand{usage, about} {
    output.add_to(*this);
  }

  /// The exit code when the command ends here.
  std::optional<int> start(const std::vector<std::string>& arguments) {
    if (auto code = ApiCommand::start(arguments, one_word("<job>"))) return code;
    auto found = find_job(*api, positional()[0]);
    if (!found) return fail(found.error());
    job = *found;
    return std::nullopt;
  }

  std::string path(std::string_view below = "") const {
    return "/v1/job/" + segment(job) + std::string{below};
  }
};

std::string trimmed(std::string text) {
  while (text.ends_with('\n'))
    text.pop_back();
  return text;
}

}  // namespace

Result<int> run_job_inspect(const std::vector<std::string>& arguments) {
  JobView command{"job inspect [options] <id>", "Prints a job as the servers store it."};
  auto& version
      = command.option<std::optional<std::int64_t>>("version", "An earlier version of the job.");
  if (auto code = command.start(arguments)) return *code;
  boost::json::value job;
  if (version) {
    auto versions = NOMAD_TRY(
        command.api->get(command.path("/versions")).within("Error retrieving job versions"));
    for (const auto& each : versions.view()["Versions"].items())
      if (each["Version"].number() == *version) job = *each.raw();
    if (job.is_null())
      return mistake(
          fmt::format("Error inspecting job: job \"{}\" with version {} couldn't be found",
                      command.job, *version));
  } else {
    auto stored = NOMAD_TRY(command.api->get(command.path()).within("Error inspecting job"));
    job = std::move(stored.body);
  }
  job = as_printed(ApiShape::job, job);
  if (auto code = command.output.print(job)) return *code;
  print_json(boost::json::object{{"Job", std::move(job)}});
  return 0;
}

Result<int> run_job_allocs(const std::vector<std::string>& arguments) {
  JobView command{"job allocs [options] <id>", "Lists the allocations of a job."};
  auto& all = command.flag("all", "Also allocations of an earlier job of that id.");
  auto& verbose = command.flag("verbose", "Shows whole ids and more columns.");
  if (auto code = command.start(arguments)) return *code;
  auto allocs
      = NOMAD_TRY(command.api->get(command.path("/allocations"), {{"all", all ? "true" : "false"}})
                      .within("Error retrieving allocations"));
  if (auto code = command.output.print(as_printed(ApiShape::alloc_stub, allocs.body))) return *code;
  std::cout << (allocs.view().items().empty() ? "No allocations placed"
                                              : alloc_table(allocs.view(), verbose))
            << '\n';
  return 0;
}

Result<int> run_job_deployments(const std::vector<std::string>& arguments) {
  JobView command{"job deployments [options] <id>", "Lists the deployments of a job."};
  auto& all = command.flag("all", "Also deployments of an earlier job of that id.");
  auto& latest = command.flag("latest", "Shows the latest one only, whole.");
  auto& verbose = command.flag("verbose", "Shows whole ids.");
  if (auto code = command.start(arguments)) return *code;
  auto answer = NOMAD_TRY(command.api
                              ->get(command.path(latest ? "/deployment" : "/deployments"),
                                    {{"all", all ? "true" : "false"}})
                              .within("Error retrieving deployments"));
  if (auto code = command.output.print(as_printed(ApiShape::deployment, answer.body))) return *code;
  if (answer.view().is_null() || (!latest && answer.view().items().empty()))
    std::cout << "No deployments found\n";
  else if (latest)
    std::cout << deployment_block(answer.view(), verbose, false) << '\n';
  else
    std::cout << deployment_table(answer.view(), verbose) << '\n';
  return 0;
}

Result<int> run_job_history(const std::vector<std::string>& arguments) {
  JobView command{"job history [options] <id>", "Shows the versions of a job, newest first."};
  auto& diffs = command.flag("p", "Shows what each version changed.");
  auto& full = command.flag("full", "Prints the versions whole, as JSON.");
  auto& version = command.option<std::optional<std::int64_t>>("version", "Only this version.");
  if (auto code = command.start(arguments)) return *code;
  auto answer
      = NOMAD_TRY(command.api->get(command.path("/versions"), {{"diffs", diffs ? "true" : "false"}})
                      .within("Error retrieving job versions"));
  const auto versions = answer.view()["Versions"].items();
  const auto changes = answer.view()["Diffs"].items();
  boost::json::array chosen;
  std::string text;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const auto& job = versions[i];
    if (version && job["Version"].number() != *version) continue;
    chosen.push_back(as_printed(ApiShape::job, *job.raw()));
    if (!text.empty()) text += "\n\n";
    text += pairs({{"Version", job["Version"].text()},
                   {"Stable", job["Stable"].text()},
                   {"Submit Date", clock_time(job["SubmitTime"].number())}});
    if (diffs && i < changes.size())
      text += "\nDiff        = \n" + trimmed(job_diff(changes[i], false));
    if (full) text += "\nFull        = JSON Job:\n" + json_text(*job.raw());
  }
  if (chosen.empty()) return mistake("No matching job versions found");
  if (command.output.requested()) {
    boost::json::value all;
    if (version)
      all = chosen[0];
    else
      all = std::move(chosen);
    return *command.output.print(all);
  }
  std::cout << text << '\n';
  return 0;
}

}  // namespace nomad::cli
