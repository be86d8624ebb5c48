#include "runtime/plugin/sdk/task_logs.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/host/executor/log_writer.hpp"
#include "runtime/host/process/spawn.hpp"

namespace nomad::plugin {
namespace {

using host::UniqueFd;
using host::executor::LogWriter;

constexpr std::size_t part_bytes = 64 * 1024;

/// What the files of one task are.
struct LogFiles {
  std::string alloc_root, task;
  LogWriter::Options options{};

  explicit LogFiles(schema::plugin::TaskConfig::Reader config)
      : alloc_root{config.getAllocRoot().begin(), config.getAllocRoot().size()},
        task{config.getId().getTask().begin(), config.getId().getTask().size()} {
    const auto logs = config.getLogs();
    if (logs.getMaxFiles() > 0) options.max_files = logs.getMaxFiles();
    if (logs.getMaxFileBytes() > 0) options.max_file_bytes = logs.getMaxFileBytes();
  }

  Result<LogWriter> open(const char* stream) const {
    auto directory = host::executor::open_log_directory(alloc_root);
    if (!directory) return errno_error("opening " + alloc_root + "/alloc/logs", errno);
    auto named = options;
    named.base = task + '.' + stream;
    LogWriter made{std::move(directory), named};
    if (const int failure = made.open(); failure != 0)
      return errno_error("opening " + alloc_root + "/alloc/logs/" + named.base, failure);
    return made;
  }
};

/// Reads both until nobody has their other ends.
void keep_logs(const std::array<int, 2>& from, LogWriter& output, LogWriter& errors) {
  static char part[part_bytes];
  const std::array<LogWriter*, 2> to{&output, &errors};
  std::array<pollfd, 2> waits{pollfd{from[0], POLLIN, 0}, pollfd{from[1], POLLIN, 0}};
  while (waits[0].fd >= 0 || waits[1].fd >= 0) {
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) return;
    for (unsigned i = 0; i < 2; ++i) {
      if (waits[i].fd < 0 || waits[i].revents == 0) continue;
      const auto got = ::read(waits[i].fd, part, sizeof part);
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got <= 0)
        waits[i].fd = -1;
      else
        static_cast<void>(to[i]->write({part, static_cast<std::size_t>(got)}));  // a full disk
    }
  }
}

/// Nobody's child, in a session of its own, with no descriptors of the plugin's: that would keep
/// its conversation with the agent open.
[[noreturn]] void become_keeper(int output, int errors, const LogFiles& files) {
  ::setsid();
  if (::fork() != 0) ::_exit(0);
  ::prctl(PR_SET_NAME, "nomadctl-logs", 0, 0, 0);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGPIPE})
    std::signal(number, SIG_IGN);
  constexpr std::array<int, 2> from{3, 4};
  constexpr int beyond_all = 10;
  const std::array<int, 2> moved{::fcntl(output, F_DUPFD, beyond_all),
                                 ::fcntl(errors, F_DUPFD, beyond_all)};
  const int nowhere = ::fcntl(::open("/dev/null", O_RDWR), F_DUPFD, beyond_all);
  for (int standard = 0; standard < 3; ++standard)
    ::dup2(nowhere, standard);
  ::dup2(moved[0], from[0]);
  ::dup2(moved[1], from[1]);
  ::close_range(static_cast<unsigned>(from[1]) + 1, ~0U, 0);
  auto stdout_writer = files.open("stdout");
  auto stderr_writer = files.open("stderr");
  if (stdout_writer && stderr_writer) keep_logs(from, *stdout_writer, *stderr_writer);
  ::_exit(0);
}

}  // namespace

Result<TaskLogs> TaskLogs::open(schema::plugin::TaskConfig::Reader config) {
  if (config.getLogs().getDisabled()) {
    TaskLogs nowhere{::open("/dev/null", O_WRONLY | O_CLOEXEC),
                     ::open("/dev/null", O_WRONLY | O_CLOEXEC)};
    if (nowhere.output_ < 0 || nowhere.errors_ < 0) return errno_error("opening /dev/null", errno);
    return nowhere;
  }
  const LogFiles files{config};
  for (const auto* stream : {"stdout", "stderr"})  // Said here, for the reader can tell nobody.
    NOMAD_TRY(files.open(stream));
  auto output = NOMAD_TRY(host::make_pipe());
  auto errors = NOMAD_TRY(host::make_pipe());
  const auto child = ::fork();
  if (child < 0) return errno_error("starting the reader of its logs", errno, Errc::unavailable);
  if (child == 0) become_keeper(output.reading.get(), errors.reading.get(), files);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR)
    continue;
  return TaskLogs{output.writing.release(), errors.writing.release()};
}

TaskLogs::~TaskLogs() {
  for (const int end : {output_, errors_})
    if (end >= 0) ::close(end);
}

}  // namespace nomad::plugin
