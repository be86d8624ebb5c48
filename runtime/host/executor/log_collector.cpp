#include "runtime/host/executor/log_collector.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <time.h>

#include "runtime/base/whole_number.hpp"
#include "runtime/host/executor/log_writer.hpp"

namespace nomad::host::executor {
namespace {

constexpr int look_interval_ms = 60'000;
constexpr long last_words_ms = 1000;

long monotonic_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

struct Pipe {
  std::string path;
  UniqueFd reader;
  UniqueFd writer;  ///< Its own: as long as it is open, others may close and open as they like.
  std::unique_ptr<LogWriter> file;
  bool has_ended = false;

  bool open() {
    reader.reset(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
    writer.reset(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));

    struct stat status {};

    return reader && writer && ::fstat(reader.get(), &status) == 0 && S_ISFIFO(status.st_mode);
  }

  bool is_there() const {
    struct stat named {};

    struct stat ours {};

    return ::stat(path.c_str(), &named) == 0 && ::fstat(reader.get(), &ours) == 0
           && named.st_ino == ours.st_ino && named.st_dev == ours.st_dev;
  }

  /// What is there now, but no more than a turn's worth.
  void take() {
    char part[64 * 1024];
    for (int turns = 0; turns < 16; ++turns) {
      const auto got = ::read(reader.get(), part, sizeof part);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) {
        has_ended = true;
        return;
      }
      static_cast<void>(
          file->write({part, static_cast<std::size_t>(got)}));  // a full disk drops it
    }
  }
};

int refuse(const std::string& what) {
  const int error = errno;
  std::fprintf(stderr, "%s: %s\n", what.c_str(), std::strerror(error));
  return 1;
}

/// To who has started this one. He may be gone, and nothing more is said.
void say_ready() {
  ::dprintf(2, "%s\n", logs_are_read);
  const UniqueFd nothing{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  if (nothing)
    ::dup2(nothing.get(), 2);
  else
    ::close(2);
}

/// Everybody may have written their last: read it.
void drain(std::array<Pipe, 2>& pipes) {
  for (auto& pipe : pipes)
    pipe.writer.reset();
  const long end = monotonic_ms() + last_words_ms;
  for (;;) {
    for (auto& pipe : pipes)
      if (!pipe.has_ended) pipe.take();
    const long left = end - monotonic_ms();
    if ((pipes[0].has_ended && pipes[1].has_ended) || left <= 0) return;
    pollfd waits[2];
    for (std::size_t i = 0; i < 2; ++i)
      waits[i] = {pipes[i].has_ended ? -1 : pipes[i].reader.get(), POLLIN, 0};
    ::poll(waits, 2, static_cast<int>(left));
  }
}

}  // namespace

int keep_logs(int count, char** arguments) {
  std::uint64_t max_files = 0, max_bytes = 0;
  if (count != 6 || !read_whole_number(arguments[2], max_files)
      || !read_whole_number(arguments[3], max_bytes)) {
    std::fputs(
        "usage: nomadctl-executor logs ALLOC_ROOT TASK MAX_FILES MAX_FILE_BYTES OUT ERRORS\n",
        stderr);
    return 2;
  }
  sigset_t awaited;
  ::sigemptyset(&awaited);
  ::sigaddset(&awaited, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &awaited, nullptr);
  for (const int number : {SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ})
    ::signal(number, SIG_IGN);
  ::prctl(PR_SET_NAME, "nomad-logs");
  const UniqueFd order{::signalfd(-1, &awaited, SFD_CLOEXEC)};
  std::array<Pipe, 2> pipes;
  for (std::size_t i = 0; i < 2; ++i) {
    auto& pipe = pipes[i];
    pipe.path = arguments[4 + i];
    if (!pipe.open()) return refuse("opening " + pipe.path);
    auto directory = open_log_directory(arguments[0]);
    if (!directory) return refuse("opening " + std::string{arguments[0]} + "/alloc/logs");
    pipe.file = std::make_unique<LogWriter>(
        std::move(directory),
        LogWriter::Options{.base = std::string{arguments[1]} + (i == 0 ? ".stdout" : ".stderr"),
                           .max_files = static_cast<std::uint32_t>(max_files),
                           .max_file_bytes = max_bytes});
    static_cast<void>(pipe.file->open());
  }
  say_ready();
  for (;;) {
    pollfd waits[3] = {{pipes[0].reader.get(), POLLIN, 0},
                       {pipes[1].reader.get(), POLLIN, 0},
                       {order.get(), POLLIN, 0}};
    const int ready = ::poll(waits, 3, look_interval_ms);
    if (ready < 0 && errno != EINTR) return refuse("waiting");
    if (ready == 0 && !pipes[0].is_there() && !pipes[1].is_there()) return 0;
    for (std::size_t i = 0; i < 2; ++i)
      if (ready > 0 && waits[i].revents != 0) pipes[i].take();
    if (ready > 0 && waits[2].revents != 0) break;
  }
  drain(pipes);
  for (const auto& pipe : pipes)
    if (pipe.is_there()) ::unlink(pipe.path.c_str());
  return 0;
}

}  // namespace nomad::host::executor
