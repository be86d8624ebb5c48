#include "cli/job/local_files.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include <sys/stat.h>

#include <fmt/format.h>

#include "cli/input.hpp"
#include "cli/job/job_file.hpp"
#include "runtime/text/regex.hpp"

namespace nomad::cli {
namespace {

namespace fs = std::filesystem;

/// So many entries are looked at for one `fileset`.
constexpr std::size_t most_entries = 1'000'000;
/// What the pattern may take of all of them.
constexpr std::uint64_t glob_work = std::uint64_t{1} << 32U;

/// One character of a set, as it stands there, or behind a backslash; "" where the pattern ends.
std::string_view next_of_set(std::string_view& rest) {
  if (rest.starts_with('\\')) rest.remove_prefix(1);
  std::size_t size = std::min<std::size_t>(1, rest.size());
  while (size < rest.size() && size > 0
         && (static_cast<unsigned char>(rest[size]) & 0xC0U) == 0x80U)
    ++size;
  const auto character = rest.substr(0, size);
  rest.remove_prefix(size);
  return character;
}

std::string set_range(std::string_view first, std::string_view last) {
  const auto quoted = [](std::string_view c) {
    return (c.size() == 1 && std::ispunct(static_cast<unsigned char>(c[0])) != 0 ? "\\" : "")
           + std::string{c};
  };
  return quoted(first) + '-' + quoted(last);
}

/// The set behind `[`, which is taken off `rest`, as an expression; "" if it is none. No set has
/// the slash.
std::string compile_set(std::string_view& rest) {
  const bool is_negated = rest.starts_with('!') || rest.starts_with('^');
  if (is_negated) rest.remove_prefix(1);
  std::string ranges;
  while (!rest.empty() && (ranges.empty() || rest[0] != ']')) {
    if (rest[0] == ']' || rest[0] == '-') return {};
    const auto first = next_of_set(rest);
    auto last = first;
    if (rest.starts_with('-')) {
      rest.remove_prefix(1);
      if (rest.starts_with(']')) return {};
      last = next_of_set(rest);
    }
    if (last.empty() || last < first) return {};
    if (is_negated || last < "/" || first > "/") {
      ranges += set_range(first, last);
    } else {
      if (first < "/") ranges += set_range(first, ".");
      if (last > "/") ranges += set_range("0", last);
    }
  }
  if (rest.empty()) return {};
  rest.remove_prefix(1);
  return (is_negated ? "[^/" : "[") + ranges + ']';
}

/// A pattern of Terraform's and Nomad's `fileset` as an expression for whole paths: `*` and `?`
/// stay within a directory, `**` is any number of them, and there are `[a-z]` and `{a,b}`.
Result<Regex> compile_glob(std::string_view pattern, Work& work) {
  static const Error wrong{Errc::invalid_argument, "syntax error in pattern"};
  std::string out = "^(?s:";
  std::size_t braces = 0;
  bool begins_part = true;
  for (auto rest = pattern; !rest.empty();) {
    const bool begins = begins_part;
    const char c = rest[0];
    begins_part = c == '/';
    if (begins && rest.starts_with("**/")) {
      out += "(?:[^/]+/)*";
      rest.remove_prefix(3);
      begins_part = true;
      continue;
    }
    if (begins && rest == "**") {
      out += ".*";
      break;
    }
    rest.remove_prefix(1);
    if (c == '*') {
      out += "[^/]*";
    } else if (c == '?') {
      out += "[^/]";
    } else if (c == '{') {
      out += "(?:";
      ++braces;
    } else if (c == '}' && braces > 0) {
      out += ')';
      --braces;
    } else if (c == ',' && braces > 0) {
      out += '|';
    } else if (c == '[') {
      const auto set = compile_set(rest);
      if (set.empty()) return wrong;
      out += set;
    } else if (c == '\\') {
      if (rest.empty()) return wrong;
      out += quote_meta(next_of_set(rest));
    } else {
      out += quote_meta(std::string_view{&c, 1});
    }
  }
  if (braces > 0) return wrong;
  return Regex::compile(out + ")$", work);
}

/// As Go's filepath.Clean: without "/" at its end.
fs::path clean(const fs::path& from) {
  const auto normal = from.lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

/// As Go shows what a path is: "drwxr-xr-x".
std::string shown_mode(mode_t mode) {
  std::string out = S_ISDIR(mode)    ? "d"
                    : S_ISFIFO(mode) ? "p"
                    : S_ISSOCK(mode) ? "S"
                    : S_ISCHR(mode)  ? "Dc"
                    : S_ISBLK(mode)  ? "D"
                                     : "";
  if ((mode & S_ISUID) != 0) out += 'u';
  if ((mode & S_ISGID) != 0) out += 'g';
  if ((mode & S_ISVTX) != 0) out += 't';
  for (int bit = 8; bit >= 0; --bit)
    out += (mode >> bit & 1U) != 0 ? "rwx"[(8 - bit) % 3] : '-';
  return out;
}

/// What `fileset` looks for: files below `folder` whose path from there is as `pattern` says.
struct Search {
  fs::path root;    ///< Absolute; names are relative to it.
  fs::path folder;  ///< The longest beginning that has no wildcards.
  std::string pattern;
};

Result<Search> search_of(std::string_view path, std::string_view pattern) {
  std::error_code failure;
  Search search;
  search.root = clean(fs::absolute(path.empty() ? "." : path, failure));
  if (failure) return errno_error(fmt::format("absolute path of {}", path), failure.value());
  const std::string cleaned = clean(fs::path{"./" + std::string{pattern}}).string();
  std::string_view rest = cleaned;
  for (auto slash = rest.find('/'); slash != std::string_view::npos; slash = rest.find('/')) {
    if (rest.substr(0, slash).find_first_of("*?[{\\") != std::string_view::npos) break;
    search.folder /= rest.substr(0, slash);
    rest.remove_prefix(slash + 1);
  }
  search.folder = clean(search.root / search.folder);
  search.pattern = rest;
  return search;
}

}  // namespace

Result<std::string> LocalFiles::read(std::string_view path) const {
  const auto file = NOMAD_TRY(expand_home(path));
  return read_input(file == "-" ? "./-" : file, most_job_file_bytes);
}

Result<bool> LocalFiles::exists(std::string_view path) const {
  const auto file = clean(NOMAD_TRY(expand_home(path.empty() ? "." : path))).string();

  struct stat found {};

  if (::stat(file.c_str(), &found) != 0) {
    if (errno == ENOENT) return false;
    return Error{Errc::invalid_argument, fmt::format("failed to stat {}", file)};
  }
  if (S_ISREG(found.st_mode)) return true;
  return Error{Errc::invalid_argument, fmt::format("{} is not a regular file, but \"{}\"", file,
                                                   shown_mode(found.st_mode))};
}

Result<std::vector<std::string>> LocalFiles::glob(std::string_view path,
                                                  std::string_view pattern) const {
  const auto search = NOMAD_TRY(search_of(path, pattern));
  Work work{glob_work};
  const auto expression
      = NOMAD_TRY(compile_glob(search.pattern, work)
                      .within(fmt::format("failed to glob pattern \"{}\"", pattern)));
  const auto deepest = search.pattern.find("**") != std::string::npos
                           ? std::numeric_limits<int>::max()
                           : static_cast<int>(std::ranges::count(search.pattern, '/'));
  std::vector<std::string> found;
  std::size_t entries = 0;
  std::error_code failure;
  for (fs::recursive_directory_iterator
           at{search.folder, fs::directory_options::skip_permission_denied, failure},
       end;
       !failure && at != end; at.increment(failure)) {
    if (++entries > most_entries)
      return Error{Errc::too_large, fmt::format("{} has more than {} files", path, most_entries)};
    if (at.depth() >= deepest) at.disable_recursion_pending();
    const auto name = at->path().lexically_relative(search.folder).generic_string();
    std::error_code gone;
    if (NOMAD_TRY(expression.matches(name, work)) && at->is_regular_file(gone))
      found.push_back(at->path().lexically_relative(search.root).generic_string());
  }
  if (failure && failure != std::errc::no_such_file_or_directory
      && failure != std::errc::not_a_directory)
    return errno_error(fmt::format("list {}", path), failure.value());
  std::ranges::sort(found);
  return found;
}

Result<std::string> LocalFiles::absolute(std::string_view path) const {
  std::error_code failure;
  auto absolute = clean(fs::absolute(path.empty() ? "." : path, failure)).string();
  if (failure) return errno_error(fmt::format("absolute path of {}", path), failure.value());
  return absolute;
}

Result<std::string> LocalFiles::expand_home(std::string_view path) const {
  if (path.starts_with('~') && path.size() > 1 && path[1] != '/')
    return Error{Errc::invalid_argument, "cannot expand user-specific home dir"};
  const char* const home = std::getenv("HOME");
  if (!path.starts_with('~') || home == nullptr) return std::string{path};
  return home + std::string{path.substr(1)};
}

}  // namespace nomad::cli
