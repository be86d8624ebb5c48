// operator actors: the actors of an agent, each below its owner.
#include <iostream>
#include <map>

#include "cli/api_command.hpp"
#include "cli/lookup.hpp"
#include "cli/output/output.hpp"
#include "cli/run.hpp"
#include "runtime/base/duration.hpp"

namespace nomad::cli {
namespace {

using ByOwner = std::map<std::int64_t, std::vector<View>>;

Row row_of(const View& actor, std::size_t depth) {
  const auto about = actor["About"].text();
  return {std::string(2 * depth, ' ') + actor["Name"].text() + (about.empty() ? "" : ' ' + about),
          actor["Policy"].text(),
          actor["Waiting"].text(),
          actor["WaitingUrgent"].text(),
          actor["Handled"].text(),
          actor["Restarts"].text(),
          format_duration(Nanoseconds{actor["LongestHandler"].number()})};
}

/// Takes them out of `by_owner`: an answer in which somebody owns itself ends as well.
void add_rows(Rows& rows, ByOwner& by_owner, std::int64_t owner, std::size_t depth) {
  const auto owned = by_owner.extract(owner);
  if (owned.empty()) return;
  for (const auto& actor : owned.mapped()) {
    rows.push_back(row_of(actor, depth));
    add_rows(rows, by_owner, actor["ID"].number(), depth + 1);
  }
}

}  // namespace

Result<int> run_operator_actors(const std::vector<std::string>& arguments) {
  ApiCommand command{"operator actors [options]",
                     "Shows the actors of an agent, each below its owner, and what they do."};
  OutputFlags output{command};
  auto& node = command.option("node", "The node whose agent is asked; otherwise the one at hand.");
  if (auto code = command.start(arguments)) return *code;
  Query query;
  if (!node.empty()) {
    const auto found = NOMAD_TRY(find_by_prefix(*command.api, node_kind, node, false));
    query.emplace_back("node_id", found.view()["ID"].text());
  }
  const auto answer
      = NOMAD_TRY(command.api->get("/v1/agent/actors", query).within("Error querying actors"));
  if (auto code = output.print(answer.body)) return *code;
  ByOwner by_owner;
  for (const auto& actor : answer.view().items())
    by_owner[actor["Owner"].number()].push_back(actor);
  Rows rows{{"Actor", "On Crash", "Waiting", "Urgent", "Handled", "Restarts", "Longest"}};
  add_rows(rows, by_owner, 0, 0);
  std::cout << table(rows) << '\n';
  return 0;
}

}  // namespace nomad::cli
