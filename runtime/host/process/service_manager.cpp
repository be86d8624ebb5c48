#include "runtime/host/process/service_manager.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/base/whole_number.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host {
namespace {

using namespace std::chrono_literals;

constexpr int shares_of_watchdog = 3;

/// The variable's value, which is taken out of the environment.
std::string taken(const char* name) {
  const char* const value = std::getenv(name);
  std::string out = value == nullptr ? "" : value;
  ::unsetenv(name);
  return out;
}

/// Of the clock by which systemd tells one reload from the next.
long monotonic_microseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000 + now.tv_nsec / 1'000;
}

/// A line for people stays one line.
std::string one_line(std::string_view text) {
  std::string out{text};
  std::ranges::replace(out, '\n', ' ');
  return out;
}

}  // namespace

ServiceManager ServiceManager::from_environment() {
  ServiceManager manager;
  manager.socket_ = taken("NOTIFY_SOCKET");
  const auto time = whole_number<long>(taken("WATCHDOG_USEC"));
  const auto watched = taken("WATCHDOG_PID");
  // Of a parent it is no business of this process.
  if (time > 0 && (watched.empty() || whole_number<long>(watched) == ::getpid()))
    manager.watchdog_ = std::chrono::microseconds{*time};
  return manager;
}

void ServiceManager::ready(std::string_view status) const {
  tell(fmt::format("READY=1\nSTATUS={}\n", one_line(status)));
}

void ServiceManager::reloading() const {
  tell(fmt::format("RELOADING=1\nMONOTONIC_USEC={}\nSTATUS=reading the configuration\n",
                   monotonic_microseconds()));
}

void ServiceManager::stopping(std::string_view status) const {
  tell(fmt::format("STOPPING=1\nSTATUS={}\n", one_line(status)));
}

void ServiceManager::extend(std::chrono::microseconds time) const {
  tell(fmt::format("EXTEND_TIMEOUT_USEC={}\n", time.count()));
}

void ServiceManager::alive() const {
  tell("WATCHDOG=1\n");
}

void ServiceManager::tell(std::string_view lines) const {
  sockaddr_un address{};
  if (socket_.empty() || socket_.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_[0] == '@') address.sun_path[0] = '\0';
  const UniqueFd fd{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  static_cast<void>(::sendto(fd.get(), lines.data(), lines.size(), MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&address), size));
}

bool LifeSigns::is_due(Clock::time_point now) {
  if (!watchdog_) return false;
  if (last_ && now - *last_ < *watchdog_ / shares_of_watchdog) return false;
  last_ = now;
  return true;
}

std::chrono::milliseconds LifeSigns::patience() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(watchdog_.value_or(0us)
                                                               / shares_of_watchdog);
}

std::chrono::milliseconds LifeSigns::interval(std::chrono::milliseconds usual) const {
  if (!watchdog_) return usual;
  return std::clamp(patience(), 1ms, usual);
}

}  // namespace nomad::host
