// Listener: takes connections in for a server, up to its limits; and ConnectionLimits, which counts
// them, and what their requests hold.
//
// When the process is out of descriptors a listener rests a moment and goes on. Internal to
// runtime/net.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>

#include "runtime/base/result.hpp"
#include "runtime/net/event_loop.hpp"
#include "runtime/net/socket.hpp"

namespace nomad::net {

/// Thread-safe. Must be held by a shared pointer: places hold it.
class ConnectionLimits : public std::enable_shared_from_this<ConnectionLimits> {
public:
  /// 0 `per_address`: no limit.
  ConnectionLimits(std::size_t in_all, unsigned per_address)
      : in_all_{in_all}, per_address_{per_address} {}

  enum class Refusal : std::uint8_t { too_many, too_many_of_address };

  /// One connection's place, until it goes.
  class Slot {
  public:
    Slot() = default;
    Slot(Slot&&) noexcept = default;

    Slot& operator=(Slot&& other) noexcept {
      leave();
      limits_ = std::move(other.limits_);
      address_ = std::move(other.address_);
      held_ = std::exchange(other.held_, 0);
      return *this;
    }

    ~Slot() { leave(); }

    void leave();

    /// Counts what its request holds by now, in place of what it has held. Not if all of the
    /// address would hold more than `most` then, which is false; "" is not limited.
    bool hold(std::size_t bytes, std::size_t most);

  private:
    friend class ConnectionLimits;

    Slot(std::shared_ptr<ConnectionLimits> limits, std::string address)
        : limits_{std::move(limits)}, address_{std::move(address)} {}

    std::shared_ptr<ConnectionLimits> limits_;
    std::string address_;
    std::size_t held_ = 0;
  };

  /// A place for a connection of `address`; "" is limited in all only.
  std::variant<Slot, Refusal> enter(const std::string& address);

  /// A place for a connection of our own, which is counted and never refused.
  Slot enter_dialed();

  std::size_t count() const { return count_; }

  /// Waits until there are `count` connections, but not beyond `end`; whether there are.
  bool wait_for_count(std::size_t count, std::chrono::steady_clock::time_point end);

private:
  const std::size_t in_all_;
  const unsigned per_address_;
  std::atomic<std::size_t> count_{0};
  std::mutex guard_;
  std::condition_variable changed_;  ///< `count_` has.

  struct Address {
    unsigned connections = 0;
    std::size_t held = 0;  ///< Bytes.
  };

  std::unordered_map<std::string, Address> by_address_;
};

/// A connection that has been taken in.
struct Accepted {
  Descriptor socket;
  std::string remote;  ///< "10.0.0.7:41234"; "@" and its listener's name of a Unix socket.
  bool is_unix = false;
  std::string limits{};  ///< What its requests are kept to (kept_users.hpp).
  ConnectionLimits::Slot slot;
};

class Listener {
public:
  /// On the loop's thread.
  struct Callbacks {
    std::function<void(Accepted)> take;
    /// The socket is closed afterwards.
    std::function<void(int socket, const std::string& remote, ConnectionLimits::Refusal)> refuse;
  };

  /// Binds "127.0.0.1:4646" (port 0: a free one) or "unix:/path". `topic` is for the log.
  static Result<std::unique_ptr<Listener>> open(EventLoop& loop,
                                                const std::string& address,
                                                std::string topic,
                                                std::shared_ptr<ConnectionLimits> limits,
                                                Callbacks callbacks);

  /// Takes in at a Unix socket that listens already. Its connections are counted as those of the
  /// address `name`, which is in their `remote`. Its file is the caller's.
  static std::unique_ptr<Listener> adopt(EventLoop& loop,
                                         Descriptor socket,
                                         const std::string& name,
                                         std::string topic,
                                         std::shared_ptr<ConnectionLimits> limits,
                                         Callbacks callbacks);

  /// On the loop's thread, or after it has stopped. Removes a Unix socket's file that it made.
  ~Listener();

  /// What it is bound to: "127.0.0.1:40123", "unix:/path".
  const std::string& address() const;

  /// Begins, and ends. On the loop's thread.
  void start();
  void close();

private:
  class Core;

  explicit Listener(std::shared_ptr<Core> core);

  std::shared_ptr<Core> core_;
};

}  // namespace nomad::net
