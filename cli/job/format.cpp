// fmt: rewrites job files and agent configurations in their canonical layout.
#include "runtime/hcl/syntax/format.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iostream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/input.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/terminal_text.hpp"
#include "cli/programs.hpp"
#include "cli/run.hpp"
#include "runtime/base/result.hpp"
#include "runtime/hcl/syntax/parser.hpp"

namespace nomad::cli {
namespace {

namespace fs = std::filesystem;

struct FormatFlags {
  bool check = false;
  bool list = true;
  bool recursive = false;
  bool write = true;
};

bool is_nomad_file(const fs::path& path) {
  return path.extension() == ".nomad" || path.extension() == ".hcl";
}

/// One run over files and folders; what went wrong is kept until its end.
class FormatRun {
public:
  explicit FormatRun(FormatFlags flags) : flags_{flags} {
    if (flags_.check) flags_.write = false;
    to_stdout_ = !flags_.list && !flags_.write;
  }

  void stdin_text() {
    flags_.list = false;
    flags_.write = false;
    to_stdout_ = true;
    if (auto content = read_input("-"))
      text("<stdin>", std::move(*content));
    else
      error(content.error().what);
  }

  void path(const std::string& name) {
    std::error_code failure;
    const auto status = fs::status(name, failure);
    if (failure || !fs::exists(status))
      error(fmt::format("No file or directory at {}", name));
    else if (fs::is_directory(status))
      folder(name);
    else if (!is_nomad_file(name))
      error("Only .nomad and .hcl files can be processed using nomad fmt");
    else
      file(name);
  }

  /// Tells what went wrong; the exit code.
  int finish() {
    hcl::RenderOptions style;
    style.color = takes_color(STDERR_FILENO);
    if (hcl::has_errors(diagnostics_)) std::cerr << hcl::render(diagnostics_, style) << '\n';
    if (!errors_.empty()) {
      std::cerr << fmt::format("{} error{} occurred:\n", errors_.size(),
                               errors_.size() == 1 ? "" : "s");
      for (const auto& each : errors_)
        std::cerr << "\t* " << each << '\n';
      std::cerr << as_called("\nFor additional help try 'nomadctl fmt -help'\n");
    }
    const bool failed = hcl::has_errors(diagnostics_) || !errors_.empty();
    return failed || (flags_.check && any_changed_) ? 1 : 0;
  }

private:
  void error(std::string what) { errors_.push_back(std::move(what)); }

  void folder(const fs::path& path) {
    std::error_code failure;
    std::vector<fs::path> entries;
    for (fs::directory_iterator at{path, failure}, end; !failure && at != end;
         at.increment(failure))
      entries.push_back(at->path());
    if (failure) {
      error(fmt::format("Failed to list directory {}", path.string()));
      return;
    }
    std::sort(entries.begin(), entries.end());
    for (const auto& entry : entries) {
      // A link to a folder is not followed: it may lead back here.
      const auto status = fs::symlink_status(entry, failure);
      if (fs::is_directory(status)) {
        if (flags_.recursive) folder(entry);
      } else if (is_nomad_file(entry)) {
        file(path == "." ? entry.lexically_normal() : entry);
      }
    }
  }

  void file(const fs::path& path) {
    if (auto content = read_input(path.string()))
      text(path.string(), std::move(*content));
    else
      error(content.error().what);
  }

  void text(const std::string& name, std::string content) {
    auto parsed = hcl::parse(name, content);
    if (!parsed.ok()) {
      hcl::append(diagnostics_, std::move(parsed.diagnostics));
      return;
    }
    const std::string formatted = hcl::format(content);
    if (formatted != content) {
      any_changed_ = true;
      if (flags_.list) std::cout << name << '\n';
      if (flags_.write) replace(name, formatted);
    }
    if (!to_stdout_) return;
    const RawOutput raw;
    std::cout << formatted << std::flush;
  }

  /// A crash or a full disk leaves the old file as it was.
  void replace(const fs::path& path, const std::string& content) {
    std::error_code failure;
    const fs::path location = fs::canonical(path, failure);

    struct stat info {};

    if (failure || stat(location.c_str(), &info) != 0) {
      error(fmt::format("Failed to write file {}", path.string()));
      return;
    }
    std::string draft = location.string() + ".XXXXXX";
    const int descriptor = mkostemp(draft.data(), O_CLOEXEC);
    if (descriptor < 0) {
      error(errno_error(fmt::format("Failed to write file {}", path.string()), errno).what);
      return;
    }
    std::size_t written = 0;
    bool good = fchmod(descriptor, info.st_mode & 07777) == 0;
    while (good && written < content.size()) {
      const auto step = write(descriptor, content.data() + written, content.size() - written);
      good = step > 0;
      if (good) written += static_cast<std::size_t>(step);
    }
    good = good && fsync(descriptor) == 0;
    good = close(descriptor) == 0 && good;
    good = good && rename(draft.c_str(), location.c_str()) == 0;
    if (good) return;
    error(errno_error(fmt::format("Failed to write file {}", path.string()), errno).what);
    fs::remove(draft, failure);
  }

  FormatFlags flags_;
  bool to_stdout_ = false;
  bool any_changed_ = false;
  hcl::Diagnostics diagnostics_;
  std::vector<std::string> errors_;
};

}  // namespace

Result<int> run_fmt(const std::vector<std::string>& arguments) {
  FormatFlags flags;
  Arguments parser{"fmt [options] [path ...]",
                   "Rewrites .nomad and .hcl files in canonical layout: the files that are named, "
                   "those of folders (of the current one without a path), or stdin to stdout with "
                   "\"-\"."};
  parser.flag("check", flags.check, "Writes nothing; the exit code is 1 if any file would change.");
  parser.flag("list", flags.list, "Prints the names of files that change.");
  parser.flag("recursive", flags.recursive, "Goes into folders of folders.");
  parser.flag("write", flags.write, "Writes the files.");
  if (auto code = parser.parse(arguments)) return *code;
  FormatRun run{flags};
  const auto& paths = parser.positional();
  if (paths.empty())
    run.path(".");
  else if (paths[0] == "-")
    run.stdin_text();
  else
    for (const auto& path : paths)
      run.path(path);
  return run.finish();
}

}  // namespace nomad::cli
