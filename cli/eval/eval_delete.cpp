// eval delete: forgets evaluations, in outages in which they pile up.
#include <iostream>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/lookup.hpp"
#include "cli/programs.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

constexpr auto how_to_pause
    = R"(To delete evaluations you must first pause the eval broker by running "nomadctl operator scheduler set-config -pause-eval-broker=true"
After the deletion is complete, unpause the eval broker by running "nomadctl operator scheduler set-config -pause-eval-broker=false"
)";

enum class Consent : std::uint8_t { given, declined, unclear };

/// Only an exact "y" is a yes.
Consent ask_for_consent(const std::string& question) {
  std::cout << question << " [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y") return Consent::given;
  if (answer.empty() || answer.front() == 'n' || answer.front() == 'N') {
    std::cout << "Cancelling eval deletion\n";
    return Consent::declined;
  }
  if (answer.front() == 'y' || answer.front() == 'Y') {
    std::cout << "For confirmation, an exact 'y' is required.\n";
    return Consent::declined;
  }
  std::cout << "No confirmation detected. For confirmation, an exact 'y' is required.\n";
  return Consent::unclear;
}

/// How many were deleted.
Result<std::int64_t> send_deletion(Api& api, const boost::json::object& body) {
  const auto response
      = NOMAD_TRY(api.send("DELETE", "/v1/evaluations", {}, boost::json::serialize(body)));
  if (response.status != 200) return refusal(response);
  const auto answer = NOMAD_TRY(json_of(response));
  return View{answer}["Count"].number();
}

int report(std::int64_t deleted) {
  if (deleted > 0)
    std::cout << fmt::format("Successfully deleted {} evaluation{}\n", deleted,
                             deleted > 1 ? "s" : "");
  else
    std::cout << "No evaluations were deleted\n";
  return 0;
}

/// Asks before one is deleted whose id was not typed whole.
Result<int> delete_one(Api& api, const std::string& id, bool yes) {
  const auto eval = NOMAD_TRY(find_by_prefix(api, eval_kind, id, false));
  const auto found = eval.view()["ID"].text();
  if (found != id && !yes) {
    const auto consent
        = ask_for_consent(fmt::format("Are you sure you want to delete evaluation {}?", found));
    if (consent == Consent::unclear) return 1;
    if (consent == Consent::declined) return report(0);
  }
  const boost::json::object body{{"EvalIDs", boost::json::array{std::string{found}}}};
  NOMAD_TRY(send_deletion(api, body).within("Error deleting evaluations"));
  return report(1);
}

Result<int> delete_by_filter(Api& api, const std::string& filter, bool yes) {
  if (!yes) {
    const auto count = NOMAD_TRY(api.get("/v1/evaluations/count", {{"filter", filter}})
                                     .within("Error deleting evaluations"));
    const auto consent = ask_for_consent(
        fmt::format("Are you sure you want to delete {} evals?", count.view()["Count"].number()));
    if (consent == Consent::unclear) return 1;
    if (consent == Consent::declined) return report(0);
  }
  return report(
      NOMAD_TRY(send_deletion(api, {{"Filter", filter}}).within("Error deleting evaluations")));
}

}  // namespace

Result<int> run_eval_delete(const std::vector<std::string>& arguments) {
  ApiCommand command{
      "eval delete [options] [<id>]",
      "Forgets an evaluation, or all that a filter holds for, while the eval broker is "
      "paused."};
  auto& filter = command.option("filter", "Those for which the expression holds.");
  auto& yes = command.flag("yes", "Asks nothing.");
  if (auto code = command.parse(arguments)) return *code;
  const auto& ids = command.positional();
  const std::string invalid = "Error validating command args and flags: ";
  if (filter.empty() && ids.empty())
    return mistake(invalid + "evaluation ID or filter flag required");
  if (!filter.empty() && !ids.empty())
    return mistake(invalid + "evaluation ID and filter flag are mutually exclusive");
  if (ids.size() > 1)
    return mistake(invalid + fmt::format("expected 1 argument, got {}", ids.size()));
  auto& api = *NOMAD_TRY(command.connect());
  api.use_namespace("*");  // whatever an id or a filter means
  const auto configuration = NOMAD_TRY(api.get("/v1/operator/scheduler/configuration")
                                           .within("Error querying scheduler configuration"));
  if (!configuration.view()["SchedulerConfig"]["PauseEvalBroker"].truth()) {
    std::cout << as_called(how_to_pause);
    return mistake("Eval broker is not paused");
  }
  return ids.empty() ? delete_by_filter(api, filter, yes) : delete_one(api, ids.front(), yes);
}

}  // namespace nomad::cli
