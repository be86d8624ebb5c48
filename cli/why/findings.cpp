#include "cli/why/findings.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/output/describe.hpp"
#include "cli/output/layout.hpp"
#include "cli/programs.hpp"
#include "runtime/base/saturated.hpp"
#include "runtime/base/sorting/sort_stably.hpp"
#include "runtime/text/shell_word.hpp"

namespace nomad::cli::why {
namespace {

constexpr std::int64_t waits_long = 10'000'000'000;

std::string job_id(const Facts& facts) {
  return View{facts.job}["ID"].text();
}

Finding failed_evaluation(const Facts& facts, const View& eval) {
  return {.what = fmt::format("Evaluation {} failed: {}", shown_id(eval["ID"].text(), false),
                              eval["StatusDescription"].text()),
          .commands = {shell_command_for(facts, "job eval", {job_id(facts)})}};
}

/// From when on a scheduler may take an evaluation that has no `WaitUntil`; Unix nanoseconds.
std::int64_t due_at(const View& eval) {
  return saturated_sum(eval["CreateTime"].number(), eval["Wait"].number());
}

}  // namespace

std::string shell_command(std::string_view what, const std::vector<std::string>& words) {
  return shell_command_in("", what, words);
}

std::string shell_command_in(std::string_view ns,
                             std::string_view what,
                             const std::vector<std::string>& words) {
  auto command = fmt::format("{} {}", program_name(), what);
  if (!ns.empty() && ns != "default") command += " " + shell_word(fmt::format("-namespace={}", ns));
  const auto is_like_flag = [](const std::string& word) { return word.starts_with('-'); };
  if (std::ranges::any_of(words, is_like_flag)) command += " --";
  for (const auto& word : words)
    command += ' ' + shell_word(word);
  return command;
}

std::string shell_command_for(const Facts& facts,
                              std::string_view what,
                              const std::vector<std::string>& words) {
  return shell_command_in(View{facts.job}["Namespace"].text(), what, words);
}

std::string headline(const Facts& facts) {
  const View job{facts.job};
  std::int64_t running = 0;
  std::int64_t wanted = 0;
  for (const auto& alloc : View{facts.allocations}.items())
    if (alloc["ClientStatus"].text() == "running" && alloc["DesiredStatus"].text() == "run")
      ++running;
  for (const auto& group : job["TaskGroups"].items())
    wanted += group["Count"].number();
  const auto type = job["Type"].text();
  const bool is_counted = type == "service" || type == "batch";
  return fmt::format(
      "Job \"{}\" ({}, version {}, namespace \"{}\") is {}: {}{}", job_id(facts), type,
      job["Version"].number(), job["Namespace"].text(), job["Status"].text(),
      is_counted ? fmt::format("{} of {}", running, wanted) : std::to_string(running),
      is_counted && wanted == 1 ? " allocation runs" : " allocations run");
}

void find_in_job(const Facts& facts, std::vector<Finding>& out) {
  const View job{facts.job};
  const auto id = job_id(facts);
  if (job["Stop"].truth()) {
    out.push_back({.weight = Weight::note,
                   .what = fmt::format("Job \"{}\" was stopped", id),
                   .commands = {shell_command_for(facts, "job start", {id}),
                                shell_command_for(facts, "job history -p", {id})}});
    return;
  }
  if (!job["ParameterizedJob"].is_null() && !job["Dispatched"].truth())
    out.push_back({.weight = Weight::note,
                   .what = fmt::format("Job \"{}\" runs only when it is dispatched", id),
                   .commands = {shell_command_for(facts, "job dispatch", {id})}});
  else if (!job["Periodic"].is_null()) {
    const bool is_on = job["Periodic"]["Enabled"].is_null() || job["Periodic"]["Enabled"].truth();
    const auto next = next_launch(job);
    out.push_back(
        {.weight = is_on ? Weight::note : Weight::problem,
         .what = is_on ? fmt::format("Job \"{}\" is periodic: its next launch is {}", id, next)
                       : fmt::format("The periodic block of job \"{}\" is not enabled", id),
         .commands = {shell_command_for(facts, "job periodic force", {id})}});
  }
  for (const auto& group : job["TaskGroups"].items())
    if (group["Count"].number() == 0 && job["Type"].text() != "system")
      out.push_back(
          {.weight = Weight::note,
           .what = fmt::format("Group \"{}\" has a count of 0", group["Name"].text()),
           .commands = {shell_command_for(facts, "job scale", {id, group["Name"].text(), "1"})}});
}

void find_in_evaluations(const Facts& facts, std::vector<Finding>& out) {
  const auto evals = View{facts.evaluations}.items();
  const auto newest = std::ranges::max_element(
      evals, {}, [](const View& eval) { return eval["CreateIndex"].number(); });
  if (newest == evals.end()) return;
  const auto status = (*newest)["Status"].text();
  if (status == "failed") out.push_back(failed_evaluation(facts, *newest));
  if (status != "pending") return;
  const auto due = due_at(*newest);
  if ((*newest)["TriggeredBy"].text() == "failed-follow-up")
    for (const auto& eval : evals)
      if (eval["ID"].text() == (*newest)["PreviousEval"].text()) {
        out.push_back(failed_evaluation(facts, eval));
        if (due > facts.now)
          out.back().details.push_back("Another one follows at " + clock_time(due));
      }
  const auto waits = facts.now - due;
  if ((*newest)["WaitUntil"].is_null() && waits > waits_long)
    out.push_back(
        {.what = fmt::format("Evaluation {} has waited {} for a scheduler",
                             shown_id((*newest)["ID"].text(), false), short_duration(waits)),
         .details = {"Schedulers are busy, or pause_eval_broker holds evaluations back"},
         .commands
         = {shell_command("operator scheduler get-config"), shell_command("server members")}});
}

std::vector<Finding> diagnose(const Facts& facts) {
  std::vector<Finding> out;
  find_in_job(facts, out);
  if (facts.only_alloc.empty()) {
    find_in_evaluations(facts, out);
    find_in_placements(facts, out);
  }
  find_in_allocations(facts, out);
  find_in_checks(facts, out);
  find_in_deployments(facts, out);
  sort_stably(out, {}, &Finding::weight);
  return out;
}

}  // namespace nomad::cli::why
