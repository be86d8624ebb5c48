// ServiceManager: whoever has started this process and wants to hear how it is: systemd, or what
// speaks its protocol (sd_notify(3)): texts of lines `NAME=value`, in datagrams to a socket whose
// address is in NOTIFY_SOCKET. What can't be told is lost: the process runs on.
//
// By hand, because libsystemd would be one more library of every installed program, with or without
// systemd, for what is one datagram.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace nomad::host {

class ServiceManager {
public:
  /// Nobody is told anything.
  ServiceManager() = default;

  /// Of NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, which it takes out of the environment: what
  /// this process starts is not the service. Before there are threads.
  static ServiceManager from_environment();

  /// It has started, or has read its configuration anew; `status` is for people.
  void ready(std::string_view status) const;
  void reloading() const;
  void stopping(std::string_view status) const;

  /// What it is at may take so long from now on; otherwise it is killed as one that hangs.
  void extend(std::chrono::microseconds time) const;

  void alive() const;

  /// Within this time of the last `alive` there must be another one; nothing: nobody watches.
  std::optional<std::chrono::microseconds> watchdog() const { return watchdog_; }

private:
  void tell(std::string_view lines) const;

  std::string socket_;  ///< A path, or "@" and a name that is no file's; "": nobody listens.
  std::optional<std::chrono::microseconds> watchdog_;
};

/// When `alive` is due: three times in the time that the manager waits, so that one may be late.
class LifeSigns {
public:
  using Clock = std::chrono::steady_clock;

  explicit LifeSigns(std::optional<std::chrono::microseconds> watchdog) : watchdog_{watchdog} {}

  /// Also counts `now` as the last time if it is.
  bool is_due(Clock::time_point now);

  /// How long an answer that shows it may be waited for.
  std::chrono::milliseconds patience() const;

  /// The same or less than `usual`: after so long one has to look again.
  std::chrono::milliseconds interval(std::chrono::milliseconds usual) const;

private:
  std::optional<std::chrono::microseconds> watchdog_;
  std::optional<Clock::time_point> last_;
};

}  // namespace nomad::host
