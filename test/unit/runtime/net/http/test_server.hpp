// A server with a few telling handlers, and raw sockets to misuse it with.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/net/http/http_client.hpp"
#include "runtime/net/http/http_server.hpp"
#include "test/support/eventually.hpp"

namespace nomad::net {

/// A connection that sends exactly what the test says.
class RawPeer {
public:
  explicit RawPeer(const std::string& address);
  ~RawPeer();
  RawPeer(const RawPeer&) = delete;

  void send(std::string_view bytes);

  /// Sends what goes without waiting for the peer to read longer than `limit`; how much went.
  std::size_t send_some(std::string_view bytes, std::chrono::milliseconds limit);

  /// Whether nothing comes for so long, not even the end.
  bool is_silent(std::chrono::milliseconds time) const;

  /// Reads until the text contains `mark`, the peer closes or `limit` passes.
  std::string read_until(std::string_view mark,
                         std::chrono::milliseconds limit = std::chrono::seconds{10});

  /// Everything until the peer closes.
  std::string read_all() { return read_until("\x01no such text\x01"); }

  void shut_down_sending();
  void close();

private:
  int fd_;
  std::string got_;
};

/// Handlers: /hello, /echo (body back), /prefix/…, /hold (kept in `held`), /stream (kept in
/// `streams`), /big (1 MiB), /throw, /drop.
class TestServer {
public:
  explicit TestServer(ServerOptions options = {});

  const std::string& address() const { return server->addresses().front(); }

  HttpClient client() const;

  /// Waits until so many connections are open; whether they are.
  bool has_connections(std::size_t count) {
    return server->wait_for_connections(count, test::patience);
  }

  /// Waits until a handler has kept `count` responders or streams.
  void wait_held(std::size_t count);

  std::mutex guard;
  std::vector<std::shared_ptr<Responder>> held;
  std::vector<std::shared_ptr<BodyStream>> streams;
  int abandoned = 0;

  std::unique_ptr<HttpServer> server;

private:
  /// Changes what is under `guard`, and tells of it.
  void note(const std::function<void()>& change);
  HttpRouter make_router();
};

using test::eventually;

}  // namespace nomad::net
