#include "cli/completion.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>
#include <sstream>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/api.hpp"
#include "cli/arguments.hpp"

namespace nomad::cli {
namespace {

namespace fs = std::filesystem;

/// The words of a line, the last of which is being typed and may be empty.
std::vector<std::string> words_of_line(std::string_view line) {
  std::vector<std::string> words;
  bool inside = false;
  for (const char c : line) {
    if (c == ' ' || c == '\t') {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    words.back() += c;
  }
  if (!inside) words.emplace_back();
  return words;
}

/// Every flag of a command, as the command itself names them.
std::set<std::string> flags_of(const Command& command) {
  const std::ostringstream listed;
  std::streambuf* const stdout_buffer = std::cout.rdbuf(listed.rdbuf());
  static_cast<void>(command.run({std::string{Arguments::list_flags}}));
  std::cout.rdbuf(stdout_buffer);
  std::set<std::string> out;
  std::istringstream lines{listed.str()};
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with('-')) out.insert(line);
  return out;
}

/// Files and folders that `typed` is the beginning of.
std::set<std::string> files_like(const std::string& typed) {
  const std::size_t slash = typed.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : typed.substr(0, slash + 1);
  std::set<std::string> out;
  std::error_code failure;
  for (fs::directory_iterator at{folder.empty() ? "." : folder, failure}, end;
       !failure && at != end; at.increment(failure)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with('.') && typed.size() == folder.size()) continue;
    std::error_code unknown;
    out.insert(folder + name + (fs::is_directory(at->path(), unknown) ? "/" : ""));
  }
  return out;
}

/// What a command's arguments are ids of, in the words of the search endpoint; empty: files.
std::string_view context_of(std::string_view command) {
  struct Entry {
    std::string_view begin;
    std::string_view context;
  };

  constexpr auto table = std::to_array<Entry>({
      {"job run", ""},
      {"job plan", ""},
      {"job validate", ""},
      {"job init", "nothing"},
      {"job ", "jobs"},
      {"inspect", "jobs"},
      {"stop", "jobs"},
      {"status", "all"},
      {"alloc ", "allocs"},
      {"fs", "allocs"},
      {"logs", "allocs"},
      {"exec", "allocs"},
      {"deployment list", "nothing"},
      {"deployment ", "deployment"},
      {"eval list", "nothing"},
      {"eval ", "evals"},
      {"node ", "nodes"},
      {"namespace apply", ""},
      {"namespace ", "namespaces"},
  });
  for (const Entry& entry : table)
    if (command.starts_with(entry.begin)) return entry.context;
  return "";
}

/// Ids that begin with `typed`, as the agent finds them.
std::set<std::string> ids(std::string_view context, const std::string& typed) {
  std::set<std::string> out;
  CommonFlags flags;
  Arguments environment{"", ""};
  flags.add_to(environment);
  auto api = Api::make(flags);
  if (!api) return out;
  const auto found
      = api->put("/v1/search", boost::json::object{{"Prefix", typed}, {"Context", context}});
  if (!found) return out;
  for (const auto& [name, matches] : found->view()["Matches"].members())
    for (const auto& match : matches.items())
      out.insert(match.text());
  return out;
}

struct Shell {
  fs::path file;
  std::string line;
  std::string before;  ///< A line that must stand somewhere above; may be empty.
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
  return out;
}

std::optional<std::vector<std::string>> lines_of(const fs::path& path) {
  std::ifstream in{path};
  if (!in) return std::nullopt;
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

bool write_lines(const fs::path& path, const std::vector<std::string>& lines) {
  const fs::path draft = path.string() + ".nomadctl";
  std::error_code failure;
  fs::copy_file(path, draft, fs::copy_options::overwrite_existing, failure);  // for its mode
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
    if (problem.empty() && !write_lines(shell.file, *lines)) problem = "can't be written";
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

std::vector<std::string> completions(const CommandTree& commands, std::string_view line) {
  std::vector<std::string> words = words_of_line(line);
  if (words.size() < 2) return {};
  words.erase(words.begin());  // the program
  const std::string typed = words.back();
  words.pop_back();

  std::set<std::string> found;
  std::size_t used = 0;
  const Command* command = commands.find(words, used);
  if (!typed.starts_with('-') && (command == nullptr || used == words.size()))
    for (std::string& word : commands.next_words(fmt::format("{}", fmt::join(words, " "))))
      found.insert(std::move(word));
  if (command != nullptr && found.empty()) {
    if (typed.starts_with('-')) {
      found = flags_of(*command);
    } else {
      const std::string_view context = context_of(command->name);
      if (context.empty())
        found = files_like(typed);
      else if (context != "nothing")
        found = ids(context, typed);
    }
  }
  std::vector<std::string> out;
  for (const std::string& candidate : found)
    if (candidate.starts_with(typed)) out.push_back(candidate);
  return out;
}

bool answer_completion(const CommandTree& commands) {
  const char* line = std::getenv("COMP_LINE");
  if (line == nullptr) return false;
  std::string_view typed{line};
  if (const char* point = std::getenv("COMP_POINT")) {
    const unsigned long at = std::strtoul(point, nullptr, 10);
    if (at > 0 && at < typed.size()) typed = typed.substr(0, at);
  }
  for (const std::string& candidate : completions(commands, typed))
    std::cout << candidate << '\n';
  return true;
}

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
