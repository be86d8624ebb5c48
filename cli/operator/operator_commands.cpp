// operator scheduler get-config and set-config, system reconcile summaries, namespace list, ui:
// small commands of one request each.
#include <iostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

constexpr std::string_view configuration_path = "/v1/operator/scheduler/configuration";

std::string yes_or_no(const View& value) {
  return value.truth() ? "true" : "false";
}

}  // namespace

Result<int> run_scheduler_get_config(const std::vector<std::string>& arguments) {
  ApiCommand command{"operator scheduler get-config [options]", "Shows how the scheduler is set."};
  OutputFlags output{command};
  if (auto code = command.start(arguments)) return *code;
  auto& api = command.api;
  auto answer = NOMAD_TRY(
      api->get(std::string{configuration_path}).within("Error querying scheduler configuration"));
  auto shown = answer.body;
  if (shown.is_object()) {  // as Nomad's structures have it
    shown.get_object().erase("Index");
    shown.get_object()["LastIndex"] = answer.index;
    shown.get_object()["RequestTime"] = answer.took.count();
  }
  if (auto code = output.print(shown)) return *code;
  const auto config = answer.view()["SchedulerConfig"];
  const auto preemption = config["PreemptionConfig"];
  std::cout << pairs(
      {{"Scheduler Algorithm", config["SchedulerAlgorithm"].text()},
       {"Memory Oversubscription", yes_or_no(config["MemoryOversubscriptionEnabled"])},
       {"Reject Job Registration", yes_or_no(config["RejectJobRegistration"])},
       {"Pause Eval Broker", yes_or_no(config["PauseEvalBroker"])},
       {"Preemption System Scheduler", yes_or_no(preemption["SystemSchedulerEnabled"])},
       {"Preemption Service Scheduler", yes_or_no(preemption["ServiceSchedulerEnabled"])},
       {"Preemption Batch Scheduler", yes_or_no(preemption["BatchSchedulerEnabled"])},
       {"Preemption SysBatch Scheduler", yes_or_no(preemption["SysBatchSchedulerEnabled"])},
       {"Modify Index", config["ModifyIndex"].text()}})
            << '\n';
  return 0;
}

Result<int> run_scheduler_set_config(const std::vector<std::string>& arguments) {
  ApiCommand command{"operator scheduler set-config [options]",
                     "Changes how the scheduler is set."};
  auto& check_index = command.option<std::optional<std::int64_t>>(
      "check-index", "Changes it only if it has this modify index.");
  auto& algorithm = command.option("scheduler-algorithm", "binpack or spread.");
  auto& oversubscription
      = command.flag<std::optional<bool>>("memory-oversubscription", "Whether memory_max counts.");
  auto& reject
      = command.flag<std::optional<bool>>("reject-job-registration", "Whether jobs are refused.");
  auto& pause = command.flag<std::optional<bool>>("pause-eval-broker", "Whether evaluations wait.");
  auto& batch = command.flag<std::optional<bool>>("preempt-batch-scheduler",
                                                  "Whether batch jobs may preempt.");
  auto& service = command.flag<std::optional<bool>>("preempt-service-scheduler",
                                                    "Whether service jobs may preempt.");
  auto& sysbatch = command.flag<std::optional<bool>>("preempt-sysbatch-scheduler",
                                                     "Whether sysbatch jobs may preempt.");
  auto& system = command.flag<std::optional<bool>>("preempt-system-scheduler",
                                                   "Whether system jobs may preempt.");
  if (auto code = command.start(arguments)) return *code;
  auto& api = command.api;
  auto stored = NOMAD_TRY(api->get(std::string{configuration_path})
                              .within("Error querying for scheduler configuration"));
  const auto before = stored.view()["SchedulerConfig"];
  if (before.raw() == nullptr || !before.raw()->is_object())
    return mistake("Error querying for scheduler configuration: the agent's answer has none");
  const auto index = before["ModifyIndex"].number();
  if (check_index && *check_index != index)
    return mistake(
        fmt::format("Error performing check index set: check-index {} does not match does "
                    "not match current state value {}",
                    *check_index, index));
  auto config = before.raw()->get_object();
  auto& kept = config["PreemptionConfig"];
  auto& preemption = kept.is_object() ? kept.get_object() : kept.emplace_object();
  const auto set = [](boost::json::object& to, const char* name, const std::optional<bool>& value) {
    if (value) to[name] = *value;
  };
  if (!algorithm.empty()) config["SchedulerAlgorithm"] = algorithm;
  set(config, "MemoryOversubscriptionEnabled", oversubscription);
  set(config, "RejectJobRegistration", reject);
  set(config, "PauseEvalBroker", pause);
  set(preemption, "BatchSchedulerEnabled", batch);
  set(preemption, "ServiceSchedulerEnabled", service);
  set(preemption, "SysBatchSchedulerEnabled", sysbatch);
  set(preemption, "SystemSchedulerEnabled", system);
  auto answer = NOMAD_TRY(
      api->put(std::string{configuration_path}, config, {{"cas", std::to_string(index)}})
          .within("Error setting scheduler configuration"));
  if (answer.view()["Updated"].truth()) {
    std::cout << "Scheduler configuration updated!\n";
    return 0;
  }
  std::cout << "Scheduler configuration could not be atomically updated, please try again\n";
  return 1;
}

Result<int> run_system_reconcile_summaries(const std::vector<std::string>& arguments) {
  ApiCommand command{"system reconcile summaries [options]", "Counts the jobs' summaries anew."};
  if (auto code = command.start(arguments)) return *code;
  auto& api = command.api;
  auto answer = api->put("/v1/system/reconcile/summaries", nullptr);
  return answer ? 0 : fail("Error running system summary reconciliation", answer.error());
}

}  // namespace nomad::cli
