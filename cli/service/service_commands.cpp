// service list, service info, service delete: Nomad's own service discovery.
#include <iostream>

#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/run.hpp"
#include "runtime/base/text.hpp"
#include "runtime/net/socket.hpp"

namespace nomad::cli {
namespace {

constexpr std::string_view none_found = "No service registrations found\n";

std::string tags_of(const View& service) {
  std::vector<std::string> tags;
  for (const auto& tag : service["Tags"].items())
    tags.push_back(tag.text());
  return '[' + join(tags, ",") + ']';
}

std::string address_of(const View& service) {
  if (service["Port"].number() == 0) return service["Address"].text();
  return net::join_host_port(service["Address"].text(), service["Port"].text());
}

void print_blocks(const View& services) {
  for (const auto& service : services.items())
    std::cout << pairs({{"ID", service["ID"].text()},
                        {"Service Name", service["ServiceName"].text()},
                        {"Namespace", service["Namespace"].text()},
                        {"Job ID", service["JobID"].text()},
                        {"Alloc ID", service["AllocID"].text()},
                        {"Node ID", service["NodeID"].text()},
                        {"Datacenter", service["Datacenter"].text()},
                        {"Address", address_of(service)},
                        {"Tags", tags_of(service)}})
              << "\n\n";
}

void print_registrations(const View& services) {
  Rows rows{{"Job ID", "Address", "Tags", "Node ID", "Alloc ID"}};
  for (const auto& service : services.items())
    rows.push_back({service["JobID"].text(), address_of(service), tags_of(service),
                    shown_id(service["NodeID"].text(), false),
                    shown_id(service["AllocID"].text(), false)});
  std::cout << table(rows) << '\n';
}

}  // namespace

Result<int> run_service_list(const std::vector<std::string>& arguments) {
  ApiCommand command{"service list [options]", "Lists the services that tasks registered."};
  OutputFlags output{command};
  auto& name = command.option("name", "Only the services whose names begin so.");
  if (auto code = command.start(arguments)) return *code;
  auto& api = command.api;
  Query query;
  if (!name.empty()) query.emplace_back("prefix", name);
  auto answer
      = NOMAD_TRY(api->get("/v1/services", query).within("Error listing service registrations"));
  if (answer.view().items().empty()) {
    std::cout << none_found;
    return 0;
  }
  if (auto code = output.print(answer.body)) return *code;
  Rows rows{{"Service Name"}};
  if (api->all_namespaces()) rows[0].emplace_back("Namespace");
  rows[0].emplace_back("Tags");
  for (const auto& ns : answer.view().items())
    for (const auto& service : ns["Services"].items()) {
      Row row{service["ServiceName"].text()};
      if (api->all_namespaces()) row.push_back(ns["Namespace"].text());
      row.push_back(tags_of(service));
      rows.push_back(std::move(row));
    }
  std::cout << table(rows) << '\n';
  return 0;
}

Result<int> run_service_info(const std::vector<std::string>& arguments) {
  ApiCommand command{"service info [options] <service_name>", "Shows who offers a service."};
  OutputFlags output{command};
  auto& verbose = command.flag("verbose", "Shows whole ids.");
  auto& filter = command.option("filter", "Only those for which the expression holds.");
  auto& per_page = command.number("per-page", "How many to show per page.");
  auto& page_token = command.option("page-token", "Where the page begins.");
  if (auto code = command.start(arguments, one_word("<service_name>"))) return *code;
  const auto& name = command.positional()[0];
  Query query;
  if (!filter.empty()) query.emplace_back("filter", filter);
  if (per_page != 0) query.emplace_back("per_page", std::to_string(per_page));
  if (!page_token.empty()) query.emplace_back("next_token", page_token);
  auto answer = NOMAD_TRY(command.api->get("/v1/service/" + segment(name), query)
                              .within("Error listing service registrations"));
  if (answer.view().items().empty()) {
    std::cout << none_found;
    return 0;
  }
  if (auto code = output.print(answer.body)) return *code;
  if (verbose)
    print_blocks(answer.view());
  else
    print_registrations(answer.view());
  command.hint_next_page(answer.next_token);
  return 0;
}

Result<int> run_service_delete(const std::vector<std::string>& arguments) {
  ApiCommand command{"service delete [options] <service_name> <service_id>",
                     "Removes a registration of a service. While its task runs, the task's agent "
                     "may register it again."};
  if (auto code = command.parse(arguments)) return *code;
  const auto& words = command.positional();
  if (words.size() != 2)
    return command.misuse("This command takes two arguments: <service_name> and <service_id>");
  NOMAD_TRY(command.connect());
  NOMAD_TRY(command.api->remove("/v1/service/" + segment(words[0]) + '/' + segment(words[1]))
                .within("Error deleting service registration"));
  std::cout << "Successfully deleted service registration\n";
  return 0;
}

}  // namespace nomad::cli
