// node meta: reads and changes the metadata of a running node.
#include <iostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/lookup.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/run.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

constexpr auto metadata_path = "/v1/client/metadata";

/// The node that a prefix means; without one that of the agent itself.
Result<Query> query_for(Api& api, const std::string& prefix) {
  if (prefix.empty()) return Query{};
  const auto node = NOMAD_TRY(find_by_prefix(api, node_kind, prefix, true));
  return Query{{"node_id", node.view()["ID"].text()}};
}

std::string shown_meta(const View& map) {
  Pairs rows;
  for (const auto& [key, value] : map.members())
    rows.emplace_back(key, value.is_null() ? "<unset>" : value.text());
  return pairs(rows);
}

/// The request's "Meta" of arguments "key=value" and of a list of keys to unset.
Result<boost::json::object> change_of(const std::vector<std::string>& set,
                                      const std::string& unset) {
  boost::json::object change;
  if (!unset.empty())
    for (const auto key : split(unset, ','))
      change[boost::json::string_view{key.data(), key.size()}] = nullptr;
  for (const auto& entry : set) {
    const auto equals = entry.find('=');
    if (equals == std::string::npos || equals == 0)
      return mistake(fmt::format("\"{}\" is no metadata; expected key=value", entry));
    change[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return change;
}

}  // namespace

Result<int> run_node_meta_read(const std::vector<std::string>& arguments) {
  CommonFlags common;
  OutputFlags output;
  Arguments parser{"node meta read [options]", "Shows the metadata of a node."};
  common.add_to(parser);
  output.add_to(parser);
  auto& node = parser.option("node-id", "The node; without it the agent's own.");
  if (auto code = parser.parse(arguments, WordCount{})) return *code;
  auto api = NOMAD_TRY(Api::make(common));
  const auto query = NOMAD_TRY(query_for(api, node));
  const auto meta
      = NOMAD_TRY(api.get(metadata_path, query).within("Error reading dynamic node metadata"));
  if (auto code = output.print(meta.body)) return *code;
  std::cout << title("All Meta") << '\n' << shown_meta(meta.view()["Meta"]) << '\n';
  print_section("Dynamic Meta", shown_meta(meta.view()["Dynamic"]));
  print_section("Static Meta", shown_meta(meta.view()["Static"]));
  return 0;
}

Result<int> run_node_meta_apply(const std::vector<std::string>& arguments) {
  ApiCommand command{"node meta apply [options] <key>=<value>...",
                     "Changes the metadata of a node while it runs."};
  auto& node = command.option("node-id", "The node; without it the agent's own.");
  auto& unset = command.option("unset", "Keys to unset, separated by commas.");
  if (auto code = command.parse(arguments)) return *code;
  const auto change = NOMAD_TRY(change_of(command.positional(), unset));
  if (change.empty()) return mistake("Must specify -unset or at least 1 key=value pair");
  auto& api = *NOMAD_TRY(command.connect());
  const auto query = NOMAD_TRY(query_for(api, node));
  boost::json::object body{{"Meta", change}};
  if (!query.empty()) body["NodeID"] = query.front().second;
  NOMAD_TRY(api.put(metadata_path, body, query).within("Error applying dynamic node metadata"));
  return 0;
}

}  // namespace nomad::cli
