#include "cli/alloc/terminal.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace nomad::cli {
namespace {

constexpr std::array caught{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGCONT};

std::atomic<int> signal_pipe{-1};  ///< Handlers reach nothing else.

void on_signal(int number) {
  const int before = errno;
  const char byte = static_cast<char>(number);
  [[maybe_unused]] const auto written = ::write(signal_pipe.load(), &byte, 1);
  errno = before;
}

void set_handlers(void (*handler)(int), void (*of_pipe)(int)) {
  struct sigaction action {};

  action.sa_flags = SA_RESTART;
  action.sa_handler = handler;
  for (const int number : caught)
    ::sigaction(number, &action, nullptr);
  action.sa_handler = of_pipe;
  ::sigaction(SIGPIPE, &action, nullptr);
}

}  // namespace

Result<RawTerminal> RawTerminal::make(int fd) {
  termios before{};
  if (::tcgetattr(fd, &before) != 0) return Error{Errc::invalid_argument, "not a terminal"};
  RawTerminal terminal{fd, before};
  terminal.make_raw();
  return terminal;
}

RawTerminal::RawTerminal(RawTerminal&& other) noexcept
    : fd_{std::exchange(other.fd_, -1)}, before_{other.before_} {}

void RawTerminal::restore() {
  if (const int fd = std::exchange(fd_, -1); fd >= 0) ::tcsetattr(fd, TCSANOW, &before_);
}

void RawTerminal::make_raw() const {
  if (fd_ < 0) return;
  auto raw = before_;
  ::cfmakeraw(&raw);
  ::tcsetattr(fd_, TCSANOW, &raw);
}

std::optional<TerminalSize> terminal_size(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) return {};
  return TerminalSize{size.ws_row, size.ws_col};
}

Result<SignalPipe> SignalPipe::make() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return errno_error("pipe", errno);
  SignalPipe made{host::UniqueFd{ends[0]}, host::UniqueFd{ends[1]}};
  signal_pipe = ends[1];
  set_handlers(on_signal, SIG_IGN);
  return made;
}

SignalPipe::~SignalPipe() {
  if (read_end_.get() < 0) return;  // moved from
  set_handlers(SIG_DFL, SIG_DFL);
  signal_pipe = -1;
}

std::string SignalPipe::take() const {
  std::array<char, 64> bytes{};
  const auto count = ::read(read_end_.get(), bytes.data(), bytes.size());
  return count <= 0 ? std::string{} : std::string{bytes.data(), static_cast<std::size_t>(count)};
}

}  // namespace nomad::cli
