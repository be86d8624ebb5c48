// What is wrong with allocations: their tasks by what they went through, and their checks.
#include <fmt/format.h>

#include "cli/output/layout.hpp"
#include "cli/output/terminal_text.hpp"
#include "cli/why/findings.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli::why {
namespace {

constexpr std::size_t most_events = 5;
constexpr std::size_t most_lines = 10;

/// The last ones of a text's lines.
std::vector<std::string> last_lines_of(std::string_view text, std::size_t count) {
  std::vector<std::string> lines;
  for (const auto line : split(text, '\n'))
    if (!trim(line).empty()) lines.emplace_back(line);
  if (lines.size() > count)
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(count));
  return lines;
}

/// What an event says for itself.
std::string words_of(const View& event) {
  const auto shown = event["DisplayMessage"].text();
  return shown.empty() ? event["Message"].text() : shown;
}

/// The command that puts the variable which a template waits for; "" where it waits for others.
std::string command_for_missing(const View& event) {
  const auto details = event["Details"];
  const auto path = details["missing_variable"].text();
  return path.empty() ? path
                      : shell_command_in(details["missing_variable_namespace"].text(), "var put",
                                         {path, "KEY=VALUE"});
}

/// What has gone wrong with a task, and the commands that help.
struct Cause {
  std::string text;
  std::vector<std::string> commands{};
  bool tells_output = false;  ///< Whether what the task has written says more.
};

Cause cause_of_exit(const View& event) {
  const auto details = event["Details"];
  const auto code = event["ExitCode"].number();
  const auto signal = event["Signal"].number();
  if (details["oom_killed"].text() == "true")
    return {.text = "was killed because it took more memory than its resources allow",
            .commands = {},
            .tells_output = true};
  auto text = signal != 0 ? fmt::format("was ended by signal {}", signal)
                          : fmt::format("exited with code {}", code);
  if (code == 127) text += ", which shells give for a command that is not there";
  if (code == 126) text += ", which shells give for a command that can't be executed";
  if (const auto message = details["exit_message"].text(); !message.empty()) text += ": " + message;
  return {.text = std::move(text), .commands = {}, .tells_output = true};
}

/// By the newest event that explains; without a text if none does.
Cause cause_of_task(const View& task) {
  auto events = task["Events"].items();
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    const auto type = (*event)["Type"].text();
    const auto words = words_of(*event);
    if (type == "Driver Failure") return {.text = "can't be started: " + words};
    if (type == "Failed Artifact Download") return {.text = "does not get its artifact: " + words};
    if (type == "Setup Failure" || type == "Failed Validation" || type == "Task hook failed")
      return {.text = "can't be prepared: " + words};
    if (type == "Template" && task["State"].text() == "pending") {
      Cause cause{.text = "waits for what its template needs: " + words};
      if (const auto command = command_for_missing(*event); !command.empty())
        cause.commands = {command};
      return cause;
    }
    if (type == "Downloading Artifacts" && task["State"].text() == "pending")
      return {.text = "still downloads its artifacts"};
    if (type == "Restart Signaled") return {.text = "is restarted: " + words, .tells_output = true};
    if (type == "Terminated") return cause_of_exit(*event);
    if (type == "Disk Resources Exceeded") return {.text = "took too much disk: " + words};
  }
  return {};
}

void add_events(Finding& finding, const View& task) {
  auto events = task["Events"].items();
  if (events.size() > most_events)
    events.erase(events.begin(), events.end() - static_cast<std::ptrdiff_t>(most_events));
  for (const auto& event : events) {
    const auto words = one_line(words_of(event));
    finding.details.push_back(fmt::format("{}  {}{}{}", clock_time(event["Time"].number()),
                                          event["Type"].text(), words.empty() ? "" : "  ", words));
  }
}

std::string alloc_name(const View& alloc) {
  return fmt::format("Allocation {} (group \"{}\", version {}, node {})",
                     shown_id(alloc["ID"].text(), false), alloc["TaskGroup"].text(),
                     alloc["JobVersion"].text(), alloc["NodeName"].text());
}

void add_task(const Facts& facts, const FailingAlloc& each, Finding& finding) {
  const auto id = each.alloc["ID"].text();
  const auto task = each.alloc["TaskStates"][each.task];
  auto cause = cause_of_task(task);
  if (!cause.text.empty())
    finding.what += fmt::format(": task \"{}\" {}", each.task, one_line(cause.text));
  if (const auto restarts = task["Restarts"].number(); restarts > 0)
    finding.details.push_back(
        fmt::format("Restarted {} time{} so far", restarts, restarts == 1 ? "" : "s"));
  add_events(finding, task);
  const auto output = facts.output.find({id, each.task});
  if (cause.tells_output && output != facts.output.end() && !output->second.empty()) {
    if (output->second.find("ddress already in use") != std::string::npos)
      finding.details.emplace_back("Another program has the address that it wants to listen at");
    finding.details.emplace_back("Its last lines:");
    for (auto& line : last_lines_of(output->second, most_lines))
      finding.details.push_back("| " + line);
  }
  const auto shown = shown_id(id, false);
  finding.commands = std::move(cause.commands);
  if (cause.tells_output)
    finding.commands.push_back(shell_command_for(facts, "alloc logs -stderr", {shown, each.task}));
}

/// What of an allocation is no task's fault.
void add_status(const View& alloc, Finding& finding) {
  const auto status = alloc["ClientStatus"].text();
  const auto node = shown_id(alloc["NodeID"].text(), false);
  if (status == "lost" || status == "unknown") {
    finding.what += status == "lost" ? ": its node was lost" : ": its node does not answer";
    finding.commands.push_back(shell_command("node status", {node}));
  } else if (status == "pending") {
    finding.what += ": it was placed and has not started";
    finding.commands.push_back(shell_command("node status", {node}));
    finding.commands.push_back(shell_command("monitor -node-id", {node}));
  } else {
    finding.what += ": it is " + status;
  }
  for (const auto* field : {"ClientDescription", "DesiredDescription"})
    if (const auto text = alloc[field].text(); !text.empty()) finding.details.push_back(text);
}

/// When it is tried again, if it is.
void add_followup(const Facts& facts, const View& alloc, Finding& finding) {
  const auto followup = alloc["FollowupEvalID"].text();
  for (const auto& eval : View{facts.evaluations}.items())
    if (!followup.empty() && eval["ID"].text() == followup && !eval["WaitUntil"].is_null())
      finding.details.push_back("It is placed anew at " + clock_time(eval["WaitUntil"]));
  const auto tries = alloc["RescheduleTracker"]["Events"].items().size();
  if (tries > 0)
    finding.details.push_back(
        fmt::format("Its group was placed anew {} time{} before", tries, tries == 1 ? "" : "s"));
}

bool is_failing(const View& check) {
  return check["Status"].text() == "failure";
}

}  // namespace

void find_in_allocations(const Facts& facts, std::vector<Finding>& out) {
  for (const auto& each : failing_allocs(facts)) {
    const auto status = each.alloc["ClientStatus"].text();
    const auto id = shown_id(each.alloc["ID"].text(), false);
    Finding finding{.what = alloc_name(each.alloc)};
    if (each.alloc["DesiredStatus"].text() != "run" || status == "running")
      finding.weight = Weight::warning;
    if (each.task.empty() || status == "lost" || status == "unknown")
      add_status(each.alloc, finding);
    else
      add_task(facts, each, finding);
    if (each.alike > 0)
      finding.details.push_back(fmt::format("{} other allocation{} of the group {} not well either",
                                            each.alike, each.alike == 1 ? "" : "s",
                                            each.alike == 1 ? "is" : "are"));
    add_followup(facts, each.alloc, finding);
    finding.commands.push_back(shell_command_for(facts, "alloc status", {id}));
    out.push_back(std::move(finding));
  }
}

void find_in_checks(const Facts& facts, std::vector<Finding>& out) {
  for (const auto& [id, checks] : facts.checks)
    for (const auto& [check_id, check] : View{checks}.members()) {
      if (!is_failing(check)) continue;
      Finding finding{.what = fmt::format("Check \"{}\" of service \"{}\" fails in allocation {}",
                                          check["Check"].text(), check["Service"].text(),
                                          shown_id(id, false))};
      if (const auto code = check["StatusCode"].number(); code != 0)
        finding.details.push_back(fmt::format("It was answered with status {}", code));
      for (auto& line : last_lines_of(check["Output"].text(), most_lines))
        finding.details.push_back("| " + line);
      finding.commands = {shell_command_for(facts, "alloc checks", {shown_id(id, false)})};
      out.push_back(std::move(finding));
    }
}

}  // namespace nomad::cli::why
