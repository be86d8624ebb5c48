#include "runtime/docker/engine.hpp"

#include <mutex>

#include <fmt/format.h>

#include "runtime/net/http/client/async_http_client.hpp"

namespace nomad::docker {
namespace {

/// The failure as the driver knows it.
Error error_of(const net::HttpClientError& failure, bool has_begun) {
  using Kind = net::HttpClientError::Kind;
  switch (failure.kind) {
    case Kind::invalid:
    case Kind::resolve:
    case Kind::forbidden:
    case Kind::connect:
    case Kind::tls:
      return {failure.code, "cannot connect to the Docker daemon: " + failure.what};
    case Kind::timeout:
      return {failure.code, has_begun ? "timeout: nothing came from the Docker daemon for too long"
                                      : "timeout: the Docker daemon did not answer in time"};
    case Kind::closed:
      return {failure.code, "the Docker daemon hung up: " + failure.what};
    case Kind::malformed:
    case Kind::redirects:
      return {failure.code, "the Docker daemon's answer makes no sense: " + failure.what};
    case Kind::too_large:
      return {failure.code, "the Docker daemon's answer is too long"};
    case Kind::refused:
      return {failure.code, failure.what};
  }
  return {failure.code, failure.what};
}

class SocketEngine final : public Engine {
public:
  SocketEngine(std::string socket, std::string thread)
      : socket_{std::move(socket)},
        client_{{.thread = std::move(thread), .read_bytes = 64 * 1024}} {}

  CallId follow(EngineRequest request, Limits limits, Follower follower) override {
    const bool is_stream = static_cast<bool>(follower.piece);
    return client_.send(
        request_of(std::move(request), !is_stream),
        {.header = limits.header,
         .silence = limits.silence,
         .whole = limits.whole,
         .body_bytes = most_bytes},
        {.ended =
             [is_stream, ended = std::move(follower.ended)](net::HttpOutcome outcome) {
               if (!ended) return;
               if (outcome.failure)
                 return ended(error_of(*outcome.failure, is_stream && outcome.answer.status != 0));
               ended(EngineAnswer{outcome.answer.status, std::move(outcome.answer.body)});
             },
         .piece = std::move(follower.piece),
         .tick = std::move(follower.tick)});
  }

  void cancel(CallId call) override { client_.cancel(call); }

  void set_api(const std::string& version) override {
    const std::lock_guard guard{mutex_};
    api_ = version;
  }

  std::string api() const override {
    const std::lock_guard guard{mutex_};
    return api_;
  }

private:
  net::HttpRequest request_of(EngineRequest request, bool keeps_connection) const {
    net::HttpRequest made;
    made.to = {.scheme = "unix", .host = socket_, .port = {}, .base_path = {}};
    made.method = std::move(request.method);
    made.target = fmt::format("/v{}{}", api(), request.target);
    made.headers = std::move(request.headers);
    made.headers.push_back({"Host", "docker"});
    if (!request.body.empty()) made.headers.push_back({"Content-Type", "application/json"});
    made.body = std::move(request.body);
    made.keeps_connection = keeps_connection;
    return made;
  }

  const std::string socket_;
  mutable std::mutex mutex_;
  std::string api_ = "1.41";     ///< Guarded by mutex_.
  net::AsyncHttpClient client_;  ///< Ends before the rest.
};

}  // namespace

std::unique_ptr<Engine> connect_engine(std::string socket, std::string thread) {
  return std::make_unique<SocketEngine>(std::move(socket), std::move(thread));
}

}  // namespace nomad::docker
