#include "cli/job/local_files.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "cli/input.hpp"
#include "cli/job/job_file.hpp"
#include "runtime/text/regex.hpp"

namespace nomad::cli {
namespace {

namespace fs = std::filesystem;

/// So many entries are looked at for one `fileset`.
constexpr std::size_t most_entries = 1'000'000;

/// A pattern of Terraform's and Nomad's `fileset` as an expression for whole paths: `*` and `?`
/// stay within a directory, `**` is any number of them, and there are `[a-z]` and `{a,b}`.
Result<Regex> compile_glob(std::string_view pattern) {
  std::string out = "^(?s:";
  std::size_t braces = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    const bool begins_part = i == 0 || pattern[i - 1] == '/';
    if (begins_part && pattern.substr(i).starts_with("**/")) {
      out += "(?:[^/]+/)*";
      i += 2;
    } else if (begins_part && pattern.substr(i) == "**") {
      out += ".*";
      ++i;
    } else if (c == '*') {
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
    } else if (const auto end = pattern.find(']', i + 2);
               c == '[' && end != std::string_view::npos) {
      std::string set{pattern.substr(i + 1, end - i - 1)};
      if (set[0] == '!') set[0] = '^';
      out += '[' + set + ']';
      i = end;
    } else {
      if (c == '\\' && i + 1 < pattern.size()) ++i;
      out += quote_meta(pattern.substr(i, 1));
    }
  }
  return Regex::compile(out + ")$");
}

}  // namespace

Result<std::string> LocalFiles::read(std::string_view path) const {
  return read_input(std::string{path}, most_job_file_bytes);
}

Result<bool> LocalFiles::exists(std::string_view path) const {
  std::error_code failure;
  return fs::is_regular_file(path, failure);
}

Result<std::vector<std::string>> LocalFiles::glob(std::string_view path,
                                                  std::string_view pattern) const {
  const fs::path root{path};
  const auto expression = NOMAD_TRY(compile_glob(pattern).within("bad pattern"));
  std::vector<std::string> found;
  std::size_t entries = 0;
  std::error_code failure;
  for (fs::recursive_directory_iterator
           at{root, fs::directory_options::skip_permission_denied, failure},
       end;
       !failure && at != end; at.increment(failure)) {
    if (++entries > most_entries)
      return Error{Errc::too_large, fmt::format("{} has more than {} files", path, most_entries)};
    const std::string name = at->path().lexically_relative(root).generic_string();
    std::error_code gone;
    if (expression.matches(name) && at->is_regular_file(gone)) found.push_back(name);
  }
  if (failure && failure != std::errc::no_such_file_or_directory)
    return errno_error(fmt::format("list {}", path), failure.value());
  std::ranges::sort(found);
  return found;
}

Result<std::string> LocalFiles::absolute(std::string_view path) const {
  std::error_code failure;
  auto absolute = fs::absolute(path, failure).lexically_normal().string();
  if (failure) return errno_error(fmt::format("absolute path of {}", path), failure.value());
  return absolute;
}

Result<std::string> LocalFiles::expand_home(std::string_view path) const {
  const char* const home = std::getenv("HOME");
  if (!path.starts_with('~') || home == nullptr) return std::string{path};
  return home + std::string{path.substr(1)};
}

}  // namespace nomad::cli
