// job action: runs a command beside a task that its job has a name for.
#include <string>

#include "cli/alloc/exec_command.hpp"
#include "cli/lookup.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

struct ActionFlags : ExecCommand {
  using ExecCommand::ExecCommand;

  const std::string& job = option("job", "The job that has the action.");
  const std::string& alloc
      = option("alloc", "The allocation; without one a running one of the group is taken.");
  const std::string& task = option(
      "task", "The task that has the action; needed without -alloc, and if there are several.");
  const std::string& group = option("group", "The group of the task; needed without -alloc.");
};

/// Prints what is wrong with the arguments; the exit code, or nothing.
std::optional<int> check(const ActionFlags& flags) {
  if (flags.positional().empty()) return flags.misuse("An action name is required");
  if (flags.job.empty()) return flags.misuse("A job ID is required");
  if (auto code = flags.check_streams()) return code;
  if (!flags.alloc.empty()) return {};
  if (flags.group.empty())
    return flags.misuse("A group name is required if no allocation is provided");
  if (flags.task.empty())
    return flags.misuse("A task name is required if no allocation is provided");
  return {};
}

}  // namespace

Result<int> run_job_action(const std::vector<std::string>& arguments) {
  ActionFlags flags{"job action [options] <action>",
                    "Runs a command that the job file names, in the environment of its task. Its "
                    "exit code is that of the command."};
  if (auto code = flags.parse(arguments)) return *code;
  if (auto code = check(flags)) return *code;
  auto& api = *NOMAD_TRY(flags.connect());
  auto job = flags.job;
  auto prefix = flags.alloc;
  if (prefix.empty()) {
    job = NOMAD_TRY(find_job(api, flags.job));
    prefix = NOMAD_TRY(any_alloc_of_job(api, job, flags.group));
  }
  auto alloc = NOMAD_TRY(find_by_prefix(api, alloc_kind, prefix, false));
  const auto view = alloc.view();
  const auto task = NOMAD_TRY(choose_task(view, flags.task, "", ""));
  api.use_namespace(view["Namespace"].text());
  return flags.serve("/v1/job/" + segment(job) + "/action", {{"action", flags.positional()[0]},
                                                             {"allocID", view["ID"].text()},
                                                             {"group", view["TaskGroup"].text()},
                                                             {"task", task}});
}

}  // namespace nomad::cli
