// alloc exec: runs a command beside a task, with the user's terminal or streams as its own.
#include <iostream>
#include <string>

#include <boost/json.hpp>

#include "cli/alloc/exec_command.hpp"
#include "cli/lookup.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

struct ExecFlags : ExecCommand {
  using ExecCommand::ExecCommand;

  const std::string& task
      = option("task", "The task beside which it runs; needed if there are several.");
  const AllocFlags of_alloc{*this};
};

/// Prints what is wrong with the arguments; the exit code, or nothing.
std::optional<int> check(const ExecFlags& flags) {
  const auto& words = flags.positional();
  if (words.empty())
    return flags.misuse(flags.of_alloc.job ? "A job ID is required"
                                           : "An allocation ID is required");
  if (!flags.of_alloc.job && words[0].size() == 1) {
    std::cerr << "Alloc ID must contain at least two characters\n";
    return 1;
  }
  if (words.size() < 2) return flags.misuse("A command is required");
  return flags.check_streams();
}

}  // namespace

Result<int> run_alloc_exec(const std::vector<std::string>& arguments) {
  ExecFlags flags{"alloc exec [options] <allocation> <command>",
                  "Runs a command in the environment of a task of an allocation. Its exit code is "
                  "that of the command."};
  if (auto code = flags.parse(arguments)) return *code;
  if (auto code = check(flags)) return *code;
  auto& api = *NOMAD_TRY(flags.connect());
  auto alloc = NOMAD_TRY(choose_alloc(api, flags.of_alloc, flags.positional()[0], false));
  const auto view = alloc.view();
  const auto task = NOMAD_TRY(choose_task(view, flags.task, "", ""));
  api.use_namespace(view["Namespace"].text());
  boost::json::array command;
  for (std::size_t i = 1; i < flags.positional().size(); ++i)
    command.emplace_back(flags.positional()[i]);
  return flags.serve("/v1/client/allocation/" + view["ID"].text() + "/exec",
                     {{"task", task}, {"command", boost::json::serialize(command)}});
}

}  // namespace nomad::cli
