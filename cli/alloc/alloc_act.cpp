// alloc stop, restart, signal, pause: acting on one allocation.
#include <algorithm>
#include <iostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/lookup.hpp"
#include "cli/monitor.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/run.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

struct AllocCommand : Action {
  std::string id;

  using Action::Action;

  std::optional<int> start(const std::vector<std::string>& arguments, std::size_t most) {
    if (auto code = parse(arguments)) return code;
    const auto count = positional().size();
    if (count < 1 || count > most)
      return misuse(most == 1 ? "This command takes one argument: <allocation>"
                              : "This command takes one or two arguments: <allocation> "
                                "[task]");
    if (const auto made = connect(); !made) return fail(made.error());
    auto alloc = find_by_prefix(*api, alloc_kind, positional()[0], verbose);
    if (!alloc) return fail(alloc.error());
    id = alloc->view()["ID"].text();
    for (const auto& [name, state] : alloc->view()["TaskStates"].members())
      task_names.push_back(name);
    return std::nullopt;
  }

  /// The second argument or the -task flag.
  std::string task(const std::string& flag) const {
    return positional().size() > 1 ? positional()[1] : flag;
  }

  /// False, with the complaint printed, when the allocation has no such task.
  bool knows(const std::string& task) const {
    if (task.empty() || task_names.empty()
        || std::find(task_names.begin(), task_names.end(), task) != task_names.end())
      return true;
    std::cerr << fmt::format("Could not find task named: {}, found:\n", task);
    for (const auto& name : task_names)
      std::cerr << "  * " << name << '\n';
    return false;
  }

  std::vector<std::string> task_names;
};

}  // namespace

Result<int> run_alloc_stop(const std::vector<std::string>& arguments) {
  AllocCommand command{"alloc stop [options] <allocation>",
                       "Stops an allocation; its job places another one."};
  command.flag("detach", command.detach, "Prints the evaluation's id instead of following it.");
  auto& no_shutdown_delay = command.flag("no-shutdown-delay", "Skips group and task delays.");
  if (auto code = command.start(arguments, 1)) return *code;
  Query query;
  if (no_shutdown_delay) query.emplace_back("no_shutdown_delay", "true");
  auto answer = NOMAD_TRY(command.api->put("/v1/allocation/" + command.id + "/stop", nullptr, query)
                              .within("Error stopping allocation"));
  const auto eval_id = answer.view()["EvalID"].text();
  if (command.detach) {
    std::cout << eval_id << '\n';
    return 0;
  }
  return monitor_evaluation(*command.api, eval_id, {.verbose = command.verbose});
}

Result<int> run_alloc_restart(const std::vector<std::string>& arguments) {
  AllocCommand command{"alloc restart [options] <allocation> [task]",
                       "Restarts the running tasks of an allocation, or one of its tasks."};
  auto& all_tasks = command.flag("all-tasks", "Also tasks that have ended.");
  auto& task_flag = command.option("task", "The task to restart.");
  if (auto code = command.start(arguments, 2)) return *code;
  const auto task = command.task(task_flag);
  if (all_tasks && !task.empty())
    return command.misuse(
        "The -all-tasks option is not allowed when restarting a "
        "specific task.");
  if (!command.knows(task)) return 1;
  auto answer = command.api->put("/v1/client/allocation/" + command.id + "/restart",
                                 boost::json::object{{"TaskName", task}, {"AllTasks", all_tasks}});
  return answer ? 0 : fail("Failed to restart allocation", answer.error());
}

Result<int> run_alloc_signal(const std::vector<std::string>& arguments) {
  AllocCommand command{"alloc signal [options] <allocation> [task]",
                       "Sends a signal to the tasks of an allocation, or to one of them."};
  auto& signal = command.option("s", "The signal's name.", "SIGKILL");
  auto& task_flag = command.option("task", "The task to signal.");
  if (auto code = command.start(arguments, 2)) return *code;
  const auto task = command.task(task_flag);
  if (!command.knows(task)) return 1;
  auto answer = command.api->put("/v1/client/allocation/" + command.id + "/signal",
                                 boost::json::object{{"Signal", signal}, {"Task", task}});
  return answer ? 0 : fail("Error signalling allocation", answer.error());
}

Result<int> run_alloc_pause(const std::vector<std::string>& arguments) {
  AllocCommand command{"alloc pause [options] <allocation> [task]",
                       "Overrides the schedule of a task, or has it obeyed again."};
  auto& state
      = command.option("state", "What the task is to do: pause, run or scheduled.", "pause");
  auto& status = command.flag("status", "Shows what the schedule, or an order, says now.");
  auto& task_flag = command.option("task", "The task.");
  if (auto code = command.start(arguments, 2)) return *code;
  if (state != "pause" && state != "run" && state != "scheduled")
    return mistake(R"(Pause action must be one of "pause", "run", or "scheduled" but got )"
                   + quote(state));
  auto task = task_flag.empty() ? command.task(task_flag) : task_flag;
  if (task.empty() && command.task_names.size() == 1) task = command.task_names.front();
  if (!command.knows(task)) return 1;
  const auto path = "/v1/client/allocation/" + command.id + "/pause";
  if (status) {
    auto answer = command.api->get(path, {{"task", task}});
    if (!answer) return fail("Error getting task pause state", answer.error());
    std::cout << fmt::format("Pause state: {}\n", quote(answer->view()["ScheduleState"].text()));
    return 0;
  }
  auto answer
      = command.api->put(path, boost::json::object{{"Task", task}, {"ScheduleState", state}});
  return answer ? 0 : fail("Error setting pause state", answer.error());
}

Result<int> run_alloc_checks(const std::vector<std::string>& arguments) {
  AllocCommand command{"alloc checks [options] <allocation>",
                       "Shows the latest results of an allocation's checks."};
  OutputFlags output{command};
  if (auto code = command.start(arguments, 1)) return *code;
  auto checks = NOMAD_TRY(command.api->get("/v1/client/allocation/" + command.id + "/checks")
                              .within("Error querying allocation checks"));
  if (auto code = output.print(checks.body)) return *code;
  const auto all = checks.view().members();
  std::cout << fmt::format("Status of {} Nomad Service Checks\n\n", all.size());
  for (const auto& [id, check] : all) {
    const auto task = check["Task"].text();
    Rows rows{
        {"ID", "=", check["ID"].text()},           {"Name", "=", check["Check"].text()},
        {"Group", "=", check["Group"].text()},     {"Task", "=", task.empty() ? "(group)" : task},
        {"Service", "=", check["Service"].text()}, {"Status", "=", check["Status"].text()}};
    if (check["StatusCode"].number() > 0)
      rows.push_back({"StatusCode", "=", check["StatusCode"].text()});
    rows.push_back({"Mode", "=", check["Mode"].text()});
    rows.push_back({"Timestamp", "=", clock_time(check["Timestamp"].number() * 1'000'000'000)});
    rows.push_back({"Output", "=", escape_controls(check["Output"].text())});
    std::cout << table(rows) << "\n\n";
  }
  return 0;
}

}  // namespace nomad::cli
