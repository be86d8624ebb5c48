// Connections that leave HTTP: bytes both ways, at the pace of both sides, over plain TCP and TLS.
#include <atomic>
#include <fstream>
#include <thread>

#include <doctest/doctest.h>

#include "runtime/net/tls/certificate.hpp"
#include "test/support/temp_dir.hpp"
#include "test/unit/runtime/net/http/test_server.hpp"

using namespace nomad;
using namespace nomad::net;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view head
    = "GET /tunnel HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: echo\r\n\r\n";

Response switching() {
  return {.status = 101, .headers = {{"Connection", "Upgrade"}, {"Upgrade", "echo"}}};
}

/// A tunnel with what came out of it.
struct Kept {
  Tunnel tunnel;
  std::string received;
  bool ended = false;
  bool acknowledges = true;
  int abandoned = 0;
};

/// Echoes what comes over /tunnel, acknowledged as it is drained; keeps that of /keep in `kept`.
class TunnelServer {
public:
  explicit TunnelServer(ServerOptions options = {}) {
    options.listen = {"127.0.0.1:0"};
    HttpRouter router;
    router.handle("/hello", [](Responder responder) { responder.send({.body = "hello"}); });
    router.handle("/tunnel", [](Responder responder) { echo(std::move(responder)); });
    router.handle("/keep", [this](Responder responder) { keep(std::move(responder)); });
    auto started = HttpServer::start(std::move(options), std::move(router));
    REQUIRE(started.has_value());
    server = std::make_unique<HttpServer>(std::move(*started));
  }

  const std::string& address() const { return server->addresses().front(); }

  template <class Condition>
  void wait(Condition condition) {
    REQUIRE(eventually([&] {
      const std::scoped_lock lock{guard};
      return kept && condition(*kept);
    }));
  }

  bool has_connections(std::size_t count) {
    return server->wait_for_connections(count, test::patience);
  }

  std::mutex guard;
  std::shared_ptr<Kept> kept;
  std::unique_ptr<HttpServer> server;

private:
  static void echo(Responder responder) {
    const auto tunnel = std::make_shared<Tunnel>(responder.tunnel(switching()));
    tunnel->on_data([tunnel](std::string_view bytes, bool last) {
      if (last) return tunnel->close();
      const auto count = bytes.size();
      tunnel->write(bytes, [weak = std::weak_ptr{tunnel}, count] {
        if (const auto open = weak.lock()) open->taken(count);
      });
    });
  }

  void keep(Responder responder) {
    auto made = std::make_shared<Kept>();
    made->tunnel = responder.tunnel(switching());
    made->tunnel.on_abandoned([this, raw = made.get()] { note([raw] { ++raw->abandoned; }); });
    made->tunnel.on_data([this, raw = made.get()](std::string_view bytes, bool last) {
      note([&] {
        raw->received += bytes;
        raw->ended = raw->ended || last;
        if (raw->acknowledges) raw->tunnel.taken(bytes.size());
      });
    });
    note([&] { kept = std::move(made); });
  }

  template <class Change>
  void note(const Change& change) {
    {
      const std::scoped_lock lock{guard};
      change();
    }
    test::note_change();
  }
};

std::string to_keep() {
  auto text = std::string{head};
  return text.replace(text.find("/tunnel"), 7, "/keep");
}

/// A server certificate for 127.0.0.1 and the context that has it.
std::shared_ptr<TlsContext> make_tls(const test::TempDir& directory) {
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream{directory.path() + '/' + name} << text;
    return directory.path() + '/' + name;
  };
  const auto authority = make_authority({}).value();
  const auto made = make_certificate(authority, {.common_name = "localhost",
                                                 .dns_names = {"localhost"},
                                                 .ip_addresses = {"127.0.0.1"}})
                        .value();
  return TlsContext::make({.ca_file = write("ca.pem", authority.certificate),
                           .cert_file = write("cert.pem", made.certificate),
                           .key_file = write("key.pem", made.key)})
      .value();
}

/// Sends and reads in turns, never more than 64 KiB ahead, so that neither side's buffers overflow.
std::string echo_through(ByteStream& stream, const std::string& text) {
  const Deadline soon = std::chrono::steady_clock::now() + 20s;
  std::string back;
  std::array<char, 16 * 1024> buffer{};
  for (std::size_t sent = 0; back.size() < text.size();) {
    const auto ahead = sent - back.size();
    const auto count = std::min<std::size_t>(64 * 1024 - ahead, text.size() - sent);
    REQUIRE(stream.write(std::string_view{text}.substr(sent, count), soon).has_value());
    sent += count;
    const auto got = stream.read(buffer.data(), buffer.size(), soon);
    REQUIRE(got.has_value());
    REQUIRE(*got > 0);
    back.append(buffer.data(), *got);
  }
  return back;
}

std::string pattern(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i)
    text[i] = static_cast<char>('a' + i * 7 % 23);
  return text;
}

}  // namespace

TEST_CASE(
    "http_tunnel: what comes with the head and after it goes through, and the end comes back") {
  TunnelServer server;
  RawPeer peer{server.address()};

  peer.send(std::string{head} + "early ");
  const auto answer = peer.read_until("\r\n\r\n");
  CHECK(answer.starts_with("HTTP/1.1 101 Switching Protocols\r\n"));
  CHECK(answer.find("Connection: Upgrade\r\n") != std::string::npos);
  CHECK(answer.find("close") == std::string::npos);
  CHECK(answer.find("chunked") == std::string::npos);
  CHECK(peer.read_until("early ") == "early ");
  peer.send("GET /hello HTTP/1.1\r\n\r\n");

  CHECK(peer.read_until("\r\n\r\n") == "GET /hello HTTP/1.1\r\n\r\n");  // no HTTP any more
  peer.shut_down_sending();
  CHECK(peer.read_all().empty());
}

TEST_CASE("http_tunnel: an upgrade that the route does not know is an ordinary request") {
  TunnelServer server;
  RawPeer peer{server.address()};

  peer.send("GET /hello HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  const auto answer = peer.read_until("hello");
  CHECK(answer.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(answer.find("Upgrade:") == std::string::npos);

  peer.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(peer.read_until("hello").starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST_CASE("http_tunnel: over TLS as over TCP, also megabytes") {
  const test::TempDir directory;
  const auto tls = make_tls(directory);
  TunnelServer server{{.tls = tls}};
  const auto endpoint = Endpoint::parse("https://" + server.address()).value();
  const Deadline soon = std::chrono::steady_clock::now() + 10s;
  auto stream = secure_connector(tls, "")(endpoint, soon);
  REQUIRE(stream.has_value());

  REQUIRE((*stream)->write(std::string{head} + "early", soon).has_value());
  std::string answer;
  std::array<char, 4096> buffer{};
  while (!answer.ends_with("\r\n\r\nearly")) {
    const auto got = (*stream)->read(buffer.data(), buffer.size(), soon);
    REQUIRE(got.has_value());
    answer.append(buffer.data(), *got);
  }

  const auto text = pattern(3'000'000);
  CHECK(echo_through(**stream, text) == text);
}

TEST_CASE("http_tunnel: input waits for its acknowledgement, within a window") {
  TunnelServer server{{.tunnel_window_bytes = 100'000}};
  RawPeer peer{server.address()};
  peer.send(to_keep());
  server.wait([](Kept& kept) {
    kept.acknowledges = false;
    return true;
  });
  peer.read_until("\r\n\r\n");

  const auto text = pattern(12'000'000);
  const auto sent = peer.send_some(text, 50ms);
  CHECK(sent < text.size());
  server.wait([](Kept& kept) { return kept.received.size() >= 100'000; });
  std::size_t waiting = 0;
  server.wait([&](Kept& kept) {
    waiting = kept.received.size();
    return true;
  });
  CHECK(waiting < 100'000 + 64 * 1024);  // the window and one read
  std::thread sender{[&] { peer.send(std::string_view{text}.substr(sent)); }};

  server.wait([&](Kept& kept) {
    kept.acknowledges = true;
    kept.tunnel.taken(kept.received.size());
    return true;
  });
  sender.join();
  server.wait([&](Kept& kept) { return kept.received.size() == text.size(); });
  server.wait([&](Kept& kept) { return kept.received == text; });
}

TEST_CASE("http_tunnel: output waits for the reader, and the queue is bounded") {
  TunnelServer server{{.stream_queue_bytes = 1 << 20}};
  RawPeer peer{server.address()};
  peer.send(to_keep());
  server.wait([](Kept&) { return true; });
  peer.read_until("\r\n\r\n");
  auto& tunnel = server.kept->tunnel;
  std::atomic<int> drained{0};

  int accepted = 0;
  const std::string piece(64 * 1024, 'p');
  while (accepted < 10'000 && tunnel.write(piece, [&] {
    ++drained;
    test::note_change();
  }))
    ++accepted;
  CHECK(accepted < 10'000);
  CHECK(drained < accepted);

  std::thread reader{[&] { peer.read_until("end"); }};
  CHECK(eventually([&] { return drained == accepted; }));
  CHECK(tunnel.write("end"));
  reader.join();
}

TEST_CASE("http_tunnel: writes of several threads keep their order") {
  TunnelServer server;
  RawPeer peer{server.address()};
  peer.send(to_keep());
  server.wait([](Kept&) { return true; });
  peer.read_until("\r\n\r\n");
  auto& tunnel = server.kept->tunnel;
  tunnel.on_data([&](std::string_view, bool) {  // on the connection's thread, which is busy with it
    std::thread{[&] { tunnel.write("first "); }}.join();
    tunnel.write("second ");
    std::thread{[&] { tunnel.write("third "); }}.join();
    tunnel.close();
  });

  peer.send("go");
  CHECK(peer.read_all() == "first second third ");
}

TEST_CASE("http_tunnel: each side can end its own direction first") {
  TunnelServer server;
  RawPeer peer{server.address()};
  peer.send(to_keep());
  server.wait([](Kept&) { return true; });
  peer.read_until("\r\n\r\n");

  server.kept->tunnel.write("bye");
  server.kept->tunnel.end_output();
  CHECK(peer.read_all() == "bye");  // the end is seen while we may still send
  CHECK_FALSE(server.kept->tunnel.write("more"));
  peer.send("answer");
  server.wait([](Kept& kept) { return kept.received == "answer" && !kept.ended; });
  peer.shut_down_sending();
  server.wait([](Kept& kept) { return kept.ended && kept.abandoned == 0; });

  server.kept->tunnel.close();
  CHECK(server.has_connections(0));
}

TEST_CASE("http_tunnel: the peer's end leaves our direction open") {
  TunnelServer server;
  RawPeer peer{server.address()};
  peer.send(to_keep() + "all");
  peer.shut_down_sending();
  server.wait([](Kept& kept) { return kept.ended; });

  CHECK(server.kept->received == "all");
  peer.read_until("\r\n\r\n");
  CHECK(server.kept->tunnel.write("still here"));
  server.kept->tunnel.close();
  CHECK(peer.read_all() == "still here");
}

TEST_CASE("http_tunnel: a peer that is cut off, and a server that ends, are told") {
  TunnelServer server;
  {
    RawPeer peer{server.address()};
    peer.send(to_keep());
    server.wait([](Kept&) { return true; });
    server.kept->tunnel.write("unread");  // so that closing resets the connection
    peer.read_until("\r\n\r\n");
    CHECK_FALSE(peer.is_silent(10s));
  }
  server.wait([](Kept& kept) { return kept.abandoned == 1 || kept.ended; });
  server.kept->tunnel.close();
  {
    const std::scoped_lock lock{server.guard};
    server.kept.reset();
  }

  RawPeer peer{server.address()};
  peer.send(to_keep());
  server.wait([](Kept&) { return true; });
  const auto begin = std::chrono::steady_clock::now();
  server.server->stop(60s);
  CHECK(std::chrono::steady_clock::now() - begin < 30s);  // not out of patience
  CHECK(server.kept->abandoned == 1);
  CHECK(server.kept->tunnel.abandoned());
  CHECK_FALSE(server.kept->tunnel.write("late"));
}

TEST_CASE("http_tunnel: a tunnel has no time limit, a closing one has") {
  TunnelServer server{{.header_timeout = 50ms,
                       .body_timeout = 50ms,
                       .idle_timeout = 50ms,
                       .write_timeout = 100ms,
                       .tick = 10ms}};
  RawPeer peer{server.address()};
  peer.send(to_keep());
  server.wait([](Kept&) { return true; });
  while (server.kept->tunnel.write(std::string(64 * 1024, 'x'))) {
  }

  for (int beyond_five_write_timeouts = 0; beyond_five_write_timeouts < 12;
       ++beyond_five_write_timeouts) {
    RawPeer idle{server.address()};
    CHECK(idle.read_all().empty());
  }
  CHECK_FALSE(server.kept->tunnel.abandoned());
  server.kept->tunnel.close();
  CHECK(server.has_connections(0));
}

TEST_CASE("http_tunnel: cutting drops what was not sent") {
  TunnelServer server;
  RawPeer peer{server.address()};
  peer.send(to_keep());
  server.wait([](Kept&) { return true; });
  peer.read_until("\r\n\r\n");

  server.kept->tunnel.abort();
  CHECK(peer.read_all().empty());
  CHECK(server.kept->tunnel.abandoned());
}
