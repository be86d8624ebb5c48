// job start: registers a stopped job again as it is stored.
#include <iostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/lookup.hpp"
#include "cli/output/describe.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

/// What the job was made of, so that the new version has it, too; null if it is not kept.
boost::json::value source_of(Api& api, const std::string& id, std::int64_t version) {
  auto source
      = api.get("/v1/job/" + segment(id) + "/submission", {{"version", std::to_string(version)}});
  return source ? std::move(source->body) : boost::json::value{};
}

}  // namespace

Result<int> run_job_start(const std::vector<std::string>& arguments) {
  Action command{"job start [options] <job>",
                 "Starts a stopped job again, as it was registered last. What was purged is gone."};
  command.add_detach();
  if (auto code = command.parse(arguments, one_word("<job>"))) return *code;
  auto& api = *NOMAD_TRY(command.connect());
  const auto id = NOMAD_TRY(find_job(api, command.positional()[0]));
  const auto stored = NOMAD_TRY(api.get("/v1/job/" + segment(id)).within("Error querying job"));
  const auto job = stored.view();
  if (!job["Stop"].truth())
    return mistake(fmt::format("Job \"{}\" has not been stopped", job["Name"].text()));
  auto started = stored.body;
  started.as_object()["Stop"] = false;
  boost::json::object body{{"Job", std::move(started)},
                           {"EnforceIndex", true},
                           {"JobModifyIndex", job["JobModifyIndex"].number()}};
  if (auto source = source_of(api, id, job["Version"].number()); !source.is_null())
    body["Submission"] = std::move(source);
  const auto answer = NOMAD_TRY(api.put("/v1/jobs", body).within("Error starting job"));
  const auto eval_id = answer.view()["EvalID"].text();
  if (eval_id.empty() || command.detach) std::cout << "Job start successful\n";
  if (const auto next = next_launch(job); eval_id.empty() && !next.empty())
    std::cout << fmt::format("Approximate next launch time: {}\n", next);
  return command.end(eval_id);
}

}  // namespace nomad::cli
