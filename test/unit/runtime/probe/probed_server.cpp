#include "probed_server.hpp"

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

// -- ProbedServer --------------------------------------------------------------------------------

ProbedServer::ProbedServer(Treat treat, std::shared_ptr<net::TlsContext> tls)
    : treat_{std::move(treat)},
      tls_{std::move(tls)},
      listener_{net::listen_tcp("127.0.0.1:0").value().release()} {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(listener_.fd, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread{[this] { serve(); }};
}

ProbedServer::~ProbedServer() {
  is_over_ = true;
  thread_.join();
  for (auto& visitor : visitors_)
    visitor.join();
}

void ProbedServer::serve() {
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

std::string ProbedServer::url(const std::string& path) const {
  return fmt::format("http{}://127.0.0.1:{}{}", tls_ ? "s" : "", port_, path);
}

ProbedServer::Treat answers_with(std::string bytes) {
  return [bytes = std::move(bytes)](Visitor& visitor) {
    visitor.read_request();
    visitor.write(bytes);
  };
}

std::string http_answer(int status, const std::string& body, const std::string& headers) {
  return fmt::format("HTTP/1.1 {} Whatever\r\nContent-Length: {}\r\n{}\r\n{}", status, body.size(),
                     headers, body);
}

// -- HTTP/2 --------------------------------------------------------------------------------------

namespace {

std::string h2_frame(char type, char flags, char stream, const std::string& payload) {
  std::string out;
  for (int shift = 16; shift >= 0; shift -= 8)
    out += static_cast<char>(payload.size() >> shift);
  return out + type + flags + std::string(3, '\0') + stream + payload;
}

/// A header that is neither indexed nor compressed.
std::string h2_header(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + name
         + static_cast<char>(value.size()) + value;
}

constexpr char h2_data = 0;
constexpr char h2_headers = 1;
constexpr char h2_settings = 4;
constexpr char end_stream = 1;
constexpr char end_headers = 4;
constexpr std::size_t preface_bytes = 24;

/// Whether the frames in `bytes` hold the end of the request's stream.
bool h2_request_is_whole(std::string_view bytes) {
  while (bytes.size() >= 9) {
    const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
    const std::size_t size = at(0) << 16 | at(1) << 8 | at(2);
    if (bytes.size() < 9 + size) return false;
    if ((bytes[3] == h2_data || bytes[3] == h2_headers) && (bytes[4] & end_stream) != 0)
      return true;
    bytes.remove_prefix(9 + size);
  }
  return false;
}

}  // namespace

ProbedServer::Treat speaks_grpc(std::string body, std::string status, std::string message) {
  return [=](Visitor& visitor) {
    visitor.write(h2_frame(h2_settings, 0, 0, ""));
    std::string request;
    while (request.size() < preface_bytes
           || !h2_request_is_whole(std::string_view{request}.substr(preface_bytes))) {
      const auto more = visitor.read();
      if (more.empty()) return;
      request += more;
    }
    visitor.write(
        h2_frame(h2_settings, 1, 0, "")
        + h2_frame(h2_headers, end_headers, 1,
                   "\x88" + h2_header("content-type", "application/grpc"))
        + h2_frame(h2_data, 0, 1, body)
        + h2_frame(h2_headers, end_headers | end_stream, 1,
                   h2_header("grpc-status", status) + h2_header("grpc-message", message)));
    while (!visitor.read().empty())
      continue;
  };
}

}  // namespace nomad::test
