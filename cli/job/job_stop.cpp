// job stop: deregisters jobs and follows their end.
#include <iostream>

#include <fmt/format.h>

#include "cli/api.hpp"
#include "cli/lookup.hpp"
#include "cli/monitor.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

struct StopFlags {
  CommonFlags common;
  std::int64_t eval_priority = 0;
  bool detach = false;
  bool global = false;
  bool no_shutdown_delay = false;
  bool purge = false;
  bool yes = false;
  bool verbose = false;
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
  StopFlags flags;
  Arguments parser{"job stop [options] <id>...", "Stops jobs: their allocations are ended."};
  flags.common.add_to(parser);
  parser.option("eval-priority", flags.eval_priority, "The evaluation's priority.");
  parser.flag("detach", flags.detach, "Prints the evaluation's id instead of following it.");
  parser.flag("global", flags.global, "Stops a multiregion job in all its regions.");
  parser.flag("no-shutdown-delay", flags.no_shutdown_delay, "Skips group and task delays.");
  parser.flag("purge", flags.purge, "Forgets the job altogether.");
  parser.flag("yes", flags.yes, "Asks nothing.");
  parser.flag("verbose", flags.verbose, "Shows whole ids.");
  if (auto code = parser.parse(arguments)) return *code;
  if (parser.positional().empty())
    return parser.misuse("This command takes at least one argument: <job>");
  int worst = 0;
  for (const auto& id : parser.positional()) {
    auto api = NOMAD_TRY(Api::make(flags.common));
    const auto code = stop(std::move(api), flags, id);
    worst = std::max(worst, code ? *code : fail(code.error()));
  }
  return worst;
}

}  // namespace nomad::cli
