// server members, system gc, agent-info, monitor, status: the cluster as a whole.
#include <algorithm>
#include <iostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/interrupts.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/run.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

/// Members as -json shows them: one of their tags says whether they lead.
template <class Leads>
boost::json::value members_with_leader(const View& members, const Leads& leads) {
  if (members.raw() == nullptr) return {};
  auto shown = *members.raw();
  if (!shown.is_array()) return shown;
  for (auto& member : shown.get_array()) {
    const boost::json::string leader{leads(View{member})};
    if (!member.is_object()) continue;
    if (auto* tags = member.get_object().if_contains("Tags"); tags != nullptr && tags->is_object())
      tags->get_object()["Leader"] = leader;
  }
  return shown;
}

}  // namespace

Result<int> run_server_members(const std::vector<std::string>& arguments) {
  ApiCommand command{"server members [options]", "Lists the servers of the cluster."};
  OutputFlags output{command};
  auto& verbose = command.flag("verbose", "Shows protocol versions and tags.");
  command.flag("detailed", verbose, "The same, by its old name.");
  if (auto code = command.start(arguments)) return *code;
  auto& api = command.api;
  auto answer = NOMAD_TRY(api->get("/v1/agent/members").within("Error querying servers"));
  auto leader = api->get("/v1/status/leader");
  const auto leads = [&leader](const View& member) {
    const auto tags = member["Tags"];
    const auto rpc = (tags["rpc_addr"].text().empty() ? member["Addr"] : tags["rpc_addr"]).text()
                     + ':' + tags["port"].text();
    return leader && leader->view().text() == rpc ? "true" : "false";
  };
  if (auto code = output.print(members_with_leader(answer.view()["Members"], leads))) return *code;
  Rows rows{{"Name", "Address", "Port", "Status", "Leader", "Raft Version", "Build", "Datacenter",
             "Region"}};
  if (verbose)
    rows[0] = {"Name",         "Address", "Port",       "Status", "Leader", "Protocol",
               "Raft Version", "Build",   "Datacenter", "Region", "Tags"};
  auto members = answer.view()["Members"].items();
  std::sort(members.begin(), members.end(),
            [](const View& a, const View& b) { return a["Name"].text() < b["Name"].text(); });
  for (const auto& member : members) {
    const auto tags = member["Tags"];
    Row row{member["Name"].text(), member["Addr"].text(), member["Port"].text(),
            member["Status"].text(), leads(member)};
    if (verbose) row.push_back(member["ProtocolCur"].text());
    row.insert(row.end(), {tags["raft_vsn"].text(), tags["build"].text(), tags["dc"].text(),
                           tags["region"].text()});
    if (verbose) {
      std::vector<std::string> all;
      for (const auto& [key, value] : tags.members())
        all.push_back(key + '=' + value.text());
      row.push_back(join(all, ","));
    }
    rows.push_back(std::move(row));
  }
  std::cout << table(rows) << '\n';
  if (leader && !leader->view().text().empty()) return 0;
  return mistake(
      "\nError determining leaders: 1 error occurred:\n\t* Region \"global\": No cluster "
      "leader\n");
}

Result<int> run_system_gc(const std::vector<std::string>& arguments) {
  ApiCommand command{"system gc [options]", "Collects garbage now, whatever its age."};
  if (auto code = command.start(arguments)) return *code;
  auto& api = command.api;
  auto answer = api->put("/v1/system/gc", nullptr);
  return answer ? 0 : fail("Error running system garbage-collection", answer.error());
}

Result<int> run_agent_info(const std::vector<std::string>& arguments) {
  ApiCommand command{"agent-info [options]", "Shows what the agent counts of itself."};
  OutputFlags output{command};
  if (auto code = command.start(arguments)) return *code;
  auto& api = command.api;
  auto self = NOMAD_TRY(api->get("/v1/agent/self")
                            .within("failed querying self endpoint")
                            .within("Error querying agent info"));
  if (auto code = output.print(self.body)) return *code;
  for (const auto& [section, values] : self.view()["stats"].members()) {
    std::cout << section << '\n';
    for (const auto& [key, value] : values.members())
      std::cout << "  " << key << " = " << value.text() << '\n';
  }
  return 0;
}

Result<int> run_monitor(const std::vector<std::string>& arguments) {
  ApiCommand command{"monitor [options]", "Shows the agent's log as it is written."};
  auto& level = command.option("log-level", "The lowest level to show; INFO.");
  auto& node_id = command.option("node-id", "The node whose agent is asked.");
  auto& server_id = command.option("server-id", "The server that is asked.");
  auto& json = command.flag("json", "Shows the lines as JSON.");
  if (auto code = command.start(arguments, any_words)) return *code;
  auto& api = *command.api;
  Query query{{"plain", "true"}};
  if (!level.empty()) query.emplace_back("log_level", level);
  if (!node_id.empty()) query.emplace_back("node_id", node_id);
  if (!server_id.empty()) query.emplace_back("server_id", server_id);
  if (json) query.emplace_back("log_json", "true");
  auto stream = NOMAD_TRY(api.stream("/v1/agent/monitor", query).within("Error starting monitor"));
  const EndsWell whenever_it_is_enough;
  for (;;) {
    auto bytes = NOMAD_TRY(stream.read().within("Error reading monitor"));
    if (bytes.empty()) return 0;
    std::cout << bytes << std::flush;
  }
}

namespace {

struct SearchContext {
  const char* name;   ///< In search answers.
  const char* title;  ///< In the list of several matches.
  Result<int> (*run)(const std::vector<std::string>&);
};

constexpr SearchContext contexts[] = {{"jobs", "Jobs", run_job_status},
                                      {"allocs", "Allocations", run_alloc_status},
                                      {"evals", "Evaluations", run_eval_status},
                                      {"deployment", "Deployments", run_deployment_status},
                                      {"nodes", "Nodes", run_node_status}};

}  // namespace

Result<int> run_status(const std::vector<std::string>& arguments) {
  ApiCommand command{"status [options] [identifier]", "Shows whatever an identifier means."};
  command.flag("verbose", "Shows whole ids.");
  if (auto code = command.parse(arguments, optional_word("<identifier>"))) return *code;
  if (command.positional().empty()) return run_job_status(arguments);
  const auto& id = command.positional()[0];
  auto& api = *NOMAD_TRY(command.connect());
  auto found
      = NOMAD_TRY(api.put("/v1/search", boost::json::object{{"Prefix", id}, {"Context", "all"}})
                      .within("Error querying search with id \"" + id + '"'));
  std::vector<std::pair<const SearchContext*, std::vector<View>>> matches;
  std::size_t total = 0;
  for (const auto& context : contexts) {
    auto items = found.view()["Matches"][context.name].items();
    // A job whose name is typed whole is meant, whatever else starts with it.
    for (const auto& item : items)
      if (std::string_view{context.name} == "jobs" && item.text() == id)
        return context.run(arguments);
    total += items.size();
    if (!items.empty()) matches.emplace_back(&context, std::move(items));
  }
  if (total == 0) return mistake(fmt::format("Unable to resolve ID: \"{}\"", id));
  if (total == 1) return matches[0].first->run(arguments);
  std::cerr << fmt::format("Multiple matches found for id \"{}\"\n", id);
  for (const auto& [context, items] : matches) {
    std::vector<std::string> ids;
    for (const auto& item : items)
      ids.push_back(item.text());
    std::cerr << fmt::format("\n{}:\n{}\n", context->title, join(ids, ", "));
  }
  return 1;
}

}  // namespace nomad::cli
