#include "runtime/net/socket.hpp"

#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <memory>

#include <netinet/tcp.h>
#include <sys/un.h>
#include <unistd.h>

#include <netdb.h>

namespace nomad::net {

std::string go_text(int error_number) {
  std::string text = std::strerror(error_number);
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

Descriptor::~Descriptor() {
  if (fd >= 0) ::close(fd);
}

/// Numeric host and port of a socket's address.
std::pair<std::string, std::string> numeric(const sockaddr_storage& address, socklen_t size) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host.data(), host.size(),
                    port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV)
      != 0)
    return {};
  return {host.data(), port.data()};
}

std::string join_host_port(const std::string& host, const std::string& port) {
  return (host.find(':') == std::string::npos ? host : '[' + host + ']') + ':' + port;
}

std::string_view host_of(std::string_view authority) {
  if (authority.starts_with('[')) return authority.substr(1, authority.find(']') - 1);
  return authority.substr(0, authority.rfind(':'));
}

Result<std::pair<std::string, std::string>> split_host_port(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos)
    return Error{Errc::invalid_argument, "address " + address + ": missing port in address"};
  return std::pair{std::string{host_of(address)}, address.substr(colon + 1)};
}

Result<Descriptor> listen_tcp(const std::string& address) {
  const auto parts = split_host_port(address);
  if (!parts) return Error{Errc::invalid_argument, "listen tcp: " + parts.error().what};
  const auto& [host, port] = *parts;
  const auto name = join_host_port(host, port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failure
      = ::getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found);
  if (failure != 0) return Error{Errc::io, "listen tcp " + name + ": " + ::gai_strerror(failure)};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner{found, &::freeaddrinfo};
  Descriptor socket{
      ::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP)};
  if (socket.fd < 0) return Error{Errc::io, "listen tcp " + name + ": socket: " + go_text(errno)};
  const int on = 1;
  ::setsockopt(socket.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.fd, found->ai_addr, found->ai_addrlen) != 0
      || ::listen(socket.fd, listen_backlog) != 0)
    return Error{Errc::io, "listen tcp " + name + ": bind: " + go_text(errno)};
  return socket;
}

Result<Descriptor> listen_unix(const std::string& path) {
  const auto fail = [&](int error_number) {
    return Error{Errc::io, "listen unix " + path + ": bind: " + go_text(error_number)};
  };
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return fail(ENAMETOOLONG);
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const auto* raw = reinterpret_cast<const sockaddr*>(&address);
  Descriptor socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (socket.fd < 0) return fail(errno);
  if (::bind(socket.fd, raw, sizeof address) != 0) {
    if (errno != EADDRINUSE) return fail(errno);
    // A socket file that nobody listens on is left over from a killed process.
    const Descriptor probe{::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    if (::connect(probe.fd, raw, sizeof address) == 0 || errno != ECONNREFUSED)
      return fail(EADDRINUSE);
    if (::unlink(path.c_str()) != 0 || ::bind(socket.fd, raw, sizeof address) != 0)
      return fail(errno);
  }
  if (::listen(socket.fd, listen_backlog) != 0) return fail(errno);
  return socket;
}

Result<Descriptor> begin_connect(const sockaddr* address, socklen_t size) {
  Descriptor socket{::socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (socket.fd < 0) return Error{Errc::io, "socket: " + go_text(errno)};
  if (::connect(socket.fd, address, size) != 0 && errno != EINPROGRESS)
    return Error{Errc::unavailable, "connect: " + go_text(errno)};
  return socket;
}

int connect_outcome(int fd) {
  int outcome = 0;
  socklen_t size = sizeof outcome;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &outcome, &size);
  return outcome;
}

std::string bound_address(const Descriptor& socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(socket.fd, reinterpret_cast<sockaddr*>(&bound), &size);
  const auto [name, port] = numeric(bound, size);
  return join_host_port(name, port);
}

void set_tcp_options(int fd) {
  const int on = 1;
  const int seconds = 15;
  const int probes = 3;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

}  // namespace nomad::net
