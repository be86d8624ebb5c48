// Sockets: the calls of the operating system that listeners and both kinds of clients share. No
// Asio.
//
// May depend on: runtime/base.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <sys/socket.h>

#include "runtime/base/result.hpp"

namespace nomad::net {

inline constexpr int listen_backlog = 1024;

/// Owns a file descriptor.
struct Descriptor {
  int fd = -1;
  Descriptor() = default;

  explicit Descriptor(int descriptor) : fd{descriptor} {}

  Descriptor(Descriptor&& other) noexcept : fd{std::exchange(other.fd, -1)} {}

  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor();

  int release() { return std::exchange(fd, -1); }
};

/// `strerror` as Go writes it: "address already in use".
std::string go_text(int error_number);

/// Numeric host and port of an address.
std::pair<std::string, std::string> numeric(const sockaddr_storage& address, socklen_t size);

std::string join_host_port(const std::string& host, const std::string& port);

/// The host of "name:port", "1.2.3.4" or "[::1]:4646", without brackets.
std::string_view host_of(std::string_view authority);

/// "10.0.0.1:4647" or "[::1]:4647" in its two parts, without brackets.
Result<std::pair<std::string, std::string>> split_host_port(const std::string& address);

/// A listening, non-blocking socket. Errors read like Go's.
Result<Descriptor> listen_tcp(const std::string& address);

/// The same at a path; what a killed process has left there is replaced.
Result<Descriptor> listen_unix(const std::string& path);

/// A socket that is connecting to `address`, and how that ends: errno, or 0.
Result<Descriptor> begin_connect(const sockaddr* address, socklen_t size);
int connect_outcome(int fd);

/// What a socket is bound to.
std::string bound_address(const Descriptor& socket);

/// No delay, and keep-alive probes that notice a vanished peer within a minute.
void set_tcp_options(int fd);

}  // namespace nomad::net
