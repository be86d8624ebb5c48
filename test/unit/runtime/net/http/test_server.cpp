#include "test/unit/runtime/net/http/test_server.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <doctest/doctest.h>

namespace nomad::net {

RawPeer::RawPeer(const std::string& address) : fd_{::socket(AF_INET, SOCK_STREAM, 0)} {
  const auto colon = address.rfind(':');
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  peer.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
  ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &peer.sin_addr);
  REQUIRE(::connect(fd_, reinterpret_cast<sockaddr*>(&peer), sizeof peer) == 0);
}

RawPeer::~RawPeer() {
  close();
}

void RawPeer::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void RawPeer::shut_down_sending() {
  ::shutdown(fd_, SHUT_WR);
}

void RawPeer::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // the server closed; the reading side will tell
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::size_t RawPeer::send_some(std::string_view bytes, std::chrono::milliseconds limit) {
  std::size_t sent = 0;
  for (pollfd entry{fd_, POLLOUT, 0};
       sent < bytes.size() && ::poll(&entry, 1, static_cast<int>(limit.count())) > 0;) {
    const auto rest = bytes.substr(sent);
    const auto count = ::send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN) break;
    sent += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
  }
  return sent;
}

bool RawPeer::is_silent(std::chrono::milliseconds time) const {
  pollfd entry{fd_, POLLIN, 0};
  return ::poll(&entry, 1, static_cast<int>(time.count())) == 0;
}

std::string RawPeer::read_until(std::string_view mark, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    if (const auto at = got_.find(mark); at != std::string::npos) {
      auto text = got_.substr(0, at + mark.size());
      got_.erase(0, at + mark.size());
      return text;
    }
    const auto left
        = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd entry{fd_, POLLIN, 0};
    char buffer[65536];
    if (left.count() <= 0 || ::poll(&entry, 1, static_cast<int>(left.count())) <= 0)
      return "(timeout) " + std::exchange(got_, {});
    const auto got = ::recv(fd_, buffer, sizeof buffer, 0);
    if (got <= 0) return std::exchange(got_, {});
    got_.append(buffer, static_cast<std::size_t>(got));
  }
}

TestServer::TestServer(ServerOptions options) {
  if (options.listen == ServerOptions{}.listen) options.listen = {"127.0.0.1:0"};
  auto started = HttpServer::start(std::move(options), make_router());
  REQUIRE(started.has_value());
  server = std::make_unique<HttpServer>(std::move(*started));
}

HttpClient TestServer::client() const {
  auto client = HttpClient::make({.address = "http://" + address()});
  REQUIRE(client.has_value());
  return std::move(*client);
}

void TestServer::wait_held(std::size_t count) {
  REQUIRE(eventually([&] {
    const std::lock_guard lock{guard};
    return held.size() + streams.size() >= count;
  }));
}

void TestServer::note(const std::function<void()>& change) {
  {
    const std::lock_guard lock{guard};
    change();
  }
  test::note_change();
}

HttpRouter TestServer::make_router() {
  HttpRouter router;
  router.handle("/hello", [](Responder responder) {
    responder.send({.content_type = "text/plain", .body = "hello"});
  });
  router.handle("/echo", [](Responder responder) {
    responder.send({.content_type = "text/plain", .body = responder.request().body});
  });
  router.handle("/prefix/",
                [](Responder responder) { responder.send({.body = responder.request().path}); });
  router.handle("/big",
                [](Responder responder) { responder.send({.body = std::string(1 << 20, 'x')}); });
  router.handle("/throw", [](Responder) { throw std::runtime_error{"a bug"}; });
  router.handle("/drop", [](Responder) {});
  router.handle("/hold", [this](Responder responder) {
    auto kept = std::make_shared<Responder>(std::move(responder));
    kept->on_abandoned([this] { note([this] { ++abandoned; }); });
    note([&] { held.push_back(std::move(kept)); });
  });
  router.handle("/stream", [this](Responder responder) {
    auto stream = std::make_shared<BodyStream>(responder.stream({.content_type = "text/plain"}));
    stream->on_abandoned([this] { note([this] { ++abandoned; }); });
    note([&] { streams.push_back(std::move(stream)); });
  });
  return router;
}

}  // namespace nomad::net
