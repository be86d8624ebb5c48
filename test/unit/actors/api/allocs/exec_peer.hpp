// Peer: the client's end of a session of exec, byte by byte.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "runtime/net/http/websocket.hpp"
#include "test/unit/runtime/net/http/test_server.hpp"

namespace nomad::api {

class Peer {
public:
  explicit Peer(const std::string& address,
                const std::string& target,
                const std::string& early = "")
      : raw_{address} {
    raw_.send("GET " + target + " HTTP/1.1\r\nHost: " + address
              + "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
              + early);
    head = raw_.read_until("\r\n\r\n");
  }

  static std::string frame(std::string_view payload,
                           net::websocket::Kind kind = net::websocket::Kind::text) {
    net::websocket::Codec codec{net::websocket::Side::client, 1024};
    codec.send(kind, payload);
    return codec.take_output();
  }

  void send(std::string_view payload, net::websocket::Kind kind = net::websocket::Kind::text) {
    raw_.send(frame(payload, kind));
  }

  void send_raw(std::string_view bytes) { raw_.send(bytes); }

  /// The next message: its payload, or "close <code> <reason>".
  std::string next() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    while (std::chrono::steady_clock::now() < end) {
      std::string_view view = input_;
      auto message = codec_.next(view);
      input_ = std::string{view};
      if (message && message->kind == net::websocket::Kind::close)
        return "close " + std::to_string(message->close_code) + ' ' + message->payload;
      if (message && message->kind == net::websocket::Kind::pong) return "pong " + message->payload;
      if (message) return message->payload;
      auto more = raw_.read_until("\x01never\x01", std::chrono::milliseconds{20});
      if (more.empty()) return "(closed)";
      if (more.starts_with("(timeout) ")) more.erase(0, 10);
      input_ += more;
    }
    return "(nothing)";
  }

  void leave() { raw_.close(); }

  std::string head;

private:
  net::RawPeer raw_;
  std::string input_;
  net::websocket::Codec codec_{net::websocket::Side::client, 10'000'000};
};

}  // namespace nomad::api
