// migrate check: what of a running Nomad cluster works here. Asks it, and changes nothing.
#include <algorithm>
#include <iostream>
#include <map>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/migrate/from_flags.hpp"
#include "cli/migrate/judge.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/run.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

using migrate::Judged;
using migrate::Verdict;

constexpr auto verdicts = {Verdict::works, Verdict::partly, Verdict::warning, Verdict::error};

std::string full_name(const Judged& one) {
  return one.ns.empty() ? one.name : one.ns + '/' + one.name;
}

/// How many of each kind have each verdict, the kinds in their order.
std::string summary(const std::vector<Judged>& all) {
  std::map<std::pair<std::string, Verdict>, std::size_t> counts;
  std::vector<std::string> kinds;
  for (const auto& one : all) {
    if (std::ranges::find(kinds, one.kind) == kinds.end()) kinds.push_back(one.kind);
    ++counts[{one.kind, one.verdict()}];
  }
  Rows rows{{"Kind", "Works", "Partly", "Warning", "Error"}};
  for (const auto& kind : kinds) {
    Row row{kind};
    for (const auto verdict : verdicts)
      row.push_back(std::to_string(counts[{kind, verdict}]));
    rows.push_back(std::move(row));
  }
  return table(rows);
}

void print_remarks(const std::vector<Judged>& all) {
  for (const auto& one : all) {
    if (one.remarks.empty()) continue;
    std::cout << '\n'
              << title(escape_controls(fmt::format("{} {}", one.kind, full_name(one)))) << '\n';
    for (const auto& remark : one.remarks)
      std::cout << fmt::format("  {}: {}\n", name_of(remark.verdict),
                               migrate::without_breaks(remark.text));
  }
}

boost::json::value as_json(const std::vector<Judged>& all, const std::vector<std::string>& unread) {
  boost::json::array objects;
  for (const auto& one : all) {
    boost::json::array remarks;
    for (const auto& remark : one.remarks)
      remarks.push_back(
          boost::json::object{{"Verdict", name_of(remark.verdict)}, {"Text", remark.text}});
    objects.push_back(boost::json::object{{"Kind", one.kind},
                                          {"Namespace", one.ns},
                                          {"Name", one.name},
                                          {"Verdict", name_of(one.verdict())},
                                          {"Remarks", std::move(remarks)}});
  }
  return boost::json::object{{"Objects", std::move(objects)},
                             {"NotRead", boost::json::array(unread.begin(), unread.end())}};
}

}  // namespace

Result<int> run_migrate_check(const std::vector<std::string>& arguments) {
  Arguments command{"migrate check [options] -from=<address>",
                    "Tells what of a running Nomad cluster works here, and what does not: its "
                    "jobs, namespaces, node pools, ACL policies, variables, and the settings of "
                    "the agent that is asked. Changes nothing. The exit code is 1 if something "
                    "would be refused or could not be read."};
  CommonFlags common{command};
  const migrate::FromFlags from{command};
  const OutputFlags output{command};
  if (auto code = command.parse(arguments, WordCount{})) return *code;
  if (from.flags.address.empty())
    return command.misuse("-from is missing: the address of the cluster to look at");
  auto flags = from.flags;
  if (flags.token.empty()) flags.token = common.token;
  flags.no_color = common.no_color;
  flags.force_color = common.force_color;
  auto api = NOMAD_TRY(Api::make(flags));
  const auto cluster
      = NOMAD_TRY(migrate::read_from(api, migrate::VariableItems::no).within("Error reading"));
  const auto all = migrate::judge(cluster);
  const auto unread = migrate::unread_of(cluster);
  const bool is_refused
      = std::ranges::any_of(all, [](const Judged& one) { return one.verdict() == Verdict::error; });
  const int code = is_refused || !unread.empty() ? 1 : 0;
  if (auto printed = output.print(as_json(all, unread))) return *printed == 0 ? code : *printed;
  std::cout << summary(all) << '\n';
  print_remarks(all);
  for (const auto& what : unread)
    std::cout << "\nNot read: " << migrate::without_breaks(what) << '\n';
  if (is_refused)
    std::cout << "\nWhat has an error is refused here until it is changed; "
                 "docs/compatibility.md tells what works.\n";
  return code;
}

}  // namespace nomad::cli
