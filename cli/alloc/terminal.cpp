#include "cli/alloc/terminal.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace nomad::cli {
namespace {

constexpr std::array caught{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGCONT};

sigset_t caught_set() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : caught)
    ::sigaddset(&set, number);
  return set;
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

Result<CaughtSignals> CaughtSignals::make() {
  const auto set = caught_set();
  host::UniqueFd descriptor{::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)};
  if (!descriptor) return errno_error("signalfd", errno);
  return CaughtSignals{std::move(descriptor)};
}

CaughtSignals::CaughtSignals(host::UniqueFd descriptor) : descriptor_{std::move(descriptor)} {
  const auto set = caught_set();
  ::pthread_sigmask(SIG_BLOCK, &set, &mask_before_);
  of_pipe_before_ = std::signal(SIGPIPE, SIG_IGN);
}

CaughtSignals::~CaughtSignals() {
  if (!descriptor_) return;  // moved from
  take();                    // or the first thing unblocking does would be to end the process
  std::signal(SIGPIPE, of_pipe_before_);
  ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

std::vector<int> CaughtSignals::take() const {
  std::vector<int> numbers;
  signalfd_siginfo info{};
  while (::read(descriptor_.get(), &info, sizeof info) == sizeof info)
    numbers.push_back(static_cast<int>(info.ssi_signo));
  return numbers;
}

}  // namespace nomad::cli
