// var get, var list, var purge.
#include <chrono>
#include <iostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/output/go_template.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/terminal_text.hpp"
#include "cli/run.hpp"
#include "cli/var/var_view.hpp"

namespace nomad::cli {
namespace {

/// Why the choice of -out and -template is none; empty when it is fine.
std::string misfit(const std::string& out,
                   const std::string& format,
                   std::initializer_list<std::string_view> formats) {
  if (out != "go-template" && !format.empty())
    return "The '-template' flag is only valid when using 'go-template' formatting";
  if (out == "go-template" && format.empty())
    return "A template must be supplied using '-template' when using go-template formatting";
  for (const auto known : formats)
    if (out == known) return "";
  std::string list;
  for (const auto known : formats)
    list += (list.empty() ? "" : ", ") + std::string{known};
  return "Invalid value for \"-out\"; valid values are [" + list + "]";
}

Result<int> print_variable(const std::string& out,
                           const std::string& format,
                           const Answer& answer) {
  const auto variable = answer.view();
  if (out == "none") return 0;
  if (out == "table") std::cout << variable_table(variable) << '\n';
  const RawOutput raw;
  if (out == "json") std::cout << variable_json(variable) << '\n';
  if (out == "hcl") std::cout << variable_hcl(variable) << '\n';
  if (out != "go-template") return 0;
  const auto text
      = NOMAD_TRY(render_go_template(format, answer.body).within("Error formatting the variable"));
  std::cout << text << '\n';
  return 0;
}

void print_stubs(const Answer& answer) {
  Rows rows{{"Namespace", "Path", "Last Updated"}};
  for (const auto& stub : answer.view().items())
    rows.push_back(
        {stub["Namespace"].text(), stub["Path"].text(), clock_time(stub["ModifyTime"].number())});
  std::cout << (rows.size() == 1 ? "No matching variables found" : table(rows)) << '\n';
}

void print_terse(const Answer& answer, bool with_namespace) {
  Rows rows;
  for (const auto& stub : answer.view().items())
    rows.push_back(with_namespace ? Row{stub["Namespace"].text(), stub["Path"].text()}
                                  : Row{stub["Path"].text()});
  std::cout << table(rows) << '\n';
}

/// Lists by page show the way to the next page beside the rows.
boost::json::value with_meta(const Answer& answer) {
  return boost::json::object{
      {"Data", answer.body},
      {"QueryMeta",
       {{"LastIndex", answer.index},
        {"LastContact", std::chrono::nanoseconds{answer.last_contact}.count()},
        {"KnownLeader", answer.known_leader},
        {"RequestTime", answer.took.count()},
        {"NextToken", answer.next_token}}}};
}

}  // namespace

Result<int> run_var_get(const std::vector<std::string>& arguments) {
  ApiCommand command{"var get [options] <path>", "Shows a variable."};
  auto& item = command.option("item", "Prints only the value of this item, without a line break.");
  auto& out = command.option("out", "go-template, hcl, json, none or table.",
                             on_terminal() ? "table" : "json");
  auto& format = command.option("template", "The Go template for -out go-template.");
  if (auto code = command.parse(arguments, one_word("<path>"))) return *code;
  if (const auto problem = misfit(out, format, {"go-template", "hcl", "json", "none", "table"});
      !problem.empty())
    return command.misuse(problem);
  auto& api = *NOMAD_TRY(command.connect());
  if (api.all_namespaces()) return mistake(wildcard_refused);
  const auto answer = api.get(variable_path(command.positional()[0]));
  if (!answer && answer.error().code == Errc::not_found) return mistake("Variable not found");
  if (!answer) return fail("Error retrieving variable", answer.error());
  if (item.empty()) return print_variable(out, format, *answer);
  const auto value = answer->view()["Items"][item];
  if (value.is_null()) return mistake(fmt::format("Variable does not contain \"{}\" item", item));
  const RawOutput raw;
  std::cout << value.text();
  return 0;
}

Result<int> run_var_list(const std::vector<std::string>& arguments) {
  ApiCommand command{"var list [options] <prefix>", "Lists variables, but not what they hold."};
  auto& per_page = command.number("per-page", "How many to show per page.");
  auto& token = command.option("page-token", "Where the page begins.");
  auto& filter = command.option("filter", "Shows only those for which this expression holds.");
  auto& out = command.option("out", "go-template, json, table or terse.",
                             on_terminal() ? "table" : "json");
  auto& format = command.option("template", "The Go template for -out go-template.");
  if (auto code = command.parse(arguments)) return *code;
  if (command.positional().size() > 1)
    return command.misuse("This command takes flags and either no arguments or one: <prefix>");
  if (const auto problem = misfit(out, format, {"go-template", "json", "table", "terse"});
      !problem.empty())
    return command.misuse(problem);
  auto& api = *NOMAD_TRY(command.connect());
  if (!filter.empty())
    std::cerr << "Filter queries require a full scan of the data; use prefix searching where "
                 "possible\n";
  Query query;
  if (!command.positional().empty()) query.emplace_back("prefix", command.positional()[0]);
  if (!filter.empty()) query.emplace_back("filter", filter);
  if (per_page != 0) query.emplace_back("per_page", std::to_string(per_page));
  if (!token.empty()) query.emplace_back("next_token", token);
  const auto answer = api.get("/v1/vars", query);
  if (!answer) return fail("Error retrieving vars", answer.error());
  if (out == "json") {
    print_json(per_page > 0 ? with_meta(*answer) : answer->body);
    return 0;
  }
  if (out == "table") print_stubs(*answer);
  if (out == "terse") print_terse(*answer, api.all_namespaces());
  if (out == "go-template") {
    const auto text
        = NOMAD_TRY(render_go_template(format, answer->body).within("Error formatting the data"));
    const RawOutput raw;
    std::cout << text << '\n';
  }
  if (!answer->next_token.empty()) std::cerr << "Next page token: " << answer->next_token << '\n';
  return 0;
}

Result<int> run_var_purge(const std::vector<std::string>& arguments) {
  ApiCommand command{"var purge [options] <path>", "Deletes a variable for good."};
  auto& check_text = command.option("check-index", "Deletes it only if this is its modify index.");
  if (auto code = command.parse(arguments, one_word("<path>"))) return *code;
  const auto check = parse_check_index(check_text);
  if (!check)
    return mistake(fmt::format("Invalid -check-index value \"{}\": {}", check_text,
                               check.error().code == Errc::too_large ? "out of range for uint64"
                                                                     : "not parsable as uint64"));
  auto& api = *NOMAD_TRY(command.connect());
  if (api.all_namespaces()) return mistake(wildcard_refused);
  const auto& path = command.positional()[0];
  Query query;
  if (*check) query.emplace_back("cas", std::to_string(**check));
  const auto response = NOMAD_TRY(
      api.send("DELETE", variable_path(path), query, "").within("Error purging variable"));
  if (const auto code = explain_conflict(response, *check)) return *code;
  if (response.status / 100 != 2) return fail("Error purging variable", refusal(response));
  std::cout << fmt::format("Successfully purged variable \"{}\"!\n", path);
  return 0;
}

}  // namespace nomad::cli
