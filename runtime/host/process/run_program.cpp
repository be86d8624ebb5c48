#include "runtime/host/process/run_program.hpp"

#include <array>
#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/host/process/spawn.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int held_fd = 3;

/// One whose reading does not wait.
Result<Pipe> output_pipe() {
  auto pipe = NOMAD_TRY(make_pipe());
  ::fcntl(pipe.reading.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

SpawnOptions options_of(const ProgramRun& run, int input, int output, int errors) {
  SpawnOptions options{.program = run.program,
                       .arguments = run.arguments,
                       .environment = run.environment,
                       .descriptors = {{input, 0}, {output, 1}, {errors, 2}}};
  if (run.held >= 0) options.descriptors.emplace_back(run.held, held_fd);
  return options;
}

/// Takes what is there; false at its end.
/// One that writes without a pause is looked at again when it has written more than it may.
bool drain(const UniqueFd& from, std::string& into, std::size_t most) {
  std::array<char, 16 * 1024> part;
  while (into.size() <= most) {
    const auto got = ::read(from.get(), part.data(), part.size());
    if (got == 0) return false;
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    into.append(part.data(), static_cast<std::size_t>(got));
  }
  return true;
}

struct Streams {
  UniqueFd output, errors;
};

/// Reads until the program has ended; what children of it write later is not waited for.
Result<> attend(const ProgramRun& run,
                const UniqueFd& process,
                Streams streams,
                ProgramEnded& into) {
  const auto deadline = Clock::now() + run.timeout;
  for (;;) {
    std::array<pollfd, 3> waits{{{process.get(), POLLIN, 0},
                                 {streams.output.get(), POLLIN, 0},
                                 {streams.errors.get(), POLLIN, 0}}};
    const auto left
        = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0)
      return Error{Errc::timeout, fmt::format("{} did not end within {} ms and was killed",
                                              run.program, run.timeout.count())};
    const int ready = ::poll(waits.data(), waits.size(), static_cast<int>(left.count()) + 1);
    if (ready < 0 && errno != EINTR) return errno_error("waiting for " + run.program, errno);
    if (ready <= 0) continue;
    if (streams.output && !drain(streams.output, into.output, run.max_output))
      streams.output.reset();
    if (streams.errors && !drain(streams.errors, into.errors, run.max_output))
      streams.errors.reset();
    if (into.output.size() > run.max_output || into.errors.size() > run.max_output)
      return Error{Errc::too_large, fmt::format("{} wrote more than {} bytes and was killed",
                                                run.program, run.max_output)};
    if ((waits[0].revents & POLLIN) != 0) return {};
  }
}

}  // namespace

Result<ProgramEnded> run_program(const ProgramRun& run) {
  const auto input = NOMAD_TRY(memory_file(run.input));
  auto output = NOMAD_TRY(output_pipe());
  auto errors = NOMAD_TRY(output_pipe());
  const auto spawned
      = NOMAD_TRY(spawn(options_of(run, input.get(), output.writing.get(), errors.writing.get())));
  output.writing.reset();
  errors.writing.reset();
  ProgramEnded ended;
  const auto outcome
      = attend(run, spawned.process, {std::move(output.reading), std::move(errors.reading)}, ended);
  if (!outcome) ::kill(-spawned.pid, SIGKILL);
  int status = 0;
  while (::waitpid(spawned.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!outcome) return outcome.error();
  ended.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return ended;
}

bool end_holders(const std::string& path) {
  namespace fs = std::filesystem;
  bool any = false;
  std::error_code failure;
  for (fs::directory_iterator entry{"/proc", failure};
       !failure && entry != fs::directory_iterator{}; entry.increment(failure)) {
    pid_t pid = 0;
    const auto name = entry->path().filename().string();
    if (!is_digits(name)) continue;
    std::from_chars(name.data(), name.data() + name.size(), pid);
    if (pid == ::getpid() || ::getpgid(pid) != pid) continue;
    std::error_code gone;  // Processes end while they are looked at.
    const auto held = fs::read_symlink(entry->path() / "fd" / std::to_string(held_fd), gone);
    if (gone || held != path) continue;
    any = ::kill(-pid, SIGKILL) == 0 || any;
  }
  return any;
}

std::string find_program(std::string_view name, std::string_view path) {
  while (!path.empty()) {
    const auto colon = path.find(':');
    const auto directory = path.substr(0, colon);
    path = colon == path.npos ? std::string_view{} : path.substr(colon + 1);
    if (directory.empty()) continue;
    auto file = fmt::format("{}/{}", directory, name);

    struct stat status {};

    if (::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode)
        && ::access(file.c_str(), X_OK) == 0)
      return file;
  }
  return {};
}

}  // namespace nomad::host
