// var put: writes a variable from a specification, from key=value arguments, or both.
#include <iostream>
#include <map>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/input.hpp"
#include "cli/output/go_template.hpp"
#include "cli/output/terminal_text.hpp"
#include "cli/run.hpp"
#include "cli/var/specification.hpp"
#include "cli/var/var_view.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::cli {
namespace {

struct PutOptions : ApiCommand {
  using ApiCommand::ApiCommand;

  const bool& force = flag("force", "Writes whatever is stored.");
  const bool& verbose = flag("verbose", "Says on stderr what it does.");
  const std::string& check_index
      = option("check-index", "Writes only if this is the modify index.");
  std::string& in = option("in", "The format of a specification from stdin: hcl or json.", "json");
  const std::string& out
      = option("out", "go-template, hcl, json, none or table.", on_terminal() ? "none" : "json");
  const std::string& format = option("template", "The Go template for -out go-template.");

  void say(const std::string& what) const {
    if (verbose) std::cerr << what << '\n';
  }
};

Error invalid(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

/// "k=v", "k=@file", "k=-"; an empty value removes the item.
Result<> add_argument(VariableDraft& draft,
                      const std::string& argument,
                      const PutOptions& options,
                      std::vector<std::string>& odd_keys) {
  const auto bad = [&argument](const std::string& why) {
    return invalid(fmt::format("invalid key/value pair \"{}\": {}", argument, why));
  };
  if (argument.empty()) return {};
  const auto sign = argument.find('=');
  if (sign == std::string::npos) return bad("format must be key=value");
  const auto key = argument.substr(0, sign);
  auto value = argument.substr(sign + 1);
  if (is_file_reference(value)) {
    auto content = read_input(value.substr(1));
    if (!content) return bad("error reading file: " + content.error().what);
    value = std::move(*content);
  } else if (value.starts_with("\\@")) {
    value.erase(0, 1);
  } else if (value == "-") {
    auto content = read_input("-");
    if (!content) return bad(content.error().what);
    value = std::move(*content);
  }
  if (value.empty()) {
    options.say(draft.items.erase(key) != 0
                    ? fmt::format("Removed item \"{}\"", key)
                    : fmt::format("Item \"{}\" does not exist, continuing...", key));
    return {};
  }
  for (const char c : key)
    if (c != '_' && static_cast<unsigned char>(c) < 0x80
        && std::isalnum(static_cast<unsigned char>(c)) == 0) {
      odd_keys.push_back(key);
      break;
    }
  draft.items[key] = std::move(value);
  return {};
}

/// `"a.b" contains characters ["."] that require …`, once per key.
std::string warning_of(const std::string& key) {
  std::map<char, bool> odd;
  for (const char c : key)
    if (c != '_' && static_cast<unsigned char>(c) < 0x80
        && std::isalnum(static_cast<unsigned char>(c)) == 0)
      odd[c] = true;
  std::string list;
  for (const auto& entry : odd)
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ",", entry.first);
  return fmt::format(
      "\"{}\" contains characters [{}] that require the 'index' function for direct access in "
      "templates",
      key, list);
}

/// Takes the format of a specification from the name of its file.
bool take_format(PutOptions& options, const std::string& file) {
  const auto format = specification_format(file);
  if (format.empty()) return false;
  options.in = format;
  return true;
}

std::string problem_with(const PutOptions& options) {
  if (options.in != "hcl" && options.in != "json")
    return "Invalid value for \"-in\"; valid values are [hcl, json]";
  if (options.out != "go-template" && !options.format.empty())
    return "The '-template' flag is only valid when using 'go-template' formatting";
  if (options.out == "go-template" && options.format.empty())
    return "A template must be supplied using '-template' when using go-template formatting";
  for (const auto* known : {"go-template", "hcl", "json", "none", "table"})
    if (options.out == known) return "";
  return "Invalid value for \"-out\"; valid values are [go-template, hcl, json, none, table]";
}

/// The specification that the first two arguments point to, which are removed then; also the path.
Result<std::string> take_specification(PutOptions& options,
                                       std::vector<std::string>& arguments,
                                       std::string& path) {
  const auto is_reference
      = [](const std::string& argument) { return argument == "-" || is_file_reference(argument); };
  if (!is_reference(arguments.front())) {
    path = trimmed_path(arguments.front());
    options.say(fmt::format("Writing to path \"{}\"", path));
    arguments.erase(arguments.begin());
  }
  if (arguments.empty() || !is_reference(arguments.front())) return std::string{};
  const auto reference = arguments.front();
  arguments.erase(arguments.begin());
  if (reference == "-") return read_input("-");
  if (!take_format(options, reference))
    return invalid(fmt::format("Unable to determine format of {}; Use the -in flag to specify it.",
                               path.empty() ? reference.substr(1) : reference));
  auto text = NOMAD_TRY(read_input(reference.substr(1))
                            .within(fmt::format("Error reading \"{}\"", reference.substr(1))));
  return text;
}

Result<int> print_written(const PutOptions& options, const boost::json::value& body) {
  const View variable{body};
  const auto done = fmt::format("Created variable \"{}\" with modify index {}",
                                variable["Path"].text(), variable["ModifyIndex"].number());
  if (options.out == "none") {
    std::cout << done << '\n';
    return 0;
  }
  options.say(done);
  if (options.out == "table") std::cout << variable_table(variable) << '\n';
  const RawOutput raw;
  if (options.out == "json") std::cout << variable_json(variable) << '\n';
  if (options.out == "hcl") std::cout << variable_hcl(variable) << '\n';
  if (options.out != "go-template") return 0;
  const auto text
      = NOMAD_TRY(render_go_template(options.format, body).within("Error formatting the variable"));
  std::cout << text << '\n';
  return 0;
}

void warn(const std::vector<std::string>& odd_keys) {
  if (odd_keys.empty()) return;
  std::cerr << fmt::format("Variable Warnings:\n{} warning{}:\n\n", odd_keys.size(),
                           odd_keys.size() == 1 ? "" : "s");
  for (const auto& key : odd_keys)
    std::cerr << "* " << warning_of(key) << '\n';
  std::cerr << '\n';
}

Result<int> write(const PutOptions& options,
                  Api& api,
                  const VariableDraft& draft,
                  std::uint64_t check_index,
                  const std::vector<std::string>& odd_keys) {
  boost::json::object items;
  for (const auto& [key, value] : draft.items)
    items[key] = value;
  const boost::json::object body{
      {"Namespace", draft.ns}, {"Path", draft.path}, {"Items", std::move(items)}};
  Query query;
  if (!options.force) query.emplace_back("cas", std::to_string(check_index));
  const auto response
      = NOMAD_TRY(api.send("PUT", variable_path(draft.path), query, boost::json::serialize(body))
                      .within("Error creating variable"));
  if (const auto code
      = explain_conflict(response, options.force ? std::optional<std::uint64_t>{} : check_index))
    return *code;
  if (response.status / 100 != 2) return fail("Error creating variable", refusal(response));
  const auto written = NOMAD_TRY(json_of(response).within("Error creating variable"));
  warn(odd_keys);
  return print_written(options, written);
}

}  // namespace

Result<int> run_var_put(const std::vector<std::string>& arguments) {
  PutOptions command{
      "var put [options] <path or specification> [<specification>] [<key>=<value>]...",
      "Writes a variable. A specification is @file or - for stdin; a value may be "
      "@file or - too. Flags come first."};
  if (auto code = command.parse(arguments)) return *code;
  const auto check = parse_check_index(command.check_index);
  if (!check)
    return mistake(fmt::format("Error parsing check-index value \"{}\": {}", command.check_index,
                               check.error().what));
  auto& api = *NOMAD_TRY(command.connect());
  if (api.all_namespaces()) return mistake(wildcard_refused);
  auto rest = command.positional();
  if (rest.empty()) return command.misuse("Not enough arguments (expected >1, got 0)");
  if (rest.size() == 1 && rest[0] != "-" && !is_file_reference(rest[0]))
    return command.misuse("Must supply data");
  if (const auto problem = problem_with(command); !problem.empty()) return command.misuse(problem);
  std::string path;
  const auto text = NOMAD_TRY(take_specification(command, rest, path));
  auto draft = parse_variable(text, command.in, command.common.ns, path);
  if (!draft) return fail("Failed to parse variable data", draft.error());
  std::vector<std::string> odd_keys;
  for (const auto& argument : rest)
    if (const auto added = add_argument(*draft, argument, command, odd_keys); !added)
      return fail("Failed to parse K=V data", added.error());
  if (!draft->ns.empty()) api.use_namespace(draft->ns);
  return write(command, api, *draft, check->value_or(draft->modify_index), odd_keys);
}

}  // namespace nomad::cli
