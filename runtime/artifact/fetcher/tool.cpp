#include "runtime/artifact/fetcher/tool.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/text.hpp"
#include "runtime/host/process/pointers.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::artifact {
namespace {

using Clock = std::chrono::steady_clock;
using host::UniqueFd;

constexpr std::size_t last_words = 1500;
constexpr int could_not_start = 127;

std::string find_on_path(const std::string& name) {
  const char* const path = std::getenv("PATH");
  for (const auto directory : split(path == nullptr ? "" : path, ':')) {
    auto file = std::string{directory} + "/" + name;
    if (directory.starts_with('/') && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

/// This process's environment with the changes.
std::vector<std::string> environment_with(const std::vector<std::string>& changes) {
  std::vector<std::string> all = changes;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    const auto name = text.substr(0, text.find('=') + 1);
    bool changed = false;
    for (const auto& change : changes)
      changed = changed || change.starts_with(name);
    if (!changed) all.emplace_back(text);
  }
  return all;
}

[[noreturn]] void become(const char* file, char** arguments, char** environment, int output) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  ::setpgid(0, 0);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (::dup2(nothing, 0) < 0 || ::dup2(output, 1) < 0 || ::dup2(output, 2) < 0)
    ::_exit(could_not_start);
  ::execve(file, arguments, environment);
  ::_exit(could_not_start);
}

void keep_last(std::string& text) {
  if (text.size() > 2 * last_words) text.erase(0, text.size() - last_words);
}

/// Reads what it says until it has ended; false after the deadline.
bool attend(const UniqueFd& process,
            UniqueFd output,
            Clock::time_point deadline,
            std::string& said) {
  for (;;) {
    const auto left
        = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return false;
    std::array<pollfd, 2> waits{{{process.get(), POLLIN, 0}, {output.get(), POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(),
               static_cast<int>(std::min<std::int64_t>(left.count(), 60'000)) + 1)
        < 0)
      continue;
    if (output && waits[1].revents != 0) {
      std::array<char, 4096> part;
      const auto got = ::read(output.get(), part.data(), part.size());
      if (got > 0)
        said.append(part.data(), static_cast<std::size_t>(got));
      else if (got == 0)
        output.reset();
      keep_last(said);
    } else if (waits[0].revents != 0) {
      return true;
    }
  }
}

std::string in_one_line(std::string_view said) {
  if (said.size() > last_words) said.remove_prefix(said.size() - last_words);
  std::string out;
  for (const auto line : split(said, '\n')) {
    if (trim(line).empty()) continue;
    if (!out.empty()) out += "; ";
    out += trim(line);
  }
  return out;
}

Error ended_badly(const ToolRun& run, int status, const std::string& said) {
  // The first word that is no option tells what it was to do.
  std::string name = run.program;
  for (std::size_t i = 0; i < run.arguments.size(); ++i) {
    const auto& word = run.arguments[i];
    if (word == "-c" || word == "-C" || word == "--config") {
      ++i;
    } else if (!word.starts_with('-')) {
      name += " " + word;
      break;
    }
  }
  auto text = WIFSIGNALED(status)
                  ? name + " was killed by signal " + std::to_string(WTERMSIG(status))
                  : name + " exited with " + std::to_string(WEXITSTATUS(status));
  if (const auto words = in_one_line(said); !words.empty()) text += ": " + words;
  return {Errc::unavailable, text};
}

}  // namespace

Result<> run_tool(const ToolRun& run) {
  const auto file = find_on_path(run.program);
  if (file.empty())
    return Error{Errc::not_found, run.program + " must be available and on the PATH of the node"};
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno_error("making a pipe", errno);
  UniqueFd reading{ends[0]}, writing{ends[1]};
  std::vector<std::string> words{run.program};
  words.insert(words.end(), run.arguments.begin(), run.arguments.end());
  const auto variables = environment_with(run.environment);
  auto arguments = host::pointers_to(words);
  auto environment = host::pointers_to(variables);
  const auto pid = ::fork();
  if (pid < 0) return errno_error("starting " + run.program, errno);
  if (pid == 0) become(file.c_str(), arguments.data(), environment.data(), writing.get());
  ::setpgid(pid, pid);
  writing.reset();
  std::string said;
  const UniqueFd process{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
  const bool in_time = process && attend(process, std::move(reading), run.deadline, said);
  ::kill(-pid, SIGKILL);  // It, or what it has left behind.
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!process) return Error{Errc::io, "watching " + run.program + " is not possible"};
  if (!in_time) return Error{Errc::timeout, run.program + " did not end in time and was killed"};
  if (status != 0) return ended_badly(run, status, said);
  return {};
}

}  // namespace nomad::artifact
