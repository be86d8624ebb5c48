// operator decisions: what the scheduler decided on a server, from what, and what became of it.
#include <iostream>

#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

/// "3 placed, 1 stopped".
std::string changes_of(const View& decision) {
  std::string all;
  for (const auto& [name, word] : {std::pair{"Placements", "placed"},
                                   {"Updates", "updated"},
                                   {"Stops", "stopped"},
                                   {"Preemptions", "preempted"}})
    if (const auto count = decision[name].number(); count != 0)
      all += fmt::format("{}{} {}", all.empty() ? "" : ", ", count, word);
  return all.empty() ? "a plan without allocations" : all;
}

std::string result_of(const View& decision) {
  if (const auto failure = decision["Failure"].text(); !failure.empty()) return failure;
  auto result = decision["HasPlan"].truth() ? changes_of(decision) : std::string{"no plan"};
  if (decision["LacksRoom"].truth()) result += ", not all placed";
  return result;
}

std::string end_of(const View& decision) {
  const auto end = decision["PlanEnd"];
  if (end.is_null()) return decision["HasPlan"].truth() ? "unknown" : "";
  if (const auto failure = end["Failure"].text(); !failure.empty()) return failure;
  const auto refused = end["Refused"].number();
  const auto index = end["Index"].number();
  auto text = index == 0 ? std::string{"nothing"} : fmt::format("index {}", index);
  if (refused != 0) text += fmt::format(", refused on {}", refused);
  return text;
}

}  // namespace

Result<int> run_operator_decisions(const std::vector<std::string>& arguments) {
  ApiCommand command{
      "operator decisions [options]",
      "Shows the scheduler's newest decisions: what each was made from and led to. A server keeps "
      "those that it made itself, the newest 10,000 at most."};
  OutputFlags output{command};
  auto& eval = command.option("eval", "Only those of evaluations whose id begins so.");
  auto& page_token = command.option("page-token", "Where to go on.");
  auto& per_page = command.number("per-page", "How many at a time; 100 if not given.");
  auto& reserves = command.flag("reserves", "With -json, what each plan takes of nodes, too.");
  auto& stale = command.flag("stale", "Of the server at hand, also if it does not lead.");
  if (auto code = command.start(arguments)) return *code;
  Query query;
  if (!eval.empty()) query.emplace_back("eval", eval);
  if (per_page > 0) query.emplace_back("per_page", std::to_string(per_page));
  if (!page_token.empty()) query.emplace_back("next_token", page_token);
  if (reserves) query.emplace_back("reserves", "true");
  if (stale) query.emplace_back("stale", "");
  const auto answer = NOMAD_TRY(
      command.api->get("/v1/operator/decisions", query).within("Error querying decisions"));
  if (auto code = output.print(answer.body)) return *code;
  Rows rows{{"Number", "Time", "Eval ID", "Job", "Triggered By", "State", "Attempt", "Under Way",
             "Decided", "Written"}};
  for (const auto& one : answer.view().items()) {
    const auto evaluation = one["Evaluation"];
    rows.push_back({one["Number"].text(), clock_time(one["Time"]),
                    shown_id(evaluation["ID"].text(), false), evaluation["JobID"].text(),
                    evaluation["TriggeredBy"].text(), one["SnapshotIndex"].text(),
                    std::to_string(one["Attempts"].number() + 1),
                    std::to_string(one["UnderWay"].items().size()), result_of(one), end_of(one)});
  }
  std::cout << table(rows) << '\n';
  command.hint_next_page(answer.next_token);
  return 0;
}

}  // namespace nomad::cli
