// eval list, eval status, deployment list, deployment status: how decisions are coming along.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/lookup.hpp"
#include "cli/monitor.hpp"
#include "cli/output/api_shape.hpp"
#include "cli/output/describe.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

void print_eval(const View& eval, bool verbose) {
  const auto status = eval["Status"].text();
  const bool in_progress = status == "pending" || status == "blocked";
  const auto failed = eval["FailedTGAllocs"];
  Pairs block{
      {"ID", shown_id(eval["ID"].text(), verbose)},
      {"Create Time",
       verbose ? clock_time(eval["CreateTime"].number()) : age(eval["CreateTime"].number())},
      {"Modify Time",
       verbose ? clock_time(eval["ModifyTime"].number()) : age(eval["ModifyTime"].number())},
      {"Status", status},
      {"Status Description",
       eval["StatusDescription"].text().empty() ? status : eval["StatusDescription"].text()},
      {"Type", eval["Type"].text()},
      {"TriggeredBy", eval["TriggeredBy"].text()}};
  if (!eval["NodeID"].text().empty())
    block.emplace_back("Node ID", shown_id(eval["NodeID"].text(), verbose));
  block.emplace_back("Job ID", eval["JobID"].text());
  block.emplace_back("Namespace", eval["Namespace"].text());
  block.emplace_back("Priority", eval["Priority"].text());
  block.emplace_back("Placement Failures", in_progress                ? "N/A - In Progress"
                                           : failed.members().empty() ? "false"
                                                                      : "true");
  if (!eval["WaitUntil"].is_null()) block.emplace_back("Wait Until", clock_time(eval["WaitUntil"]));
  if (verbose) {
    block.emplace_back("Previous Eval", eval["PreviousEval"].text());
    block.emplace_back("Next Eval", eval["NextEval"].text());
    block.emplace_back("Blocked Eval", eval["BlockedEval"].text());
  }
  std::cout << pairs(block) << '\n';
  if (failed.members().empty()) return;
  std::cout << '\n'
            << title("Failed Placements") << '\n'
            << placement_failures(failed, "", "\n\n") << "\n\n";
  if (!eval["BlockedEval"].text().empty())
    std::cout << fmt::format(
        "Evaluation \"{}\" waiting for additional capacity to place remainder\n",
        shown_id(eval["BlockedEval"].text(), verbose));
}

}  // namespace

namespace {

/// Follows a list of evaluations and tells of each that comes or goes on.
class EvalListMonitor {
public:
  explicit EvalListMonitor(bool verbose) : verbose_{verbose} {}

  /// What was shown already.
  void know(const View& evals) {
    for (const auto& eval : evals.items())
      statuses_[eval["ID"].text()] = eval["Status"].text();
  }

  void tell_changes(const View& evals) {
    for (const auto& eval : evals.items()) {
      const auto id = eval["ID"].text();
      const auto now = eval["Status"].text();
      const auto [known, is_new] = statuses_.try_emplace(id, now);
      if (is_new)
        tell(fmt::format("Evaluation \"{}\" of job \"{}\" created by {}: {}",
                         shown_id(id, verbose_), eval["JobID"].text(), eval["TriggeredBy"].text(),
                         now));
      else if (known->second != now)
        tell(fmt::format("Evaluation \"{}\" status changed: \"{}\" -> \"{}\"",
                         shown_id(id, verbose_), known->second, now));
      known->second = now;
    }
  }

private:
  static void tell(const std::string& text) {
    std::cout << fmt::format("    {}: {}", clock_now(), text) << std::endl;
  }

  bool verbose_;
  std::map<std::string, std::string> statuses_;  ///< By id.
};

bool any_pending(const View& evals) {
  const auto items = evals.items();
  return std::ranges::any_of(items,
                             [](const View& eval) { return eval["Status"].text() == "pending"; });
}

/// Asks until no evaluation of the list is pending. `tell` hears of each new list.
Result<> follow_evals(Api& api,
                      const Query& query,
                      Answer& evals,
                      const std::function<void(const View&)>& tell) {
  using namespace std::chrono_literals;
  while (any_pending(evals.view())) {
    auto next = query;
    if (evals.index == 0) std::this_thread::sleep_for(100ms);
    if (evals.index != 0) next.emplace_back("index", std::to_string(evals.index));
    evals = NOMAD_TRY(api.get("/v1/evaluations", next).within("Error querying evaluations"));
    tell(evals.view());
  }
  return {};
}

}  // namespace

Result<int> run_eval_list(const std::vector<std::string>& arguments) {
  ApiCommand command{"eval list [options]", "Lists the evaluations, newest first."};
  OutputFlags output{command};
  auto& filter = command.option("filter", "Only those for which the expression holds.");
  auto& job = command.option("job", "Only those of a job.");
  auto& monitor = command.flag("monitor",
                               "Tells of each that comes or goes on, until none is pending; with "
                               "-json or -t prints the list then.");
  auto& page_token = command.option("page-token", "Where to go on.");
  auto& per_page = command.number("per-page", "How many at a time.");
  auto& status = command.option("status", "Only those with a status.");
  auto& verbose = command.flag("verbose", "Shows whole ids.");
  if (auto code = command.start(arguments)) return *code;
  auto& api = *command.api;
  Query query;
  for (const auto& [name, value] :
       {std::pair{"filter", filter}, {"job", job}, {"next_token", page_token}, {"status", status}})
    if (!value.empty()) query.emplace_back(name, value);
  if (per_page != 0) query.emplace_back("per_page", std::to_string(per_page));
  auto evals = NOMAD_TRY(api.get("/v1/evaluations", query).within("Error querying evaluations"));
  if (monitor && output.requested()) NOMAD_TRY(follow_evals(api, query, evals, [](const View&) {}));
  if (auto code = output.print(as_printed(ApiShape::evaluation, evals.body))) return *code;
  if (evals.view().items().empty()) {
    std::cout << "No evals found\n";
    return 0;
  }
  std::cout << eval_table(evals.view(), verbose) << '\n';
  command.hint_next_page(evals.next_token);
  if (!monitor) return 0;
  EvalListMonitor shown{verbose};
  shown.know(evals.view());
  NOMAD_TRY(
      follow_evals(api, query, evals, [&shown](const View& list) { shown.tell_changes(list); }));
  return 0;
}

Result<int> run_eval_status(const std::vector<std::string>& arguments) {
  ApiCommand command{"eval status [options] <id>", "Shows an evaluation."};
  OutputFlags output{command};
  auto& monitor = command.flag("monitor", "Follows it until it is settled.");
  auto& verbose = command.flag("verbose", "Shows whole ids and related evaluations.");
  if (auto code = command.start(arguments, any_words)) return *code;
  auto& api = *command.api;
  if (command.positional().empty() && output.requested()) {
    auto list = NOMAD_TRY(api.get("/v1/evaluations").within("Error querying evaluations"));
    return *output.print(as_printed(ApiShape::evaluation, list.body));
  }
  if (command.positional().size() != 1) return command.misuse("This command takes one argument");
  auto eval = NOMAD_TRY(find_by_prefix(api, eval_kind, command.positional()[0], verbose));
  if (auto code = output.print(as_printed(ApiShape::evaluation, eval.body))) return *code;
  if (monitor) return monitor_evaluation(api, eval.view()["ID"].text(), {.verbose = verbose});
  print_eval(eval.view(), verbose);
  return 0;
}

namespace {

Result<int> list_deployments(Api& api,
                             const Query& query,
                             const OutputFlags& output,
                             bool verbose) {
  auto deployments
      = NOMAD_TRY(api.get("/v1/deployments", query).within("Error retrieving deployments"));
  if (auto code = output.print(as_printed(ApiShape::deployment, deployments.body))) return *code;
  std::cout << (deployments.view().items().empty() ? "No deployments found"
                                                   : deployment_table(deployments.view(), verbose))
            << '\n';
  return 0;
}

}  // namespace

Result<int> run_deployment_list(const std::vector<std::string>& arguments) {
  ApiCommand command{"deployment list [options]", "Lists the deployments, newest first."};
  OutputFlags output{command};
  auto& filter = command.option("filter", "Only those for which the expression holds.");
  auto& verbose = command.flag("verbose", "Shows whole ids.");
  if (auto code = command.start(arguments)) return *code;
  auto& api = *command.api;
  Query query;
  if (!filter.empty()) query.emplace_back("filter", filter);
  return list_deployments(api, query, output, verbose);
}

Result<int> run_deployment_status(const std::vector<std::string>& arguments) {
  ApiCommand command{"deployment status [options] <id>", "Shows a deployment."};
  OutputFlags output{command};
  auto& monitor = command.flag("monitor", "Follows it to its end.");
  command.option("wait", "Accepted for compatibility; changes are shown as they come.");
  auto& verbose = command.flag("verbose", "Shows whole ids.");
  if (auto code = command.parse(arguments)) return *code;
  if (command.positional().size() > 1)
    return command.misuse("This command takes one argument: <deployment id>");
  auto& api = *NOMAD_TRY(command.connect());
  if (command.positional().empty()) return list_deployments(api, {}, output, verbose);
  auto deployment
      = NOMAD_TRY(find_by_prefix(api, deployment_kind, command.positional()[0], verbose));
  if (auto code = output.print(as_printed(ApiShape::deployment, deployment.body))) return *code;
  if (monitor) return monitor_deployment(api, deployment.view()["ID"].text(), verbose);
  std::cout << deployment_block(deployment.view(), verbose, false) << '\n';
  return 0;
}

}  // namespace nomad::cli
