#include "runtime/net/byte_stream.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <netdb.h>

namespace nomad::net {
namespace {

using Clock = std::chrono::steady_clock;

/// Waits until `fd` is ready for `events`.
Result<> wait_for(int fd, short events, Deadline deadline) {
  for (;;) {
    int milliseconds = -1;
    if (deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
      milliseconds = static_cast<int>(std::max<std::int64_t>(0, left.count()));
    }
    pollfd entry{fd, events, 0};
    const int ready = ::poll(&entry, 1, milliseconds);
    if (ready > 0) return {};
    if (ready == 0) return Error{Errc::timeout, "context deadline exceeded"};
    if (errno != EINTR) return errno_error("poll", errno);
  }
}

/// Connects `address` within `deadline`; the error is Go's text for the last step.
Result<std::unique_ptr<ByteStream>> connect_address(const sockaddr* address,
                                                    socklen_t size,
                                                    Deadline deadline) {
  auto socket = NOMAD_TRY(begin_connect(address, size));
  if (wait_for(socket.fd, POLLOUT, deadline).has_error())
    return Error{Errc::unavailable, "i/o timeout"};
  if (const int failure = connect_outcome(socket.fd); failure != 0)
    return Error{Errc::unavailable, "connect: " + go_text(failure)};
  if (address->sa_family != AF_UNIX) {
    const int on = 1;
    ::setsockopt(socket.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  return std::make_unique<ByteStream>(std::move(socket));
}

/// A path that an address has no room for is named from its directory.
Result<std::unique_ptr<ByteStream>> connect_unix(const std::string& path, Deadline deadline) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  Descriptor directory;
  auto named = path;
  const auto slash = path.rfind('/');
  if (path.size() >= sizeof address.sun_path && slash != path.npos) {
    directory.fd = ::open(path.substr(0, slash + 1).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory.fd < 0)
      return Error{Errc::unavailable, "dial unix " + path + ": connect: " + go_text(errno)};
    named = "/proc/self/fd/" + std::to_string(directory.fd) + path.substr(slash);
  }
  if (named.size() >= sizeof address.sun_path)
    return Error{Errc::invalid_argument, "dial unix " + path + ": path too long"};
  std::memcpy(address.sun_path, named.c_str(), named.size());
  auto stream = NOMAD_TRY(
      connect_address(reinterpret_cast<const sockaddr*>(&address), sizeof address, deadline)
          .within("dial unix " + path));
  return stream;
}

std::string numeric_address(const addrinfo& entry, const std::string& fallback) {
  char host[NI_MAXHOST];
  if (::getnameinfo(entry.ai_addr, entry.ai_addrlen, host, sizeof host, nullptr, 0, NI_NUMERICHOST)
      != 0)
    return fallback;
  return entry.ai_family == AF_INET6 ? '[' + std::string{host} + ']' : std::string{host};
}

}  // namespace

ByteStream::ByteStream(Descriptor socket) : socket_{std::move(socket)}, channel_{socket_.fd} {}

ByteStream::~ByteStream() {
  channel_.say_goodbye();
}

Result<> ByteStream::secure(TlsSession session, Deadline deadline) {
  channel_.secure(std::move(session));
  for (;;) {
    const auto step = NOMAD_TRY(channel_.handshake());
    if (step.state == IoState::done) return {};
    if (step.state == IoState::closed) return Error{Errc::io, "EOF"};
    NOMAD_TRY(wait(step.state, deadline));
  }
}

Result<std::size_t> ByteStream::read(char* buffer, std::size_t size, Deadline deadline) {
  for (;;) {
    const auto step = NOMAD_TRY(channel_.read(buffer, size));
    if (step.state == IoState::done) return step.count;
    if (step.state == IoState::closed) return std::size_t{0};
    NOMAD_TRY(wait(step.state, deadline));
  }
}

Result<> ByteStream::write(std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const auto step = NOMAD_TRY(channel_.write(bytes));
    if (step.state == IoState::closed) return Error{Errc::io, "write: broken pipe"};
    if (step.state == IoState::done)
      bytes.remove_prefix(step.count);
    else
      NOMAD_TRY(wait(step.state, deadline));
  }
  return {};
}

Result<std::size_t> ByteStream::write_some(std::string_view bytes) {
  const auto step = NOMAD_TRY(channel_.write(bytes));
  if (step.state == IoState::closed) return Error{Errc::io, "write: broken pipe"};
  return step.state == IoState::done ? step.count : std::size_t{0};
}

Result<> ByteStream::wait(IoState state, Deadline deadline) const {
  return wait_for(socket_.fd, state == IoState::want_write ? POLLOUT : POLLIN, deadline);
}

Connector secure_connector(std::shared_ptr<const TlsContext> context, std::string server_name) {
  return [context = std::move(context), server_name = std::move(server_name)](
             const Endpoint& endpoint, Deadline deadline) -> Result<std::unique_ptr<ByteStream>> {
    auto stream = connect_plain(endpoint, deadline);
    if (!stream || endpoint.scheme != "https") return stream;
    const bool verifies = context->options().verify_outgoing;
    auto session
        = NOMAD_TRY(context->connect((*stream)->native_handle(), !server_name.empty() ? server_name
                                                                 : verifies ? endpoint.host
                                                                            : std::string{}));
    NOMAD_TRY((*stream)->secure(std::move(session), deadline));
    return stream;
  };
}

Result<std::unique_ptr<ByteStream>> connect_plain(const Endpoint& endpoint, Deadline deadline) {
  if (endpoint.scheme == "unix") return connect_unix(endpoint.host, deadline);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(endpoint.host.c_str(), endpoint.port.c_str(), &hints, &found);
  if (failure != 0)
    return Error{Errc::unavailable,
                 "dial tcp: lookup " + endpoint.host + ": "
                     + (failure == EAI_NONAME ? "no such host" : ::gai_strerror(failure))};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner{found, &::freeaddrinfo};
  Error last{Errc::unavailable, "dial tcp: lookup " + endpoint.host + ": no such host"};
  for (const auto* entry = found; entry != nullptr; entry = entry->ai_next) {
    auto stream = connect_address(entry->ai_addr, entry->ai_addrlen, deadline);
    if (stream) return stream;
    last = stream.error().within("dial tcp " + numeric_address(*entry, endpoint.host) + ':'
                                 + endpoint.port);
  }
  return last;
}

Result<Endpoint> Endpoint::parse(std::string_view address) {
  const auto bad = [address](std::string_view why) {
    return Error{Errc::invalid_argument,
                 "invalid address \"" + std::string{address} + "\": " + std::string{why}};
  };
  Endpoint endpoint;
  const auto colon = address.find("://");
  if (colon == std::string_view::npos) return bad("expected http://, https:// or unix://");
  endpoint.scheme = address.substr(0, colon);
  auto rest = address.substr(colon + 3);
  if (endpoint.scheme == "unix") {
    if (rest.empty()) return bad("no path");
    endpoint.host = rest;
    return endpoint;
  }
  if (endpoint.scheme != "http" && endpoint.scheme != "https")
    return bad("expected http://, https:// or unix://");
  const auto slash = std::min(rest.find('/'), rest.size());
  endpoint.base_path = rest.substr(slash);
  while (endpoint.base_path.ends_with('/'))
    endpoint.base_path.pop_back();
  rest = rest.substr(0, slash);
  if (const auto at = rest.rfind('@'); at != std::string_view::npos) rest.remove_prefix(at + 1);
  if (rest.starts_with('[')) {
    const auto end = rest.find(']');
    if (end == std::string_view::npos) return bad("missing ']'");
    endpoint.host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
  } else {
    const auto end = std::min(rest.rfind(':'), rest.size());
    endpoint.host = rest.substr(0, end);
    rest.remove_prefix(end);
  }
  if (endpoint.host.empty()) return bad("no host");
  if (!rest.empty() && rest.front() != ':') return bad("unexpected text behind the host");
  endpoint.port = rest.empty() ? "" : rest.substr(1);
  if (endpoint.port.empty()) endpoint.port = endpoint.scheme == "https" ? "443" : "80";
  return endpoint;
}

}  // namespace nomad::net
