// namespace apply, delete, inspect, list, status.
#include <filesystem>
#include <iostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/did_you_mean.hpp"
#include "cli/input.hpp"
#include "cli/kinds/kind_commands.hpp"
#include "cli/kinds/quota_tables.hpp"
#include "cli/kinds/specification.hpp"
#include "cli/output/api_shape.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/run.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

std::string namespace_table(const std::vector<View>& namespaces) {
  if (namespaces.empty()) return "No namespaces found";
  Rows rows{{"Name", "Description"}};
  for (const auto& ns : namespaces)
    rows.push_back({ns["Name"].text(), ns["Description"].text()});
  return table(rows);
}

/// The namespace of that name, or the only one whose name begins so.
Result<boost::json::value> find_namespace(Api& api, const std::string& name) {
  const auto list = NOMAD_TRY(
      api.get("/v1/namespaces", {{"prefix", name}}).within("Error retrieving namespaces"));
  const auto found = list.view().items();
  if (found.empty())
    return mistake(
        fmt::format("Error retrieving namespaces: Namespace \"{}\" matched no namespaces{}", name,
                    meant_of_list(api, "/v1/namespaces", name)));
  for (const auto& ns : found)
    if (found.size() == 1 || ns["Name"].text() == name) return *ns.raw();
  return mistake("Prefix matched multiple namespaces\n\n" + namespace_table(found));
}

std::string joined(const View& list, std::string_view separator) {
  std::vector<std::string> texts;
  for (const auto& item : list.items())
    texts.push_back(item.text());
  return join(texts, separator);
}

void print_namespace(const View& ns) {
  const auto enabled = joined(ns["Capabilities"]["EnabledTaskDrivers"], ",");
  std::cout << pairs({{"Name", ns["Name"].text()},
                      {"Description", ns["Description"].text()},
                      {"Quota", ns["Quota"].text()},
                      {"EnabledDrivers", enabled.empty() ? "*" : enabled},
                      {"DisabledDrivers", joined(ns["Capabilities"]["DisabledTaskDrivers"], ",")}})
            << '\n';
  Pairs meta;
  for (const auto& [key, value] : ns["Meta"].members())
    meta.emplace_back(key, value.text());
  if (!meta.empty()) print_section("Metadata", pairs(meta));
  const auto pools = ns["NodePoolConfiguration"];
  if (pools.is_null()) return;
  Pairs shown{{"Default", pools["Default"].text()}};
  for (const auto* list : {"Allowed", "Denied"})
    if (const auto names = joined(pools[list], ", "); !names.empty())
      shown.emplace_back(list, names);
  print_section("Node Pool Configuration", pairs(shown));
}

/// What `namespace apply NAME` puts: the stored one, or a new one, with what the flags say.
Result<boost::json::object> namespace_by_flags(Api& api,
                                               const std::string& name,
                                               const std::optional<std::string>& description,
                                               const std::optional<std::string>& quota) {
  boost::json::object ns{{"Name", name}};
  auto stored = api.get("/v1/namespace/" + segment(name));
  if (!stored && stored.error().code != Errc::not_found)
    return stored.error().within("Error looking up namespace");
  if (stored && stored->body.is_object()) ns = std::move(stored->body.get_object());
  if (description) ns["Description"] = *description;
  if (quota) ns["Quota"] = *quota;
  return ns;
}

Result<boost::json::object> namespace_by_file(const std::string& path, bool is_json) {
  auto text = NOMAD_TRY(read_input(path).within(fmt::format("Failed to read file \"{}\"", path)));
  if (is_json) return NOMAD_TRY(object_of_json(text).within("Failed to parse namespace"));
  return NOMAD_TRY(
      namespace_of_hcl(std::move(text)).within("Error parsing namespace specification"));
}

}  // namespace

Result<int> run_namespace_apply(const std::vector<std::string>& arguments) {
  ApiCommand command{"namespace apply [options] <input>",
                     "Creates or changes a namespace: one that a file describes (\"-\": stdin), "
                     "or that of a name."};
  auto& description
      = command.option<std::optional<std::string>>("description", "What the namespace is for.");
  auto& quota = command.option<std::optional<std::string>>(
      "quota", "The quota that bounds what its jobs and variables take; \"\": none.");
  auto& is_json = command.flag("json", "The file is JSON.");
  if (auto code = command.start(arguments, one_word("<input>"))) return *code;
  const auto& input = command.positional()[0];
  if (input.empty()) return mistake("Namespace name required");
  std::error_code failure;
  const bool is_file = input == "-"
                       || (std::filesystem::exists(input, failure)
                           && !std::filesystem::is_directory(input, failure));
  if (is_file && (description || quota))
    std::cerr << "Flags are ignored when a file is specified!\n";
  const auto ns = NOMAD_TRY(is_file ? namespace_by_file(input, is_json)
                                    : namespace_by_flags(*command.api, input, description, quota));
  NOMAD_TRY(command.api->put("/v1/namespace", ns).within("Error applying namespace"));
  const boost::json::value named = ns;
  std::cout << fmt::format("Successfully applied namespace \"{}\"!\n", View{named}["Name"].text());
  return 0;
}

Result<int> run_namespace_delete(const std::vector<std::string>& arguments) {
  return delete_kind({.noun = "namespace", .list_path = "/v1/namespaces", .path = "/v1/namespace/"},
                     arguments);
}

Result<int> run_namespace_inspect(const std::vector<std::string>& arguments) {
  OutputFlags output;
  ApiCommand command{"namespace inspect [options] <namespace>",
                     "Prints a namespace as it is stored."};
  command.option("t", output.format, "Prints it by a Go template.");
  if (auto code = command.start(arguments, one_word("<namespace>"))) return *code;
  output.json = output.format.empty();
  const auto ns = NOMAD_TRY(find_namespace(*command.api, command.positional()[0]));
  return *output.print(as_printed(ApiShape::kind, ns));
}

Result<int> run_namespace_list(const std::vector<std::string>& arguments) {
  ApiCommand command{"namespace list [options]", "Lists the namespaces."};
  OutputFlags output{command};
  if (auto code = command.start(arguments)) return *code;
  const auto answer
      = NOMAD_TRY(command.api->get("/v1/namespaces").within("Error retrieving namespaces"));
  if (auto code = output.print(as_printed(ApiShape::kind, answer.body))) return *code;
  std::cout << namespace_table(answer.view().items()) << '\n';
  return 0;
}

Result<int> run_namespace_status(const std::vector<std::string>& arguments) {
  ApiCommand command{"namespace status [options] <namespace>", "Shows a namespace."};
  OutputFlags output{command};
  if (auto code = command.start(arguments, one_word("<namespace>"))) return *code;
  const auto ns = NOMAD_TRY(find_namespace(*command.api, command.positional()[0]));
  if (auto code = output.print(as_printed(ApiShape::kind, ns))) return *code;
  print_namespace(View{ns});
  if (View{ns}["Quota"].text().empty()) return 0;
  const auto quota = NOMAD_TRY(command.api->get("/v1/quota/" + segment(View{ns}["Quota"].text()))
                                   .within("Error retrieving quota spec"));
  return print_quota_limits(*command.api, quota.view());
}

}  // namespace nomad::cli
