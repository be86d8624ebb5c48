#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include "runtime/net/http/gzip.hpp"
#include "test/unit/runtime/net/http/test_server.hpp"

using namespace nomad;
using namespace nomad::net;
using namespace std::chrono_literals;

TEST_CASE("http_stream: pieces arrive as they are written, and the connection lives on") {
  TestServer server;
  RawPeer peer{server.address()};
  peer.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  server.wait_held(1);
  CHECK(peer.read_until("\r\n\r\n").find("Transfer-Encoding: chunked") != std::string::npos);

  CHECK(server.streams[0]->write("one"));
  CHECK(peer.read_until("3\r\none\r\n") == "3\r\none\r\n");
  CHECK(server.streams[0]->write("two"));
  server.streams[0]->close();
  CHECK(peer.read_until("0\r\n\r\n") == "3\r\ntwo\r\n0\r\n\r\n");
  CHECK_FALSE(server.streams[0]->write("three"));

  peer.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(peer.read_until("hello").starts_with("HTTP/1.1 200"));
}

TEST_CASE("http_stream: the client reads pieces, waits, and sees the end and a cut") {
  TestServer server;
  auto client = server.client();
  auto stream = client.open({.target = "/stream"});
  REQUIRE(stream.has_value());
  CHECK(stream->status() == 200);
  server.wait_held(1);

  server.streams[0]->write("one");
  CHECK(*stream->read(5s) == "one");
  CHECK(stream->read(20ms).error().code == nomad::Errc::timeout);
  server.streams[0]->write("two");
  server.streams[0]->close();
  CHECK(*stream->read_all() == "two");

  auto cut = client.open({.target = "/stream"});
  server.wait_held(2);
  server.streams[1]->write("half");
  server.streams[1]->abort();
  CHECK(cut->read_all().error().what.find("unexpected EOF") != std::string::npos);
}

TEST_CASE("http_stream: pieces are flushed under gzip too") {
  TestServer server;
  auto client = server.client();
  auto stream
      = client.open({.target = "/stream", .headers = {{"Accept-Encoding", "gzip"}}, .body = ""});
  server.wait_held(1);

  server.streams[0]->write("hello ");
  auto packed = *stream->read(5s);
  CHECK(packed.size() > 6);
  server.streams[0]->write("world");
  server.streams[0]->close();
  packed += *stream->read_all();

  CHECK(gunzip(packed, 1000) == "hello world");
}

TEST_CASE("http_stream: a producer learns when its bytes are taken and when to stop") {
  TestServer server{{.stream_queue_bytes = 1 << 20}};
  RawPeer peer{server.address()};
  peer.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  server.wait_held(1);
  auto& stream = *server.streams[0];
  std::atomic<int> drained{0};

  int accepted = 0;
  const std::string piece(64 * 1024, 'p');
  while (accepted < 10'000 && stream.write(piece, [&] {
    ++drained;
    test::note_change();
  }))
    ++accepted;

  CHECK(accepted < 10'000);  // the reader takes nothing, so the queue fills up
  CHECK(drained < accepted);
  CHECK(stream.queued() >= (1 << 20) - piece.size());
  std::thread reader{[&] { peer.read_until("0\r\n\r\n"); }};
  CHECK(eventually([&] { return drained == accepted; }));
  CHECK(stream.queued() == 0);
  CHECK(stream.write("end"));
  stream.close();
  reader.join();
}

TEST_CASE("http_stream: a reader that goes away ends the stream") {
  TestServer server;
  auto peer = std::make_unique<RawPeer>(server.address());
  peer->send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  server.wait_held(1);

  peer.reset();

  CHECK(eventually([&] { return server.streams[0]->abandoned(); }));
  CHECK(server.has_connections(0));
  CHECK_FALSE(server.streams[0]->write("x"));
  const std::lock_guard lock{server.guard};
  CHECK(server.abandoned == 1);
}

TEST_CASE("http_stream: pieces wait for a slow reader without a bound, and none is lost") {
  TestServer server{{.stream_queue_bytes = 1 << 16}};
  RawPeer peer{server.address()};
  peer.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  server.wait_held(1);
  std::string expected;
  for (int i = 0; i < 200; ++i) {
    std::string piece(0x10000, static_cast<char>('a' + i % 26));
    expected += "10000\r\n" + piece + "\r\n";
    REQUIRE(server.streams[0]->give(std::move(piece)));
  }
  server.streams[0]->close();
  expected += "0\r\n\r\n";

  const auto got = peer.read_until("\r\n0\r\n\r\n");

  CHECK((got.substr(got.find("\r\n\r\n") + 4) == expected));
  CHECK_FALSE(server.streams[0]->give("more"));
  peer.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(peer.read_until("hello").starts_with("HTTP/1.1 200"));
}

TEST_CASE("http_stream: whose answer may begin before it is whole") {
  TestServer server;
  auto takes_pieces = [&, held = std::size_t{0}](const std::string& request) mutable {
    RawPeer peer{server.address()};
    peer.send(request);
    server.wait_held(++held);
    return server.held.back()->takes_pieces();
  };

  CHECK(takes_pieces("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n"));
  CHECK_FALSE(takes_pieces("GET /hold HTTP/1.0\r\n\r\n"));
  CHECK_FALSE(takes_pieces("HEAD /hold HTTP/1.1\r\nHost: x\r\n\r\n"));
  CHECK_FALSE(takes_pieces("GET /hold HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n"));
}
