// job eval, revert, scale, scaling-events, promote, dispatch, periodic force: acting on a stored
// job.
#include <algorithm>
#include <iostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/absent_services.hpp"
#include "cli/api_command.hpp"
#include "cli/input.hpp"
#include "cli/lookup.hpp"
#include "cli/output/layout.hpp"
#include "cli/run.hpp"
#include "runtime/base/base64.hpp"
#include "runtime/base/sorting/sort_stably.hpp"
#include "runtime/base/whole_number.hpp"

namespace nomad::cli {
namespace {

/// An action on the job that the first argument names.
struct JobCommand : Action {
  std::string id;

  using Action::Action;

  const std::string& argument(std::size_t index) const { return positional()[index]; }

  std::size_t count() const { return positional().size(); }

  /// After `parse`: the connection and the job.
  std::optional<int> find(const JobKind& kind = any_job) {
    if (const auto made = connect(); !made) return fail(made.error());
    auto job = find_job(*api, argument(0), kind);
    if (!job) return fail(job.error());
    id = *job;
    return std::nullopt;
  }

  std::string path(std::string_view action) const {
    return fmt::format("/v1/job/{}/{}", segment(id), action);
  }
};

Result<std::int64_t> whole_number(const std::string& text) {
  if (const auto number = nomad::whole_number<std::int64_t>(text)) return *number;
  return Error{Errc::invalid_argument,
               fmt::format("strconv.ParseUint: parsing \"{}\": invalid syntax", text)};
}

}  // namespace

Result<int> run_job_eval(const std::vector<std::string>& arguments) {
  JobCommand command{"job eval [options] <job>", "Has the scheduler look at a job anew."};
  command.add_detach();
  auto& force = command.flag("force-reschedule", "Failed allocations are placed anew at once.");
  if (auto code = command.parse(arguments, one_word("<job>"))) return *code;
  if (auto code = command.find()) return *code;
  auto answer
      = NOMAD_TRY(command.api
                      ->put(command.path("evaluate"),
                            boost::json::object{{"JobID", command.id},
                                                {"EvalOptions", {{"ForceReschedule", force}}}})
                      .within("Error evaluating job"));
  const auto eval_id = answer.view()["EvalID"].text();
  if (command.detach) {
    std::cout << fmt::format("Created eval ID: \"{}\" \n", shown_id(eval_id, command.verbose));
    return 0;
  }
  return command.end(eval_id);
}

namespace {

/// The version that a number or a tag means.
Result<std::uint64_t> version_named(JobCommand& command, const std::string& name) {
  if (const auto number = nomad::whole_number<std::uint64_t>(name)) return *number;
  const auto versions = NOMAD_TRY(command.api->get(command.path("versions")));
  for (const auto& version : versions.view()["Versions"].items())
    if (version["VersionTag"]["Name"].text() == name)
      return static_cast<std::uint64_t>(version["Version"].number());
  return mistake(fmt::format("version tag {} not found for job {}", name, command.id));
}

}  // namespace

Result<int> run_job_revert(const std::vector<std::string>& arguments) {
  JobCommand command{"job revert [options] <job> <version|tag>",
                     "Goes back to a version of a job, by its number or its tag."};
  command.add_detach();
  accept_without_effect(command, {"consul-token", "vault-token"});
  if (auto code = command.parse(arguments)) return *code;
  if (command.count() != 2)
    return command.misuse("This command takes two arguments: <job> <version|tag>");
  if (auto code = command.find()) return *code;
  const auto version = NOMAD_TRY(
      version_named(command, command.argument(1)).within("Error retrieving job versions"));
  auto answer
      = NOMAD_TRY(command.api
                      ->put(command.path("revert"),
                            boost::json::object{{"JobID", command.id}, {"JobVersion", version}})
                      .within("Error retrieving job versions"));
  return command.end(answer.view()["EvalID"].text());
}

Result<int> run_job_promote(const std::vector<std::string>& arguments) {
  JobCommand command{"job promote [options] <job id>", "Promotes the canaries of a job."};
  command.add_detach();
  auto& groups = command.list("group", "Only this group; may stand several times.");
  if (auto code = command.parse(arguments, one_word("<job id>"))) return *code;
  if (auto code = command.find()) return *code;
  auto deployment = NOMAD_TRY(
      command.api->get(command.path("deployment")).within("Error retrieving deployment"));
  const auto id = deployment.view()["ID"].text();
  if (id.empty())
    return mistake(fmt::format("Job \"{}\" has no deployment to promote", command.id));
  auto answer = NOMAD_TRY(
      command.api->put("/v1/deployment/promote/" + id, promotion_of(id, groups))
          .within(fmt::format("Error promoting deployment \"{}\" for job \"{}\"", id, command.id)));
  return command.end(answer.view()["EvalID"].text());
}

Result<int> run_job_periodic_force(const std::vector<std::string>& arguments) {
  JobCommand command{"job periodic force [options] <job id>", "Starts a periodic job now."};
  command.add_detach();
  if (auto code = command.parse(arguments, one_word("<job id>"))) return *code;
  if (auto code = command.find(only_periodic_jobs)) return *code;
  auto answer
      = NOMAD_TRY(command.api->put(command.path("periodic/force"), nullptr)
                      .within(fmt::format("Error forcing periodic job \"{}\"", command.id)));
  if (command.detach) std::cout << "Force periodic successful\n";
  return command.end(answer.view()["EvalID"].text());
}

// --- scaling -------------------------------------------------------------------------------------

namespace {

/// The group to scale: the one that is named, or the only one.
Result<std::string> group_to_scale(const View& job, const std::string& named) {
  const auto groups = job["TaskGroups"].items();
  if (named.empty() && groups.size() == 1) return groups[0]["Name"].text();
  if (named.empty()) return mistake("Group name required");
  for (const auto& group : groups)
    if (group["Name"].text() == named) return named;
  return mistake(fmt::format("Group {} not found within job", named));
}

}  // namespace

Result<int> run_job_scale(const std::vector<std::string>& arguments) {
  JobCommand command{"job scale [options] <job> [<group>] <count>",
                     "Changes the count of a job's group."};
  command.add_detach();
  if (auto code = command.parse(arguments)) return *code;
  if (command.count() < 2 || command.count() > 3)
    return mistake("Command requires at least two arguments and no more than three");
  const auto& last = command.argument(command.count() - 1);
  const auto wanted = whole_number(last);
  if (!wanted)
    return mistake(
        fmt::format("Failed to convert count string to int: strconv.Atoi: parsing \"{}\": "
                    "invalid syntax",
                    last));
  if (auto code = command.find()) return *code;
  auto job
      = NOMAD_TRY(command.api->get("/v1/job/" + segment(command.id)).within("Error querying job"));
  const auto group = NOMAD_TRY(
      group_to_scale(job.view(), command.count() == 3 ? command.argument(1) : std::string{}));
  auto answer = NOMAD_TRY(
      command.api
          ->put(command.path("scale"), boost::json::object{{"Count", *wanted},
                                                           {"Target", {{"Group", group}}},
                                                           {"Message", "submitted using nomadctl"}})
          .within("Error submitting scaling request"));
  if (const auto warnings = answer.view()["Warnings"].text(); !warnings.empty())
    std::cout << colored("Job Warnings:\n" + warnings, "yellow") << '\n';
  return command.end(answer.view()["EvalID"].text());
}

Result<int> run_job_scaling_events(const std::vector<std::string>& arguments) {
  JobCommand command{"job scaling-events [options] <job_id>", "Lists how a job was scaled."};
  if (auto code = command.parse(arguments, one_word("<job_id>"))) return *code;
  if (auto code = command.find()) return *code;
  auto answer
      = NOMAD_TRY(command.api->get(command.path("scale")).within("Error listing scaling events"));
  std::vector<std::pair<std::string, View>> events;
  for (const auto& [group, status] : answer.view()["TaskGroups"].members())
    for (const auto& event : status["Events"].items())
      events.emplace_back(group, event);
  sort_stably(events, [](const auto& a, const auto& b) {
    return a.second["Time"].number() > b.second["Time"].number();
  });
  if (events.empty()) {
    std::cout << "No events found\n";
    return 0;
  }
  Rows rows{{"Task Group", "Count", "PrevCount"}};
  if (command.verbose) rows[0].insert(rows[0].end(), {"Error", "Message", "Eval ID"});
  rows[0].emplace_back("Date");
  for (const auto& [group, event] : events) {
    Row row{group, event["Count"].text(), event["PreviousCount"].text()};
    if (command.verbose)
      row.insert(row.end(),
                 {event["Error"].text(), event["Message"].text(), event["EvalID"].text()});
    row.push_back(clock_time(event["Time"].number()));
    rows.push_back(std::move(row));
  }
  std::cout << table(rows) << '\n';
  return 0;
}

// --- dispatch ------------------------------------------------------------------------------------

Result<int> run_job_dispatch(const std::vector<std::string>& arguments) {
  JobCommand command{"job dispatch [options] <parameterized job> [input source]",
                     "Starts an instance of a parameterized job."};
  command.add_detach();
  auto& meta = command.list("meta", "A meta value, key=value; may stand several times.");
  auto& idempotency_token = command.option("idempotency-token", "Starts one instance per token.");
  auto& id_prefix = command.option("id-prefix-template", "Becomes a part of the instance's id.");
  auto& priority = command.number("priority", "The instance's priority; that of the job.");
  if (auto code = command.parse(arguments)) return *code;
  if (command.count() < 1 || command.count() > 2)
    return command.misuse(
        "This command takes one or two argument: <parameterized job> [input source]");
  std::string payload;
  if (command.count() == 2) {
    payload = NOMAD_TRY(read_input(command.argument(1)).within("Error reading input data"));
  }
  boost::json::object values;
  for (const auto& entry : meta) {
    const auto equals = entry.find('=');
    if (equals == std::string::npos) return mistake("Error parsing meta value: " + entry);
    values[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  if (auto code = command.find(only_parameterized_jobs)) return *code;
  Query query;
  if (!idempotency_token.empty()) query.emplace_back("idempotency_token", idempotency_token);
  auto answer = NOMAD_TRY(command.api
                              ->put(command.path("dispatch"),
                                    boost::json::object{{"JobID", command.id},
                                                        {"Payload", encode_base64(payload)},
                                                        {"Meta", std::move(values)},
                                                        {"IdPrefixTemplate", id_prefix},
                                                        {"Priority", priority}},
                                    query)
                              .within("Failed to dispatch job"));
  const auto eval_id = answer.view()["EvalID"].text();
  Pairs block{{"Dispatched Job ID", answer.view()["DispatchedJobID"].text()}};
  if (!eval_id.empty()) block.emplace_back("Evaluation ID", shown_id(eval_id, command.verbose));
  std::cout << pairs(block) << '\n';
  if (eval_id.empty() || command.detach) return 0;
  std::cout << '\n';
  return command.end(eval_id);
}

}  // namespace nomad::cli
