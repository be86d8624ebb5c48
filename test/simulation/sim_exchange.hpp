// SimExchange: one request to the HTTP API of a simulated server, and its answer, as a connection
// of the HTTP server would provide them. No tunnels: nobody asks for one.
#pragma once

#include <functional>
#include <utility>

#include "runtime/net/http/exchange.hpp"

namespace nomad::test {

class SimExchange final : public net::detail::Exchange {
public:
  using Answered = std::function<void(const net::Response&)>;

  SimExchange(net::Request asked, Answered answered) : answered_(std::move(answered)) {
    request = std::move(asked);
  }

  bool take(Turns::Action&) override { return false; }

  void send(net::Response response) override {
    if (const auto answered = std::exchange(answered_, {})) answered(response);
  }

  void start_stream(net::Response head) override { streamed_ = std::move(head); }

  bool write(std::string_view chunk, std::function<void()> drained) override {
    streamed_.body += chunk;
    if (drained) drained();
    return true;
  }

  void end(bool properly) override {
    if (!properly) streamed_.status = 500;
    send(std::exchange(streamed_, {}));
  }

  void drop() override { send({.status = 500}); }

  bool abandoned() const override { return false; }

  std::size_t queued() const override { return 0; }

  void on_abandoned(std::function<void()>) override {}

  void start_tunnel(net::Response) override { drop(); }

  void on_data(std::function<void(std::string_view, bool)>) override {}

  void taken(std::size_t) override {}

  void end_output() override {}

private:
  Answered answered_;
  net::Response streamed_;
};

}  // namespace nomad::test
