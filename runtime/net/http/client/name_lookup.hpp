// NameLookup: the addresses of a host by the system's resolver, which blocks for as long as it
// likes, on threads of its own. A name whose server is silent holds up no other until
// `most_threads` such are looked up at once; then others wait.
//
// Whoever goes waits for no lookup: its thread ends when the resolver lets it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/socket.h>

#include "runtime/base/result.hpp"

namespace nomad::net {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

using SocketAddresses = std::vector<SocketAddress>;

/// Of an IP address as text, at once; none: it is a name.
SocketAddresses numeric_addresses(const std::string& host, const std::string& port);

/// The same of the path of a Unix socket; none: it is too long.
SocketAddresses unix_addresses(const std::string& path);

class NameLookup {
public:
  using Done = std::function<void(Result<SocketAddresses>)>;

  static constexpr int most_threads = 8;
  static constexpr std::size_t most_waiting = 1024;

  NameLookup();
  NameLookup(const NameLookup&) = delete;
  ~NameLookup();  ///< Nobody is told any more.

  /// `done` is called once, on another thread, or at once when too many wait; it must not ask
  /// again. Never when `asker` is gone before its turn. Any thread.
  void find(std::weak_ptr<const void> asker, std::string host, std::string port, Done done);

private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace nomad::net
