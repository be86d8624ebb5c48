// migrate copy: brings a cluster's objects here, its jobs stopped.
#include <algorithm>
#include <array>
#include <iostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/migrate/copy_plan.hpp"
#include "cli/migrate/from_flags.hpp"
#include "cli/migrate/judge.hpp"
#include "cli/output/layout.hpp"
#include "cli/programs.hpp"
#include "cli/run.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

using migrate::Act;
using migrate::Step;

/// What became of a step, or would.
struct Outcome {
  std::string_view word;
  std::string detail;
  bool has_failed = false;
};

Outcome outcome_of(const Step& step, bool is_dry) {
  switch (step.act) {
    case Act::create:
      return {is_dry ? "would be created" : "created", ""};
    case Act::change:
      return {is_dry ? "would be changed" : "changed", ""};
    case Act::keep:
      return {"is here", ""};
    case Act::skip:
      break;
  }
  return {"left alone", step.why};
}

/// What the job was made of, so that it is here, too; null if it is not kept there.
boost::json::value source_of(Api& from, const Step& step) {
  const View job = View{step.body}["Job"];
  from.use_namespace(step.ns);
  auto source = from.get("/v1/job/" + segment(step.name) + "/submission",
                         {{"version", job["Version"].text()}});
  return source ? std::move(source->body) : boost::json::value{};
}

Outcome carry_out(Step& step, Api& from, Api& to) {
  auto outcome = outcome_of(step, false);
  if (step.act != Act::create && step.act != Act::change) return outcome;
  if (step.kind == "job")
    if (auto source = source_of(from, step); !source.is_null())
      step.body.as_object()["Submission"] = std::move(source);
  to.use_namespace(step.ns);
  if (const auto answer = to.put(step.path, step.body, step.query); !answer)
    return {"failed", answer.error().what, true};
  return outcome;
}

/// Of a dry run: a job or variable that would be refused.
Outcome foreseen(const Step& step) {
  const bool is_written = step.act == Act::create || step.act == Act::change;
  if (is_written && !step.refusal.empty()) return {"would fail", step.refusal, true};
  if (is_written && step.kind == "job")
    for (const auto& remark : migrate::judge_job(step.body.at("Job")))
      if (remark.verdict == migrate::Verdict::error) return {"would fail", remark.text, true};
  return outcome_of(step, true);
}

Row row_of(const Step& step, const Outcome& outcome) {
  return {step.kind, step.ns.empty() ? step.name : step.ns + '/' + step.name,
          std::string{outcome.word},
          outcome.detail.empty() ? "" : migrate::without_breaks(outcome.detail)};
}

std::string next_steps() {
  constexpr std::string_view text
      = "The jobs are registered here and stopped. To move them one by one:\n"
        "  1. {0} job start -namespace=<namespace> <job>, and see it run:\n"
        "     {0} why -namespace=<namespace> <job>\n"
        "  2. let those who call it go to the new address\n"
        "  3. nomad job stop -namespace=<namespace> <job> on the cluster that it came from\n"
        "To move machines one by one:\n"
        "  1. nomad node drain -enable -self on the machine, and wait for its end\n"
        "  2. stop the Nomad agent, and start this one there as a client: {0} agent -config=...\n"
        "  3. {0} node status shows it; go on with the next one\n"
        "Running migrate copy again brings what has changed there meanwhile.\n";
  return fmt::format(text, program_name());
}

struct Totals {
  std::size_t written = 0;
  std::size_t jobs = 0;  ///< Of these.
  std::size_t kept = 0;
  std::size_t left = 0;
  std::size_t failed = 0;

  void count(const Step& step, const Outcome& outcome) {
    if (outcome.has_failed)
      ++failed;
    else if (step.act == Act::keep)
      ++kept;
    else if (step.act == Act::skip)
      ++left;
    else {
      ++written;
      if (step.kind == "job") ++jobs;
    }
  }
};

}  // namespace

Result<int> run_migrate_copy(const std::vector<std::string>& arguments) {
  ApiCommand command{
      "migrate copy [options] -from=<address>",
      "Brings the namespaces, node pools, ACL policies, variables and jobs of a running Nomad "
      "cluster here, the jobs stopped. What is here and differs is left alone, but for stopped "
      "jobs, which get the newest version. Nothing changes there; run again, it brings what is "
      "new."};
  const migrate::FromFlags from_flags{command};
  auto& is_dry = command.flag("dry-run", "Tells what would be done, and does nothing.");
  auto& overwrite = command.flag("overwrite", "What is here and differs becomes what is there.");
  if (auto code = command.parse(arguments, WordCount{})) return *code;
  if (from_flags.flags.address.empty())
    return command.misuse("-from is missing: the address of the cluster to bring over");
  auto& api = *NOMAD_TRY(command.connect());
  auto from = NOMAD_TRY(Api::make(from_flags.flags));
  const auto there = NOMAD_TRY(
      migrate::read_from(from, migrate::VariableItems::yes).within("Error reading -from"));
  const auto here
      = NOMAD_TRY(migrate::read_cluster(api, migrate::VariableItems::yes).within("Error reading"));
  Totals totals;
  Rows rows{{"Kind", "Name", "Outcome", "Why"}};
  for (auto& step : migrate::plan_copy(there, here, {.overwrite = overwrite})) {
    const auto outcome = is_dry ? foreseen(step) : carry_out(step, from, api);
    totals.count(step, outcome);
    if (step.act != Act::keep) rows.push_back(row_of(step, outcome));
  }
  if (rows.size() > 1) std::cout << table(rows) << "\n\n";
  const auto unread = migrate::unread_of(there);
  for (const auto& what : unread)
    std::cout << "Not read: " << migrate::without_breaks(what) << '\n';
  std::cout << fmt::format("{} {}, {} here already, {} left alone, {} {}.\n", totals.written,
                           is_dry ? "to write" : "written", totals.kept, totals.left, totals.failed,
                           is_dry ? "would fail" : "failed");
  if (!is_dry && totals.jobs > 0) std::cout << '\n' << next_steps();
  return totals.failed == 0 && unread.empty() ? 0 : 1;
}

}  // namespace nomad::cli
