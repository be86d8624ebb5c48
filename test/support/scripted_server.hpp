// ScriptedServer: a listening socket that treats whoever connects as a test says, for clients that
// are to be fooled.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/net/socket.hpp"
#include "runtime/net/tls/tls_context.hpp"

namespace nomad::test {

/// One connection, on a thread of its own.
class Visitor {
public:
  Visitor(int fd, const net::TlsContext* tls, const std::atomic<bool>& is_over);

  /// What arrives next; "" when the peer has gone, or the server stops.
  std::string read();

  /// The header of a request and what came with it.
  std::string read_request();

  /// False once nobody listens any more.
  bool write(const std::string& bytes);

  bool is_over() const { return is_over_; }

  /// Returns when something arrives, or the other side's end, and after `time` at the latest.
  void wait_for_input(std::chrono::milliseconds time) const;

private:
  bool wait(short events);

  int fd_;
  std::unique_ptr<net::TlsSession> tls_;
  const std::atomic<bool>& is_over_;
};

class ScriptedServer {
public:
  using Treat = std::function<void(Visitor&)>;

  /// On a port of 127.0.0.1.
  explicit ScriptedServer(Treat treat, std::shared_ptr<net::TlsContext> tls = {});

  /// At the path of a Unix socket.
  ScriptedServer(const std::string& path, Treat treat);

  ~ScriptedServer();

  std::uint16_t port() const { return port_; }

  /// How many have connected, as far as they were taken in.
  std::size_t visits() const { return visits_; }

  std::string url(const std::string& path) const;

private:
  void serve();

  Treat treat_;
  std::shared_ptr<net::TlsContext> tls_;
  net::Descriptor listener_;
  std::uint16_t port_ = 0;
  std::atomic<bool> is_over_ = false;
  std::atomic<std::size_t> visits_ = 0;
  std::vector<std::thread> visitors_;  ///< Of the serving thread, until that has ended.
  std::thread thread_;
};

/// Answers every request with the same bytes and hangs up.
ScriptedServer::Treat answers_with(std::string bytes);

/// An HTTP answer with a body.
std::string http_answer(int status, const std::string& body, const std::string& headers = "");

}  // namespace nomad::test
