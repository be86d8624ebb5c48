// AsyncHttpClient: any number of requests by HTTP at once, over TCP, TLS and Unix sockets, on one
// thread, which begins with the first of them. Below the engine of docker and the probes of checks;
// what asks a service like Consul or Vault stands on it too (docs/internals/http.md).
//
// Every request ends: by its answer, by an HttpClientError, or because it was withdrawn. All is
// bounded by the caller's limits: time of each phase, bodies, connections that are kept. What a
// kept connection answered with nothing, because the peer was closing it, is asked again on a new
// one if it is a read; writes have a new connection each, because they may have happened.
//
// The commands, which have nothing else to do, use the blocking HttpClient.
//
// May depend on: runtime/base, runtime/text.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/net/http/client/http_request.hpp"

struct sockaddr;

namespace nomad::net {

class EventLoop;

struct AsyncHttpClientOptions {
  std::string thread = "http-client";  ///< What it is called.
  std::size_t read_bytes = 16 * 1024;  ///< At once, for all of them.

  // Of connections that are kept:
  std::size_t most_kept = 64;
  std::size_t most_kept_to_peer = 4;
  std::chrono::milliseconds kept_for{30'000};

  /// Whether an address may be connected to, as a name or a redirect may lead anywhere. Judges what
  /// the name was resolved to, on the client's thread; empty: any may.
  std::function<bool(const sockaddr& address)> allows = {};
};

class AsyncHttpClient {
public:
  using CallId = std::uint64_t;

  explicit AsyncHttpClient(AsyncHttpClientOptions options = {});
  AsyncHttpClient(const AsyncHttpClient&) = delete;

  /// Withdraws what was asked; nobody is told any more. Waits for a handler that runs now.
  ~AsyncHttpClient();

  /// Any thread; so the following.
  CallId send(HttpRequest request, const HttpLimits& limits, HttpHandlers handlers);

  /// A connection that speaks no HTTP: of `request` only who is connected to counts, and how.
  CallId dial(HttpRequest request, const HttpLimits& limits, HttpHandlers handlers);

  /// Nothing is told of that request any more once this returns to the client's own thread; from
  /// others a call that is under way may still end.
  void cancel(CallId call);

  /// Runs `action` on the client's thread.
  void post(std::function<void()> action);

  /// For what waits for something else on the client's thread.
  EventLoop& loop();

private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace nomad::net
