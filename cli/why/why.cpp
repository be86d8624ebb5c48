// why: one page that tells what is wrong with a job or an allocation, and the commands that help.
#include <algorithm>
#include <iostream>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/lookup.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/programs.hpp"
#include "cli/run.hpp"
#include "cli/why/ask.hpp"
#include "cli/why/findings.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

using why::Finding;
using why::Weight;

/// What of a job is asked about.
struct Asked {
  std::string job;
  std::string alloc;  ///< "": all of it.
};

bool may_begin_id(std::string_view text) {
  return text.size() > 1
         && std::ranges::all_of(text, [](char c) { return is_hex_digit(c) || c == '-'; });
}

/// A job, by its name or the beginning of one; otherwise an allocation.
Result<Asked> find_asked(Api& api, const std::string& name) {
  const auto jobs
      = NOMAD_TRY(api.get("/v1/jobs", {{"prefix", name}}).within("Error querying jobs"));
  if (!jobs.view().items().empty()) return Asked{NOMAD_TRY(find_job(api, name)), ""};
  if (!may_begin_id(name))
    return mistake(fmt::format(
        "No job begins with \"{}\", and no allocation can: `{} job status` lists the jobs", name,
        program_name()));
  const auto alloc = NOMAD_TRY(find_by_prefix(api, alloc_kind, name, false));
  return Asked{alloc.view()["JobID"].text(), alloc.view()["ID"].text()};
}

std::string_view name_of(Weight weight) {
  switch (weight) {
    case Weight::problem:
      return "problem";
    case Weight::warning:
      return "warning";
    case Weight::note:
      return "note";
  }
  return {};
}

/// Whether something has to be done.
bool is_wrong(const std::vector<Finding>& findings) {
  return std::ranges::any_of(findings,
                             [](const Finding& one) { return one.weight != Weight::note; });
}

boost::json::value as_json(const why::Facts& facts, const std::vector<Finding>& findings) {
  boost::json::array list;
  const auto texts = [](const std::vector<std::string>& from) {
    return boost::json::array(from.begin(), from.end());
  };
  for (const auto& one : findings)
    list.push_back(boost::json::object{{"Weight", name_of(one.weight)},
                                       {"What", one.what},
                                       {"Details", texts(one.details)},
                                       {"Commands", texts(one.commands)}});
  const View job{facts.job};
  return boost::json::object{{"JobID", job["ID"].text()},
                             {"Namespace", job["Namespace"].text()},
                             {"AllocID", facts.only_alloc},
                             {"Headline", why::headline(facts)},
                             {"Findings", std::move(list)}};
}

}  // namespace

Result<int> run_why(const std::vector<std::string>& arguments) {
  ApiCommand command{
      "why [options] <job or allocation>",
      "Tells what is wrong with a job or an allocation, and which commands help: what "
      "could not be placed, the last events and lines of tasks that fail, checks, and "
      "the deployment. The exit code is 0 if nothing is wrong, 2 if something is."};
  OutputFlags output{command};
  if (auto code = command.start(arguments, one_word("<job or allocation>"))) return *code;
  auto& api = *command.api;
  const auto asked = NOMAD_TRY(find_asked(api, command.positional()[0]));
  const auto facts = NOMAD_TRY(why::ask(api, asked.job, asked.alloc));
  const auto findings = why::diagnose(facts);
  const int code = is_wrong(findings) ? 2 : 0;
  if (auto printed = output.print(as_json(facts, findings))) return *printed == 0 ? code : *printed;
  std::cout << why::headline(facts) << '\n';
  for (const auto& finding : findings)
    why::print(finding);
  if (findings.empty()) std::cout << "\nNothing is wrong.\n";
  return code;
}

}  // namespace nomad::cli
