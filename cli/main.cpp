// nomadctl: finds the command that was named and runs it.
#include <algorithm>
#include <cerrno>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/api.hpp"
#include "cli/command_tree.hpp"
#include "cli/completion/completion.hpp"
#include "cli/completion/shell_files.hpp"
#include "cli/output/terminal_text.hpp"
#include "cli/programs.hpp"

namespace {

using Words = std::span<const std::string>;

bool asks_for_help(const std::string& word) {
  return word == "-h" || word == "-help" || word == "--help" || word == "help";
}

/// Shows a group's commands, or the complaint that a word is none of them: short, so that the hint
/// stays in sight. The exit codes are Nomad's.
int answer_for_group(const nomad::cli::CommandTree& commands, Words words) {
  const std::string group = commands.group_of(words);
  Words rest = words;
  for (std::string_view left = group; !left.empty(); rest = rest.subspan(1))
    left.remove_prefix(std::min(left.size(), rest[0].size() + 1));
  if (rest.empty() || asks_for_help(rest[0])) {
    (rest.empty() ? std::cerr : std::cout) << commands.help(group);
    if (!rest.empty()) return 0;
  } else {
    const auto near = commands.nearest(words);
    const std::string path = group.empty() ? group : group + ' ';
    std::cerr << fmt::format(
        "{0} has no command \"{1}{2}\"{3}\n`{0} {1}-help` lists what there is.\n",
        nomad::cli::program_name(), path, rest[0],
        near.empty() ? "." : fmt::format("; did you mean \"{}\"?", near));
  }
  return group.empty() ? 127 : 1;
}

/// Whether who read the output has gone, which is his right.
bool nobody_reads() {
  pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return ::poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0;
}

/// `code`, or 1 where not all that was printed could be written.
int finish_output(int code) {
  if (nobody_reads()) return code;
  errno = 0;
  if (std::cout.flush()) return code;
  const auto why = errno == 0 ? std::string{"not all could be written"}
                              : std::generic_category().message(errno);
  std::cerr << "writing the output: " << why << '\n';
  return code == 0 ? 1 : code;
}

}  // namespace

int main(int argc, char** argv) {
  nomad::cli::guard_terminal();
  if (argc > 0) nomad::cli::note_program_name(argv[0]);
  const nomad::cli::CommandTree commands = nomad::cli::all_commands();
  std::vector<std::string> words{argv + 1, argv + argc};
  if (nomad::cli::answer_completion(commands, words)) return 0;
  nomad::cli::hide_secrets(argc, argv);
  const std::string first = words.empty() ? "" : words[0];
  if (first == "-v" || first == "-version" || first == "--version") words[0] = "version";
  if (first == "-autocomplete-install" || first == "--autocomplete-install")
    return nomad::cli::install_completion(nomad::cli::own_path().value_or(""));
  if (first == "-autocomplete-uninstall" || first == "--autocomplete-uninstall")
    return nomad::cli::uninstall_completion(nomad::cli::own_path().value_or(""));
  std::size_t used = 0;
  const auto* command = commands.find(words, used);
  if (command == nullptr) return finish_output(answer_for_group(commands, words));
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(used));
  const auto code = command->run(words);
  return finish_output(code ? *code : nomad::cli::fail(code.error()));
}
