// job inspect, allocs, deployments, history: reading what is stored of a job.
#include <algorithm>
#include <functional>
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

  /// The exit code when the command ends here, as for flags that `wrong` says something of.
  std::optional<int> start(const std::vector<std::string>& arguments,
                           const std::function<const char*()>& wrong = {}) {
    if (auto code = parse(arguments, one_word("<job>"))) return code;
    if (const auto* text = wrong ? wrong() : nullptr) return misuse(text);
    if (const auto made = connect(); !made) return fail(made.error());
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

/// What is said of a version, with as much of it as is asked for.
std::string version_text(const View& job, const View* change, bool full) {
  Pairs block{{"Version", job["Version"].text()},
              {"Stable", job["Stable"].text()},
              {"Submit Date", clock_time(job["SubmitTime"].number())}};
  const auto tag = job["VersionTag"];
  const auto description = tag["Description"].text();
  if (!tag.is_null()) block.emplace_back("Tag Name", tag["Name"].text());
  if (!description.empty()) block.emplace_back("Tag Description", description);
  auto text = pairs(block);
  const auto width
      = std::string_view{description.empty() ? "Submit Date" : "Tag Description"}.size();
  if (change != nullptr && (*change)["Type"].text() != "None")
    text += fmt::format("\n{:<{}} = \n{}", "Diff", width, trimmed(job_diff(*change, false)));
  if (full) text += fmt::format("\n{:<{}} = JSON Job:\n{}", "Full", width, json_text(*job.raw()));
  return text;
}

/// The source of a version, or of the newest, as its user wrote it.
Result<int> print_source(JobView& command, std::optional<std::int64_t> version) {
  auto& api = *command.api;
  if (!version) {
    const auto job = NOMAD_TRY(api.get(command.path()).within("Error inspecting job"));
    version = job.view()["Version"].number();
  }
  const auto source
      = NOMAD_TRY(api.get(command.path("/submission"), {{"version", std::to_string(*version)}})
                      .within("Error retrieving the job's source"));
  if (const auto format = source.view()["Format"].text(); format == "json")
    return mistake("Error inspecting job: it was registered as JSON, and has no source in HCL");
  std::cout << trimmed(source.view()["Source"].text()) << '\n';
  return 0;
}

}  // namespace

Result<int> run_job_inspect(const std::vector<std::string>& arguments) {
  JobView command{"job inspect [options] <id>", "Prints a job as the servers store it."};
  auto& version
      = command.option<std::optional<std::int64_t>>("version", "An earlier version of the job.");
  auto& hcl = command.flag("hcl", "Prints the file that it was registered with.");
  if (auto code = command.start(arguments, [&]() -> const char* {
        return hcl && command.output.requested() ? "-hcl excludes -json and -t" : nullptr;
      }))
    return *code;
  if (hcl) return print_source(command, version);
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
  auto& diffs = command.flag(
      "p", "Shows what each version changed, or how it differs from the one that is named.");
  auto& diff_tag = command.option("diff-tag", "With -p: compares with the version of this tag.");
  auto& diff_version = command.option<std::optional<std::int64_t>>(
      "diff-version", "With -p: compares with this version.");
  auto& full = command.flag("full", "Prints the versions whole, as JSON.");
  auto& version = command.option<std::optional<std::int64_t>>("version", "Only this version.");
  if (auto code = command.start(arguments, [&]() -> const char* {
        if (!diffs && (!diff_tag.empty() || diff_version))
          return "-diff-tag and -diff-version can only be used with -p";
        const bool both = !diff_tag.empty() && diff_version;
        return both ? "-diff-tag and -diff-version are mutually exclusive" : nullptr;
      }))
    return *code;
  Query query{{"diffs", diffs ? "true" : "false"}};
  if (!diff_tag.empty()) query.emplace_back("diff_tag", diff_tag);
  if (diff_version) query.emplace_back("diff_version", std::to_string(*diff_version));
  auto answer = NOMAD_TRY(
      command.api->get(command.path("/versions"), query).within("Error retrieving job versions"));
  const auto versions = answer.view()["Versions"].items();
  const auto changes = answer.view()["Diffs"].items();
  boost::json::array chosen;
  std::string text;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const auto& job = versions[i];
    if (version && job["Version"].number() != *version) continue;
    chosen.push_back(as_printed(ApiShape::job, *job.raw()));
    if (!text.empty()) text += "\n\n";
    text += version_text(job, i < changes.size() ? &changes[i] : nullptr, full);
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
