// job tag apply, unset: names for versions of a job, which keep them from being forgotten.
#include <iostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/lookup.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

struct TagCommand : ApiCommand {
  using ApiCommand::ApiCommand;

  const std::string& name = option("name", "The tag; needed.");
  std::string job = {};

  /// The connection and the job; the exit code when the command ends here.
  std::optional<int> begin(const std::vector<std::string>& arguments) {
    if (auto code = parse(arguments, one_word("<job>"))) return code;
    if (name.empty()) return misuse("A version tag name is required");
    if (const auto made = connect(); !made) return fail(made.error());
    auto found = find_job(*api, positional()[0]);
    if (!found) return fail(found.error());
    job = *found;
    return std::nullopt;
  }

  std::string path() const {
    return fmt::format("/v1/job/{}/versions/{}/tag", segment(job), segment(name));
  }
};

}  // namespace

Result<int> run_job_tag_apply(const std::vector<std::string>& arguments) {
  TagCommand command{"job tag apply [options] -name <tag> <job>",
                     "Names a version of a job: it is kept as long as it has the name, by which "
                     "it can be compared with others and gone back to."};
  auto& description = command.option("description", "What the version is.");
  auto& chosen = command.option<std::optional<std::int64_t>>(
      "version", "The version to name; the newest one without.");
  if (auto code = command.begin(arguments)) return *code;
  auto version = chosen.value_or(0);
  if (!chosen) {
    auto newest = NOMAD_TRY(command.api->get("/v1/job/" + segment(command.job))
                                .within("Error retrieving job versions"));
    version = newest.view()["Version"].number();
  }
  NOMAD_TRY(command.api
                ->put(command.path(),
                      boost::json::object{{"Version", version}, {"Description", description}})
                .within("Error tagging job version"));
  std::cout << fmt::format("Job version {} tagged with name \"{}\"\n", version, command.name);
  return 0;
}

Result<int> run_job_tag_unset(const std::vector<std::string>& arguments) {
  TagCommand command{"job tag unset [options] -name <tag> <job>",
                     "Takes a tag away from the version of a job that has it, which may be "
                     "forgotten from now on."};
  if (auto code = command.begin(arguments)) return *code;
  NOMAD_TRY(command.api->remove(command.path()).within("Error removing tag"));
  std::cout << fmt::format("Tag \"{}\" removed from job \"{}\"\n", command.name, command.job);
  return 0;
}

}  // namespace nomad::cli
