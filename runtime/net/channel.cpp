#include "runtime/net/channel.hpp"

#include <array>
#include <cerrno>

#include <sys/socket.h>
#include <sys/uio.h>

#include "runtime/net/socket.hpp"

namespace nomad::net {
namespace {

bool would_block(int error_number) {
  return error_number == EAGAIN || error_number == EWOULDBLOCK || error_number == EINTR;
}

iovec part_of(std::string_view bytes) {
  return {const_cast<char*>(bytes.data()), bytes.size()};
}

}  // namespace

Result<IoOutcome> Channel::handshake() {
  if (tls_) return tls_->handshake();
  return IoOutcome{};
}

Result<IoOutcome> Channel::read(char* buffer, std::size_t size) {
  if (tls_) return tls_->read(buffer, size);
  const auto got = ::recv(socket_, buffer, size, 0);
  if (got > 0) return IoOutcome{IoState::done, static_cast<std::size_t>(got)};
  if (got == 0) return IoOutcome{IoState::closed, 0};
  if (would_block(errno)) return IoOutcome{IoState::want_read, 0};
  return Error{Errc::io, "read: " + go_text(errno)};
}

Result<IoOutcome> Channel::write(std::string_view first, std::string_view second) {
  if (tls_) {
    const auto bytes = first.empty() ? second : first;
    return tls_->write(bytes.data(), bytes.size());
  }
  std::array<iovec, 2> parts{part_of(first), part_of(second)};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = second.empty() ? 1 : 2;
  const auto sent = ::sendmsg(socket_, &message, MSG_NOSIGNAL);
  if (sent >= 0) return IoOutcome{IoState::done, static_cast<std::size_t>(sent)};
  if (would_block(errno)) return IoOutcome{IoState::want_write, 0};
  return Error{Errc::io, "write: " + go_text(errno)};
}

void Channel::end_output() {
  say_goodbye();
  ::shutdown(socket_, SHUT_WR);
}

void Channel::say_goodbye() {
  if (tls_) tls_->shut_down();
}

}  // namespace nomad::net
