// What a test plays of the network: a client's connection, and a byte stream to another agent.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/net/http/exchange.hpp"
#include "runtime/net/rpc/rpc_link.hpp"
#include "test/support/eventually.hpp"

namespace nomad::api {

/// Keeps the answer, and takes whatever else it is given.
class SilentClient : public net::detail::Exchange {
public:
  bool take(Turns::Action&) override { return false; }

  void send(net::Response response) override {
    {
      const std::lock_guard lock{guard_};
      if (!answer_) answer_ = std::move(response);
    }
    test::note_change();
  }

  void start_stream(net::Response) override {}

  bool write(std::string_view, std::function<void()>) override { return true; }

  void end(bool properly) override {
    (properly ? ended : cut) = true;
    test::note_change();
  }

  void drop() override { send({.status = 500, .body = "dropped"}); }

  bool abandoned() const override { return false; }

  std::size_t queued() const override { return 0; }

  void on_abandoned(std::function<void()>) override {}

  void start_tunnel(net::Response) override {}

  void on_data(std::function<void(std::string_view, bool)>) override {}

  void taken(std::size_t) override {}

  void end_output() override {}

  /// What was sent, if anything.
  std::optional<net::Response> answer() const {
    const std::lock_guard lock{guard_};
    return answer_;
  }

  std::atomic<bool> ended{false};
  std::atomic<bool> cut{false};

private:
  mutable std::mutex guard_;
  std::optional<net::Response> answer_;
};

/// Takes everything and brings nothing.
class SilentStream final : public net::RpcStream {
public:
  bool write(Bytes) override { return true; }

  void end() override {}

  void on_data(std::function<void(Bytes, bool)>) override {}

  void taken(std::size_t) override {}

  void on_writable(std::function<void()>) override {}

  void on_closed(std::function<void()>) override {}
};

}  // namespace nomad::api
