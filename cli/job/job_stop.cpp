// job stop: deregisters jobs and follows their end.
#include <iostream>

#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/lookup.hpp"
#include "cli/monitor.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

struct StopFlags : ApiCommand {
  using ApiCommand::ApiCommand;

  const std::int64_t& eval_priority = number("eval-priority", "The evaluation's priority.");
  const bool& detach = flag("detach", "Prints the evaluation's id instead of following it.");
  const bool& global = flag("global", "Stops a multiregion job in all its regions.");
  const bool& no_shutdown_delay = flag("no-shutdown-delay", "Skips group and task delays.");
  const bool& purge = flag("purge", "Forgets the job altogether.");
  const bool& yes = flag("yes", "Asks nothing.");
  const bool& verbose = flag("verbose", "Shows whole ids.");
};

/// Asks before a job is stopped whose id was not typed whole.
bool confirmed(const std::string& job) {
  std::cout << fmt::format("Are you sure you want to stop job \"{}\"? [y/N] ", job) << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "Y") return true;
  std::cout << "Cancelling job stop\n";
  return false;
}

Result<int> stop(Api api, const StopFlags& flags, const std::string& id) {
  auto job = NOMAD_TRY(find_job(api, id));
  if (job != id && !flags.yes && !confirmed(job)) return 0;
  Query query{{"purge", flags.purge ? "true" : "false"}};
  if (flags.eval_priority != 0)
    query.emplace_back("eval_priority", std::to_string(flags.eval_priority));
  if (flags.no_shutdown_delay) query.emplace_back("no_shutdown_delay", "true");
  if (flags.global) query.emplace_back("global", "true");
  auto answer
      = NOMAD_TRY(api.remove("/v1/job/" + segment(job), query).within("Error deregistering job"));
  const auto eval_id = answer.view()["EvalID"].text();
  if (eval_id.empty()) return 0;
  if (flags.detach) {
    std::cout << eval_id << '\n';
    return 0;
  }
  return monitor_evaluation(api, eval_id, {.verbose = flags.verbose});
}

}  // namespace

Result<int> run_job_stop(const std::vector<std::string>& arguments) {
  StopFlags command{"job stop [options] <id>...", "Stops jobs: their allocations are ended."};
  if (auto code = command.parse(arguments)) return *code;
  if (command.positional().empty())
    return command.misuse("This command takes at least one argument: <job>");
  int worst = 0;
  for (const auto& id : command.positional()) {
    auto& api = *NOMAD_TRY(command.connect());
    const auto code = stop(std::move(api), command, id);
    worst = std::max(worst, code ? *code : fail(code.error()));
  }
  return worst;
}

}  // namespace nomad::cli
