#include "test/support/scripted_server.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

namespace nomad::test {

// -- Visitor -------------------------------------------------------------------------------------

Visitor::Visitor(int fd, const net::TlsContext* tls, const std::atomic<bool>& is_over)
    : fd_{fd}, is_over_{is_over} {
  if (tls == nullptr) return;
  tls_ = std::make_unique<net::TlsSession>(tls->accept(fd).value());
  for (;;) {
    const auto step = tls_->handshake();
    if (!step || step->state == net::TlsSession::State::done) return;
    if (!wait(step->state == net::TlsSession::State::want_read ? POLLIN : POLLOUT)) return;
  }
}

bool Visitor::wait(short events) {
  pollfd polled{fd_, events, 0};
  while (!is_over_)
    if (::poll(&polled, 1, 20) > 0) return true;
  return false;
}

void Visitor::wait_for_input(std::chrono::milliseconds time) const {
  pollfd polled{fd_, POLLIN, 0};
  ::poll(&polled, 1, static_cast<int>(time.count()));
}

std::string Visitor::read() {
  char buffer[4096];
  while (!is_over_) {
    if (tls_) {
      const auto step = tls_->read(buffer, sizeof buffer);
      if (!step || step->state == net::TlsSession::State::closed) return {};
      if (step->state == net::TlsSession::State::done) return {buffer, step->count};
    } else {
      const auto count = ::recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
      if (count > 0) return {buffer, static_cast<std::size_t>(count)};
      if (count == 0 || (errno != EAGAIN && errno != EINTR)) return {};
    }
    if (!wait(POLLIN)) return {};
  }
  return {};
}

std::string Visitor::read_request() {
  std::string request;
  while (request.find("\r\n\r\n") == std::string::npos) {
    const auto more = read();
    if (more.empty()) break;
    request += more;
  }
  return request;
}

bool Visitor::write(const std::string& bytes) {
  if (tls_) return tls_->write(bytes.data(), bytes.size()).has_value();
  return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL)
         == static_cast<ssize_t>(bytes.size());
}

// -- ScriptedServer
// --------------------------------------------------------------------------------

ScriptedServer::ScriptedServer(Treat treat, std::shared_ptr<net::TlsContext> tls)
    : treat_{std::move(treat)},
      tls_{std::move(tls)},
      listener_{net::listen_tcp("127.0.0.1:0").value().release()} {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(listener_.fd, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread{[this] { serve(); }};
}

ScriptedServer::ScriptedServer(const std::string& path, Treat treat)
    : treat_{std::move(treat)}, listener_{net::listen_unix(path).value().release()} {
  thread_ = std::thread{[this] { serve(); }};
}

ScriptedServer::~ScriptedServer() {
  is_over_ = true;
  thread_.join();
  for (auto& visitor : visitors_)
    visitor.join();
}

void ScriptedServer::serve() {
  pollfd polled{listener_.fd, POLLIN, 0};
  while (!is_over_) {
    if (::poll(&polled, 1, 20) <= 0) continue;
    const int fd = ::accept4(listener_.fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) continue;
    ++visits_;
    visitors_.emplace_back([this, fd] {
      const net::Descriptor owner{fd};
      Visitor visitor{fd, tls_.get(), is_over_};
      treat_(visitor);
    });
  }
}

std::string ScriptedServer::url(const std::string& path) const {
  return fmt::format("http{}://127.0.0.1:{}{}", tls_ ? "s" : "", port_, path);
}

ScriptedServer::Treat answers_with(std::string bytes) {
  return [bytes = std::move(bytes)](Visitor& visitor) {
    visitor.read_request();
    visitor.write(bytes);
  };
}

std::string http_answer(int status, const std::string& body, const std::string& headers) {
  return fmt::format("HTTP/1.1 {} Whatever\r\nContent-Length: {}\r\n{}\r\n{}", status, body.size(),
                     headers, body);
}

}  // namespace nomad::test
