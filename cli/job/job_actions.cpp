// job eval, revert, scale, scaling-events, promote, dispatch, periodic force: acting on a stored
// job.
#include <charconv>
#include <fstream>
#include <iostream>
#include <iterator>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/lookup.hpp"
#include "cli/output/layout.hpp"
#include "cli/run.hpp"
#include "runtime/base/base64.hpp"

namespace nomad::cli {
namespace {

/// An action on the job that the first argument names.
struct JobCommand : Action {
  std::string id;

  using Action::Action;

  const std::string& argument(std::size_t index) const { return parser.positional()[index]; }

  std::size_t count() const { return parser.positional().size(); }

  /// After `parse`: the connection and the job.
  std::optional<int> find() {
    if (auto code = connect()) return code;
    auto job = find_job(*api, argument(0));
    if (!job.value) return job.exit_code;
    id = *job.value;
    return std::nullopt;
  }

  std::string path(std::string_view action) const {
    return fmt::format("/v1/job/{}/{}", segment(id), action);
  }
};

Result<std::int64_t> whole_number(const std::string& text) {
  std::int64_t number = 0;
  const auto* end = text.data() + text.size();
  const auto [stopped, failure] = std::from_chars(text.data(), end, number);
  if (failure == std::errc{} && stopped == end && !text.empty()) return number;
  return Error{Errc::invalid_argument,
               fmt::format("strconv.ParseUint: parsing \"{}\": invalid syntax", text)};
}

}  // namespace

int run_job_eval(const std::vector<std::string>& arguments) {
  bool force = false;
  JobCommand command{"job eval [options] <job>", "Has the scheduler look at a job anew."};
  command.add_detach();
  command.parser.flag("force-reschedule", force, "Failed allocations are placed anew at once.");
  if (auto code = command.parser.parse(arguments)) return *code;
  if (command.count() != 1) return command.parser.misuse("This command takes one argument: <job>");
  if (auto code = command.find()) return *code;
  auto answer = command.api->put(
      command.path("evaluate"),
      boost::json::object{{"JobID", command.id}, {"EvalOptions", {{"ForceReschedule", force}}}});
  if (!answer) return fail("Error evaluating job", answer.error());
  const auto eval_id = answer->view()["EvalID"].text();
  if (command.detach) {
    std::cout << fmt::format("Created eval ID: \"{}\" \n", shown_id(eval_id, command.verbose));
    return 0;
  }
  return command.end(eval_id);
}

int run_job_revert(const std::vector<std::string>& arguments) {
  JobCommand command{"job revert [options] <job> <version>", "Goes back to a version of a job."};
  command.add_detach();
  if (auto code = command.parser.parse(arguments)) return *code;
  if (command.count() != 2)
    return command.parser.misuse("This command takes two arguments: <job> <version>");
  const auto version = whole_number(command.argument(1));
  if (!version) return fail("Failed to parse job-version flag", version.error());
  if (auto code = command.find()) return *code;
  auto answer = command.api->put(
      command.path("revert"), boost::json::object{{"JobID", command.id}, {"JobVersion", *version}});
  if (!answer) return fail("Error retrieving job versions", answer.error());
  return command.end(answer->view()["EvalID"].text());
}

int run_job_promote(const std::vector<std::string>& arguments) {
  std::vector<std::string> groups;
  JobCommand command{"job promote [options] <job id>", "Promotes the canaries of a job."};
  command.add_detach();
  command.parser.option("group", groups, "Only this group; may stand several times.");
  if (auto code = command.parser.parse(arguments)) return *code;
  if (command.count() != 1)
    return command.parser.misuse("This command takes one argument: <job id>");
  if (auto code = command.find()) return *code;
  auto deployment = command.api->get(command.path("deployment"));
  if (!deployment) return fail("Error retrieving deployment", deployment.error());
  const auto id = deployment->view()["ID"].text();
  if (id.empty()) {
    std::cerr << fmt::format("Job \"{}\" has no deployment to promote\n", command.id);
    return 1;
  }
  auto answer = command.api->put("/v1/deployment/promote/" + id, promotion_of(id, groups));
  if (!answer)
    return fail(fmt::format("Error promoting deployment \"{}\" for job \"{}\"", id, command.id),
                answer.error());
  return command.end(answer->view()["EvalID"].text());
}

int run_job_periodic_force(const std::vector<std::string>& arguments) {
  JobCommand command{"job periodic force [options] <job id>", "Starts a periodic job now."};
  command.add_detach();
  if (auto code = command.parser.parse(arguments)) return *code;
  if (command.count() != 1)
    return command.parser.misuse("This command takes one argument: <job id>");
  auto api = Api::make(command.common);
  if (!api) return fail("Error initializing client", api.error());
  command.api.emplace(std::move(*api));
  auto job = find_job(*command.api, command.argument(0), only_periodic_jobs);
  if (!job.value) return job.exit_code;
  command.id = *job.value;
  auto answer = command.api->put(command.path("periodic/force"), nullptr);
  if (!answer)
    return fail(fmt::format("Error forcing periodic job \"{}\"", command.id), answer.error());
  if (command.detach) std::cout << "Force periodic successful\n";
  return command.end(answer->view()["EvalID"].text());
}

// --- scaling -------------------------------------------------------------------------------------

namespace {

/// The group to scale: the one that is named, or the only one; empty after a complaint.
std::string group_to_scale(const View& job, const std::string& named) {
  const auto groups = job["TaskGroups"].items();
  if (named.empty()) {
    if (groups.size() == 1) return groups[0]["Name"].text();
    std::cerr << "Group name required\n";
    return {};
  }
  for (const auto& group : groups)
    if (group["Name"].text() == named) return named;
  std::cerr << fmt::format("Group {} not found within job\n", named);
  return {};
}

}  // namespace

int run_job_scale(const std::vector<std::string>& arguments) {
  JobCommand command{"job scale [options] <job> [<group>] <count>",
                     "Changes the count of a job's group."};
  command.add_detach();
  if (auto code = command.parser.parse(arguments)) return *code;
  if (command.count() < 2 || command.count() > 3) {
    std::cerr << "Command requires at least two arguments and no more than three\n";
    return 1;
  }
  const auto& last = command.argument(command.count() - 1);
  const auto wanted = whole_number(last);
  if (!wanted) {
    std::cerr << fmt::format(
        "Failed to convert count string to int: strconv.Atoi: parsing \"{}\": "
        "invalid syntax\n",
        last);
    return 1;
  }
  if (auto code = command.find()) return *code;
  auto job = command.api->get("/v1/job/" + segment(command.id));
  if (!job) return fail("Error querying job", job.error());
  const auto group
      = group_to_scale(job->view(), command.count() == 3 ? command.argument(1) : std::string{});
  if (group.empty()) return 1;
  auto answer = command.api->put(command.path("scale"),
                                 boost::json::object{{"Count", *wanted},
                                                     {"Target", {{"Group", group}}},
                                                     {"Message", "submitted using nomadctl"}});
  if (!answer) return fail("Error submitting scaling request", answer.error());
  if (const auto warnings = answer->view()["Warnings"].text(); !warnings.empty())
    std::cout << colored("Job Warnings:\n" + warnings, "yellow") << '\n';
  return command.end(answer->view()["EvalID"].text());
}

int run_job_scaling_events(const std::vector<std::string>& arguments) {
  JobCommand command{"job scaling-events [options] <job_id>", "Lists how a job was scaled."};
  if (auto code = command.parser.parse(arguments)) return *code;
  if (command.count() != 1)
    return command.parser.misuse("This command takes one argument: <job_id>");
  if (auto code = command.find()) return *code;
  auto answer = command.api->get(command.path("scale"));
  if (!answer) return fail("Error listing scaling events", answer.error());
  std::vector<std::pair<std::string, View>> events;
  for (const auto& [group, status] : answer->view()["TaskGroups"].members())
    for (const auto& event : status["Events"].items())
      events.emplace_back(group, event);
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

namespace {

Result<std::string> read_input(const std::string& path) {
  if (path == "-") return std::string{std::istreambuf_iterator<char>{std::cin}, {}};
  std::ifstream file{path, std::ios::binary};
  if (!file) return errno_error("open " + path, errno);
  return std::string{std::istreambuf_iterator<char>{file}, {}};
}

}  // namespace

int run_job_dispatch(const std::vector<std::string>& arguments) {
  std::vector<std::string> meta;
  std::string idempotency_token, id_prefix;
  JobCommand command{"job dispatch [options] <parameterized job> [input source]",
                     "Starts an instance of a parameterized job."};
  command.add_detach();
  command.parser.option("meta", meta, "A meta value, key=value; may stand several times.");
  command.parser.option("idempotency-token", idempotency_token, "Starts one instance per token.");
  command.parser.option("id-prefix-template", id_prefix, "Becomes a part of the instance's id.");
  if (auto code = command.parser.parse(arguments)) return *code;
  if (command.count() < 1 || command.count() > 2)
    return command.parser.misuse(
        "This command takes one or two argument: <parameterized job> [input source]");
  std::string payload;
  if (command.count() == 2) {
    auto input = read_input(command.argument(1));
    if (!input) return fail("Error reading input data", input.error());
    payload = std::move(*input);
  }
  boost::json::object values;
  for (const auto& entry : meta) {
    const auto equals = entry.find('=');
    if (equals == std::string::npos) {
      std::cerr << "Error parsing meta value: " << entry << '\n';
      return 1;
    }
    values[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  auto api = Api::make(command.common);
  if (!api) return fail("Error initializing client", api.error());
  command.api.emplace(std::move(*api));
  auto job = find_job(*command.api, command.argument(0), only_parameterized_jobs);
  if (!job.value) return job.exit_code;
  command.id = *job.value;
  Query query;
  if (!idempotency_token.empty()) query.emplace_back("idempotency_token", idempotency_token);
  auto answer = command.api->put(command.path("dispatch"),
                                 boost::json::object{{"JobID", command.id},
                                                     {"Payload", encode_base64(payload)},
                                                     {"Meta", std::move(values)},
                                                     {"IdPrefixTemplate", id_prefix}},
                                 query);
  if (!answer) return fail("Failed to dispatch job", answer.error());
  const auto eval_id = answer->view()["EvalID"].text();
  Pairs block{{"Dispatched Job ID", answer->view()["DispatchedJobID"].text()}};
  if (!eval_id.empty()) block.emplace_back("Evaluation ID", shown_id(eval_id, command.verbose));
  std::cout << pairs(block) << '\n';
  if (eval_id.empty() || command.detach) return 0;
  std::cout << '\n';
  return command.end(eval_id);
}

}  // namespace nomad::cli
