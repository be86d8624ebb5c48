// plugin init: writes the project of a new plugin: one of the samples, under another name.
#include <filesystem>
#include <iostream>
#include <map>

#include <fmt/format.h>

#include "cli/api.hpp"
#include "cli/arguments.hpp"
#include "cli/new_file.hpp"
#include "cli/plugin/samples.hpp"
#include "cli/programs.hpp"
#include "cli/run.hpp"
#include "runtime/plugin/plugin_file.hpp"

namespace nomad::cli {
namespace {

/// Kinds by the names that users give them, and which sample each is.
const std::map<std::string, std::string> samples_by_kind{
    {"task-hook", "stamp"},  {"alloc-hook", "ledger"},       {"actor", "webhook"},
    {"driver", "naps"},      {"fingerprinter", "tools"},     {"device", "ttys"},
    {"scheduler", "labels"}, {"service-provider", "filesd"}, {"python-actor", "count"}};

constexpr std::string_view script_ending = ".py";

std::string kind_list() {
  std::string all;
  for (const auto& [kind, sample] : samples_by_kind)
    all += (all.empty() ? "" : ", ") + kind;
  return all;
}

bool is_word(char sign) {
  return (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z') || sign == '-' || sign == '_';
}

/// Whether a name that ends before `rest` ends there, or is a part of another. Its test is not.
bool ends_before(std::string_view rest) {
  return rest.empty() || !is_word(rest.front()) || rest.starts_with("_test");
}

/// With each word `from` as `to`.
std::string renamed(std::string_view text, const std::string& from, const std::string& to) {
  std::string made;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto found = text.find(from, begin);
    if (found == std::string_view::npos) return made.append(text.substr(begin));
    const auto end = found + from.size();
    const bool is_whole
        = (found == 0 || !is_word(text[found - 1])) && ends_before(text.substr(end));
    made.append(text.substr(begin, found - begin)).append(is_whole ? to : from);
    begin = end;
  }
  return made;
}

}  // namespace

Result<int> run_plugin_init(const std::vector<std::string>& arguments) {
  Arguments parser{
      "plugin init <kind> <name>",
      "Writes a new plugin into a folder of its name: a meson project that builds, and "
      "its test; or a program in Python. Kinds: "
          + kind_list() + "."};
  if (auto code = parser.parse(arguments)) return *code;
  if (parser.positional().size() != 2)
    return parser.misuse("This command takes two arguments: <kind> <name>");
  const auto& name = parser.positional()[1];
  const auto kind = samples_by_kind.find(parser.positional()[0]);
  if (kind == samples_by_kind.end())
    return mistake(fmt::format("\"{}\" is no kind of plugin; expected one of {}",
                               parser.positional()[0], kind_list()));
  if (!plugin::is_plugin_name(name))
    return mistake(
        fmt::format("\"{}\" can't be the name of a plugin: [a-z][a-z0-9_-]*, at most 64 "
                    "signs",
                    name));
  std::error_code failure;
  if (std::filesystem::exists(name, failure))
    return mistake(fmt::format("\"{}\" already exists", name));
  std::filesystem::create_directory(name, failure);
  if (failure) return mistake(fmt::format("Failed to make \"{}\": {}", name, failure.message()));
  for (const auto& each : plugin_samples()) {
    if (each.sample != kind->second) continue;
    const auto path = fmt::format("{}/{}", name, renamed(each.file, kind->second, name));
    NOMAD_TRY(write_new(path, renamed(each.text, kind->second, name)).within("Failed to write"));
    if (!each.file.ends_with(script_ending)) continue;
    std::filesystem::permissions(path, std::filesystem::perms{0755}, failure);
    if (failure) return mistake(fmt::format("Failed to chmod \"{}\": {}", path, failure.message()));
    std::cout << fmt::format(
        "The {0} \"{1}\" is {1}/{1}{2}. To try it (it needs pycapnp; its first line says which "
        "Python "
        "runs it):\n\n"
        "  {3} plugin validate -run {1}/{1}{2}\n\n"
        "Put it into the agent's plugin_dir as it is.\n",
        kind->first, name, script_ending, program_name());
    return 0;
  }
  std::cout << fmt::format(
      "The {0} \"{1}\" is in {1}/. To build and test it:\n\n"
      "  cd {1} && meson setup build && meson test -C build\n\n"
      "The library is build/{1}.so; put it into the agent's plugin_dir.\n",
      kind->first, name);
  return 0;
}

}  // namespace nomad::cli
