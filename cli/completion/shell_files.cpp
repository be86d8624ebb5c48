#include "cli/completion/shell_files.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace nomad::cli {
namespace {

namespace fs = std::filesystem;

struct Shell {
  fs::path file;
  std::string line;
  std::string before;   ///< A line that must stand somewhere above; may be empty.
  bool is_own = false;  ///< The file is there for this line alone: it comes and goes with it.
};

std::vector<Shell> shells(const std::string& program) {
  const char* home = std::getenv("HOME");
  if (home == nullptr) return {};
  const std::string name = fs::path{program}.filename().string();
  std::vector<Shell> out;
  for (const char* file : {".bashrc", ".bash_profile", ".bash_login", ".profile"}) {
    if (!fs::exists(fs::path{home} / file)) continue;
    out.push_back({fs::path{home} / file, fmt::format("complete -C {} {}", program, name), ""});
    break;
  }
  if (fs::exists(fs::path{home} / ".zshrc"))
    out.push_back({fs::path{home} / ".zshrc",
                   fmt::format("complete -o nospace -C {} {}", program, name),
                   "autoload -U +X bashcompinit && bashcompinit"});
  const char* const configured = std::getenv("XDG_CONFIG_HOME");
  const auto fish
      = (configured == nullptr ? fs::path{home} / ".config" : fs::path{configured}) / "fish";
  if (fs::exists(fish))
    out.push_back({fish / "completions" / (name + ".fish"),
                   fmt::format("complete -c {} -f -a '(COMP_LINE=(commandline -cp | string "
                               "collect) COMP_DESCRIBED=1 {})'",
                               name, program),
                   "", true});
  return out;
}

std::optional<std::vector<std::string>> lines_of(const fs::path& path) {
  std::vector<std::string> lines;
  if (!fs::exists(path)) return lines;
  std::ifstream in{path};
  if (!in) return std::nullopt;
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

bool write_lines(const fs::path& path, const std::vector<std::string>& lines) {
  const fs::path draft = path.string() + ".nomadctl";
  std::error_code failure;
  fs::create_directories(path.parent_path(), failure);
  if (fs::exists(path))  // for its mode
    fs::copy_file(path, draft, fs::copy_options::overwrite_existing, failure);
  std::ofstream out{draft};
  for (const std::string& line : lines)
    out << line << '\n';
  out.close();
  if (out && !failure) fs::rename(draft, path, failure);
  if (out && !failure) return true;
  fs::remove(draft, failure);
  return false;
}

bool contains(const std::vector<std::string>& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

/// Runs `change` on the lines of each shell's file; it gives a complaint or nothing. Says which
/// file was changed, for it is the user's own.
template <class Change>
int change_shells(const std::string& program,
                  std::string_view what,
                  std::string_view then,
                  Change change) {
  const std::vector<Shell> all = shells(program);
  std::vector<std::string> problems;
  if (all.empty())
    problems.emplace_back(
        "did not find any shells: the home directory has no .bashrc, .bash_profile, .bash_login, "
        ".profile or .zshrc");
  for (const Shell& shell : all) {
    auto lines = lines_of(shell.file);
    std::string problem = lines ? change(shell, *lines) : "can't be read";
    std::error_code failure;
    const bool is_over = problem.empty() && shell.is_own && lines->empty();
    const bool is_done = is_over ? fs::remove(shell.file, failure)
                                 : !problem.empty() || write_lines(shell.file, *lines);
    if (!is_done) problem = "can't be written";
    if (!problem.empty())
      problems.push_back(fmt::format("{}: {}", shell.file.string(), problem));
    else
      std::cout << fmt::format("{}: {}\n", shell.file.string(), then);
  }
  for (const std::string& problem : problems)
    std::cerr << fmt::format("Error {} autocomplete: {}\n", what, problem);
  return problems.empty() ? 0 : 1;
}

}  // namespace

int install_completion(const std::string& program) {
  return change_shells(program, "installing",
                       "completion of commands was added; new shells have it",
                       [](const Shell& shell, std::vector<std::string>& lines) -> std::string {
                         if (contains(lines, shell.line)) return "already installed";
                         if (!shell.before.empty() && !contains(lines, shell.before))
                           lines.push_back(shell.before);
                         lines.push_back(shell.line);
                         return {};
                       });
}

int uninstall_completion(const std::string& program) {
  return change_shells(program, "uninstalling", "completion of commands was removed",
                       [](const Shell& shell, std::vector<std::string>& lines) -> std::string {
                         if (!contains(lines, shell.line)) return "not installed";
                         std::erase(lines, shell.line);
                         return {};
                       });
}

}  // namespace nomad::cli
