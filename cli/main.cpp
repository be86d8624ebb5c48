// nomadctl: finds the command that was named and runs it.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/api.hpp"
#include "cli/command.hpp"
#include "cli/completion.hpp"
#include "cli/programs.hpp"
#include "runtime/base/similar_name.hpp"

namespace {

using nomad::cli::Command;

/// The command with the longest name that `words` starts with.
const Command* find(const std::vector<std::string>& words, std::size_t& used) {
  const Command* best = nullptr;
  for (const auto& command : nomad::cli::commands()) {
    std::string joined;
    for (std::size_t count = 1; count <= std::min<std::size_t>(words.size(), 4); ++count) {
      joined += (count > 1 ? " " : "") + words[count - 1];
      if (joined == command.name && (best == nullptr || count > used)) {
        best = &command;
        used = count;
      }
    }
  }
  return best;
}

bool is_group(const std::string& word) {
  return std::any_of(nomad::cli::commands().begin(), nomad::cli::commands().end(),
                     [&](const Command& command) { return command.name.starts_with(word + ' '); });
}

/// Lists the commands below `group`, or all when it is empty.
void list(std::ostream& out, const std::string& group) {
  out << "Usage: nomadctl " << (group.empty() ? "" : group + ' ')
      << "<command> [options] [args]\n\nCommands:\n";
  std::size_t width = 0;
  for (const auto& command : nomad::cli::commands())
    width = std::max(width, command.name.size());
  for (const auto& command : nomad::cli::commands())
    if (group.empty() || command.name.starts_with(group + ' '))
      out << "    " << command.name << std::string(width - command.name.size() + 4, ' ')
          << command.summary << '\n';
}

/// The command whose name is nearest to what was typed, "" if none is near.
std::string_view nearest(const std::vector<std::string>& words) {
  std::vector<std::string_view> names;
  for (const auto& command : nomad::cli::commands())
    names.push_back(command.name);
  for (auto count = std::min<std::size_t>(words.size(), 4); count > 0; --count) {
    const auto typed = fmt::format(
        "{}", fmt::join(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count), " "));
    if (const auto near = nomad::closest_name(typed, names); !near.empty()) return near;
  }
  return {};
}

bool asks_for_help(const std::string& word) {
  return word == "-h" || word == "-help" || word == "--help" || word == "help";
}

}  // namespace

int main(int argc, char** argv) {
  if (nomad::cli::answer_completion(nomad::cli::commands())) return 0;
  std::vector<std::string> words{argv + 1, argv + argc};
  if (!words.empty() && (words[0] == "-v" || words[0] == "-version" || words[0] == "--version"))
    words[0] = "version";
  if (words.empty() || asks_for_help(words[0])) {
    list(words.empty() ? std::cerr : std::cout, "");
    return words.empty() ? 127 : 0;
  }
  if (words[0] == "-autocomplete-install" || words[0] == "--autocomplete-install")
    return nomad::cli::install_completion(nomad::cli::own_path().value_or(""));
  if (words[0] == "-autocomplete-uninstall" || words[0] == "--autocomplete-uninstall")
    return nomad::cli::uninstall_completion(nomad::cli::own_path().value_or(""));
  std::size_t used = 0;
  if (const auto* command = find(words, used)) {
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(used));
    const auto code = command->run(words);
    return code ? *code : nomad::cli::fail(code.error());
  }
  const bool in_group = is_group(words[0]);
  if (in_group && (words.size() == 1 || asks_for_help(words[1]))) {
    list(words.size() > 1 ? std::cout : std::cerr, words[0]);
    return words.size() > 1 ? 0 : 1;
  }
  const auto near = nearest(words);
  std::cerr << "nomadctl has no command \"" << words[0] << (in_group ? ' ' + words[1] : "") << '"'
            << (near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)) << "\n\n";
  list(std::cerr, in_group ? words[0] : "");
  return in_group ? 1 : 127;
}
