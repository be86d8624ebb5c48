#include "runtime/artifact/fetcher/tool.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/text.hpp"
#include "runtime/host/process/spawn.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::artifact {
namespace {

using Clock = std::chrono::steady_clock;
using host::UniqueFd;

constexpr std::size_t last_words = 1500;

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
  auto all = host::own_environment();
  std::erase_if(all, [&changes](const std::string& entry) {
    return std::ranges::any_of(changes,
                               [name = entry.substr(0, entry.find('=') + 1)](const auto& change) {
                                 return change.starts_with(name);
                               });
  });
  all.insert(all.end(), changes.begin(), changes.end());
  return all;
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
  auto output = NOMAD_TRY(host::make_pipe());
  const auto spawned = NOMAD_TRY(
      host::spawn({.program = file,
                   .arguments = run.arguments,
                   .name = run.program,
                   .environment = environment_with(run.environment),
                   .descriptors = {{output.writing.get(), 1}, {output.writing.get(), 2}},
                   .directory = "",
                   .dies_with_thread = true}));
  output.writing.reset();
  std::string said;
  const bool in_time = attend(spawned.process, std::move(output.reading), run.deadline, said);
  ::kill(-spawned.pid, SIGKILL);  // It, or what it has left behind.
  int status = 0;
  while (::waitpid(spawned.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time) return Error{Errc::timeout, run.program + " did not end in time and was killed"};
  if (status != 0) return ended_badly(run, status, said);
  return {};
}

}  // namespace nomad::artifact
