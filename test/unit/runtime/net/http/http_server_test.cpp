#include "runtime/net/http/http_server.hpp"

#include <future>
#include <stdexcept>
#include <thread>

#include <sys/socket.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "runtime/net/http/gzip.hpp"
#include "runtime/net/http/http_connection.hpp"
#include "test/unit/runtime/net/http/test_server.hpp"

using namespace nomad::net;
using namespace std::chrono_literals;

namespace {

const std::string get_hello = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";

}  // namespace

TEST_CASE("http_server: answers requests one after the other on one connection") {
  TestServer server;
  auto client = server.client();

  for (int i = 0; i < 3; ++i) {
    const auto response = client.send({.target = "/hello"});
    REQUIRE(response.has_value());
    CHECK(response->status == 200);
    CHECK(response->body == "hello");
    CHECK(response->header("content-type") == "text/plain");
    CHECK(response->header("Vary") == "Accept-Encoding");
    CHECK(server.has_connections(1));
  }
}

TEST_CASE("http_server: what a path is redirected to stays encoded") {
  TestServer server;
  const auto location = [&](const std::string& target) {
    RawPeer peer{server.address()};
    peer.send("POST " + target + " HTTP/1.0\r\n\r\n");
    const auto answer = peer.read_all();
    const auto begin = answer.find("Location: ");
    REQUIRE(begin != std::string::npos);
    return answer.substr(begin + 10, answer.find('\r', begin) - begin - 10);
  };
  CHECK(location("/v1//job/%2Fa") == "/v1/job/%2Fa");
  CHECK(location("/v1/../job/a%2F..%2Fb/?x=%2F") == "/job/a%2F..%2Fb/?x=%2F");
  CHECK(location("http://x//job/%2Fa") == "/job/%2Fa");
  CHECK(location("/prefix") == "/prefix/");
}

TEST_CASE("http_server: pipelined requests are answered in order, held ones too") {
  TestServer server;
  RawPeer peer{server.address()};

  peer.send(get_hello + "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n"
            + "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc" + get_hello);
  server.wait_held(1);
  CHECK(peer.read_until("hello").ends_with("hello"));
  server.held[0]->send({.body = "held"});

  CHECK(peer.read_until("held").ends_with("held"));
  CHECK(peer.read_until("abc").ends_with("abc"));
  CHECK(peer.read_until("hello").ends_with("hello"));
}

TEST_CASE("http_server: a long pipeline of large answers comes out whole") {
  TestServer server;
  RawPeer peer{server.address()};
  std::string requests;
  for (int i = 0; i < 20; ++i)
    requests += "GET /big HTTP/1.1\r\nHost: x\r\n\r\n" + get_hello;

  std::thread sender{[&] { peer.send(requests + "GET /drop HTTP/1.0\r\n\r\n"); }};
  const auto all = peer.read_all();
  sender.join();

  CHECK(static_cast<int>(std::count(all.begin(), all.end(), 'x')) >= 20 * (1 << 20));
  CHECK(all.ends_with("the request was not answered"));
}

TEST_CASE("http_server: requests byte by byte, with chunks, are understood") {
  TestServer server;
  RawPeer peer{server.address()};
  const std::string request
      = "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        "5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n";

  for (const char c : request)
    peer.send({&c, 1});

  CHECK(peer.read_until("hello world").find("200 OK") != std::string::npos);
}

TEST_CASE("http_server: malformed requests are refused and the connection closed") {
  TestServer server{{.header_bytes = 2048, .header_count = 10, .body_bytes = 1000}};
  std::string many;
  for (int i = 0; i < 20; ++i)
    many += "X-" + std::to_string(i) + ": y\r\n";
  const std::pair<std::string, const char*> cases[] = {
      {"nonsense\r\n\r\n", "400 Bad Request"},
      {"GET /hello HTTP/1.1\r\n\r\n", "400 Bad Request: missing required Host header"},
      {"GET /hello HTTP/3.0\r\nHost: x\r\n\r\n", "400 Bad Request: bad version"},
      {"GET /hello HTTP/1.1\nHost: x\n\n", "400 Bad Request: bad version"},
      {"GET /hello HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
       "400 Bad Request: too many Host headers"},
      {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",
       "400 Bad Request: unsupported Transfer-Encoding"},
      {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
       "400 Bad Request: unsupported Transfer-Encoding"},
      {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
       "chunked\r\n\r\n",
       "400 Bad Request: bad Transfer-Encoding"},
      {"GET /he%zzo HTTP/1.1\r\nHost: x\r\n\r\n", "400 Bad Request: malformed request target"},
      {"GET /hello HTTP/1.1\r\nHost: x\r\nX: " + std::string(4000, 'y') + "\r\n\r\n", "431 "},
      {"GET /" + std::string(4000, 'y') + " HTTP/1.1\r\nHost: x\r\n\r\n", "431 "},
      {"GET /hello HTTP/1.1\r\nHost: x\r\n" + many + "\r\n", "431 "},
      {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n", "413 "},
      {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", "400 "},
      {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: "
       "chunked\r\n\r\n",
       "400 "},
      {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n"
           + std::string(1001, 'z'),
       "413 "},
  };
  for (const auto& [bytes, expected] : cases) {
    const auto shown = bytes.substr(0, 80);
    CAPTURE(shown);
    RawPeer peer{server.address()};
    peer.send(bytes);
    const auto answer = peer.read_all();
    CHECK(answer.starts_with("HTTP/1.1 " + std::string{expected}.substr(0, 4)));
    CHECK(answer.find(expected) != std::string::npos);
    CHECK(answer.find("Connection: close") != std::string::npos);
    CHECK(answer.find("HTTP/1.1 ", 1) == std::string::npos);  // nothing of it was another request
  }
  CHECK(server.client().send({.target = "/hello"})->body == "hello");
}

TEST_CASE("http_server: headers that trickle in cannot exceed the limit either") {
  TestServer server{{.header_bytes = 2048, .header_count = 1000}};
  RawPeer peer{server.address()};

  peer.send("GET /hello HTTP/1.1\r\nHost: x\r\n");
  for (int i = 0; i < 100; ++i) {
    peer.send("X-" + std::to_string(i) + ": " + std::string(50, 'y') + "\r\n");
    peer.is_silent(1ms);
  }

  CHECK(peer.read_all().starts_with("HTTP/1.1 431 "));
}

TEST_CASE("http_server: paths are routed, redirected and not found as Nomad does") {
  TestServer server;
  auto client = server.client();

  CHECK(client.send({.target = "/prefix/a%2Fb"})->body == "/prefix/a/b");
  const auto moved = client.send({.target = "/prefix?a=1"});
  CHECK(moved->status == 301);
  CHECK(moved->header("Location") == "/prefix/?a=1");
  CHECK(client.send({.target = "//prefix/../hello"})->header("Location") == "/hello");
  const auto odd = client.send({.target = "/prefix?a=%1b\"<\xff>&b[]=c"});
  CHECK(odd->header("Location") == "/prefix/?a=%1b%22%3C%FF%3E&b%5B%5D=c");
  const auto missing = client.send({.target = "/nothing"});
  CHECK(missing->status == 404);
  CHECK(missing->body == "");
  CHECK(missing->header("Content-Type") == "");
}

TEST_CASE("http_server: a handler's bug is a 500, and the server lives on") {
  TestServer server;
  auto client = server.client();

  CHECK(client.send({.target = "/throw"})->status == 500);
  CHECK(client.send({.target = "/drop"})->status == 500);
  CHECK(client.send({.target = "/hello"})->status == 200);
}

TEST_CASE("http_server: HEAD has no body, HTTP/1.0 closes, and 100-continue is said") {
  TestServer server;
  RawPeer peer{server.address()};
  peer.send("HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n" + get_hello);
  const auto head = peer.read_until("\r\n\r\n");
  CHECK(head.find("Content-Length: 5") != std::string::npos);
  CHECK(peer.read_until("hello").starts_with("HTTP/1.1 200"));

  peer.send("POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  CHECK(peer.read_until("\r\n\r\n").starts_with("HTTP/1.1 100 Continue"));
  peer.send("ok");
  CHECK(peer.read_until("\r\n\r\nok").starts_with("HTTP/1.1 200"));

  RawPeer old{server.address()};
  old.send("GET /hello HTTP/1.0\r\n\r\n");
  CHECK(old.read_all().ends_with("hello"));
}

TEST_CASE("http_server: bodies are compressed for those who ask") {
  TestServer server;
  auto client = server.client();

  const auto plain = client.send({.target = "/big"});
  CHECK(plain->header("Content-Encoding") == "");
  const auto packed
      = client.send({.target = "/big", .headers = {{"Accept-Encoding", "gzip"}}, .body = ""});
  CHECK(packed->header("Content-Encoding") == "gzip");
  CHECK(packed->body.size() < 20'000);
  CHECK(gunzip(packed->body, 1 << 21) == plain->body);
}

TEST_CASE("http_server: an answer may come from any thread") {
  TestServer server{{.threads = 2}};
  std::vector<std::unique_ptr<RawPeer>> peers;
  for (int i = 0; i < 50; ++i) {
    peers.push_back(std::make_unique<RawPeer>(server.address()));
    peers.back()->send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  server.wait_held(50);

  std::thread other{[&] {
    for (auto& responder : server.held) {
      responder->send({.body = "late"});
      responder->send({.body = "twice"});
      responder.reset();
    }
  }};
  for (auto& peer : peers)
    CHECK(peer->read_until("late").ends_with("late"));
  other.join();

  for (auto& peer : peers) {
    peer->send(get_hello);
    CHECK(peer->read_until("hello").starts_with("HTTP/1.1 200"));
  }
}

TEST_CASE("http_server: work of another thread that throws is a 500, and others' goes on") {
  TestServer server;
  std::vector<std::unique_ptr<RawPeer>> peers;
  for (std::size_t i = 0; i < 3; ++i) {
    peers.push_back(std::make_unique<RawPeer>(server.address()));
    peers.back()->send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    server.wait_held(i + 1);
  }
  auto held = std::exchange(server.held, {});
  std::promise<void> all_posted;
  const auto post = [&held](std::size_t number, auto action) {
    const auto turns = held[number]->turns();
    turns.post([kept = std::exchange(held[number], {}), action] { action(*kept); });
  };
  post(0, [&](Responder&) { all_posted.get_future().wait(); });  // what follows is one batch
  post(1, [](Responder&) { throw std::runtime_error{"a bug"}; });
  post(2, [](Responder& responder) { responder.send({.body = "late"}); });
  all_posted.set_value();

  CHECK(peers[1]->read_until("not answered").starts_with("HTTP/1.1 500"));
  CHECK(peers[2]->read_until("late").starts_with("HTTP/1.1 200"));
  peers[1]->send(get_hello);
  CHECK(peers[1]->read_until("hello").starts_with("HTTP/1.1 200"));
}

TEST_CASE("http_server: an answer that an exception breaks off is cut") {
  std::atomic<bool> throws{true};
  TestServer server{{.observer = [&](const Request&, unsigned) {
    if (throws.exchange(false)) throw std::runtime_error{"a bug"};
  }}};
  RawPeer peer{server.address()};
  peer.send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
  server.wait_held(1);
  server.held[0]->send({.body = "late"});
  CHECK(peer.read_all() == "");

  throws = true;
  RawPeer other{server.address()};
  other.send(get_hello);
  CHECK(other.read_all() == "");
  CHECK(server.client().send({.target = "/hello"})->status == 200);
}

TEST_CASE("http_server: a held request learns that its client went away") {
  TestServer server;
  {
    RawPeer peer{server.address()};
    peer.send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    server.wait_held(1);
  }

  CHECK(eventually([&] {
    const std::lock_guard lock{server.guard};
    return server.abandoned == 1;
  }));
  CHECK(server.held[0]->abandoned());
  server.held.clear();  // as a handler does then
  CHECK(server.has_connections(0));
}

TEST_CASE("http_server: a client that only closed its sending side still gets its answer") {
  TestServer server;
  RawPeer peer{server.address()};
  peer.send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
  server.wait_held(1);
  peer.shut_down_sending();
  REQUIRE(eventually([&] { return server.held[0]->abandoned(); }));

  server.held[0]->send({.body = "anyway"});

  CHECK(peer.read_all().ends_with("anyway"));
}

TEST_CASE("http_server: half, slow and silent requests are ended in time") {
  TestServer server{
      {.header_timeout = 100ms, .body_timeout = 100ms, .idle_timeout = 200ms, .tick = 10ms}};
  RawPeer silent{server.address()};
  RawPeer half{server.address()};
  half.send("GET /hello HTTP/1.1\r\nHo");
  RawPeer body{server.address()};
  body.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  RawPeer idle{server.address()};
  idle.send(get_hello);
  RawPeer slow{server.address()};
  std::thread trickle{[&] {
    slow.send("GET /hello HTTP/1.1\r\n");
    for (int i = 0; i < 30; ++i) {
      slow.send("X: y\r\n");
      slow.is_silent(10ms);
    }
  }};

  CHECK(silent.read_all() == "");
  CHECK(half.read_all() == "");
  CHECK(body.read_all() == "");
  CHECK(slow.read_all() == "");
  CHECK(idle.read_all().ends_with("hello"));
  trickle.join();
  CHECK(server.has_connections(0));
}

TEST_CASE("http_server: a client that does not take its answer is closed") {
  TestServer server{{.write_timeout = 100ms, .tick = 10ms}};
  RawPeer peer{server.address()};
  std::string requests;
  for (int i = 0; i < 50; ++i)
    requests += "GET /big HTTP/1.1\r\nHost: x\r\n\r\n";

  peer.send(requests);
  REQUIRE(peer.read_until("\r\n\r\n").starts_with("HTTP/1.1 200"));

  CHECK(server.has_connections(0));
}

TEST_CASE("http_server: connections per address and in total are bounded") {
  TestServer server{{.connections_per_address = 2}};
  RawPeer one{server.address()};
  auto two = std::make_unique<RawPeer>(server.address());
  REQUIRE(server.has_connections(2));
  RawPeer three{server.address()};
  const auto refusal = three.read_all();
  CHECK(refusal.starts_with("HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\n"));
  CHECK(
      refusal.ends_with("Your IP is issuing too many concurrent connections, please rate limit "
                        "your calls\n"));
  two.reset();
  REQUIRE(server.has_connections(1));
  RawPeer four{server.address()};
  four.send(get_hello);
  CHECK(four.read_until("hello").starts_with("HTTP/1.1 200"));

  TestServer small{{.connections = 1}};
  RawPeer first{small.address()};
  REQUIRE(small.has_connections(1));
  CHECK(RawPeer{small.address()}.read_all().starts_with("HTTP/1.1 503"));
}

TEST_CASE("http_server: what requests of one address hold together is bounded") {
  TestServer server{{.held_bytes_per_address = 100'000}};
  const auto post = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 90000\r\n\r\n"
                    + std::string(80'000, 'x');
  const std::string rest(10'000, 'x');
  RawPeer peers[]{RawPeer{server.address()}, RawPeer{server.address()}};
  for (auto& peer : peers)
    peer.send(post);
  int refused = 0;
  for (auto& peer : peers) {
    peer.send(rest);
    const auto answer = peer.read_until("\r\n\r\n");
    if (answer.starts_with("HTTP/1.1 200")) {  // with the next one it holds nothing
      peer.read_until(rest);
      peer.send(get_hello);
      peer.read_until("hello");
      continue;
    }
    ++refused;
    CHECK((answer + peer.read_all())
              .ends_with("429 Too Many Requests: requests of this client hold too many bytes; try "
                         "again"));
  }
  CHECK(refused == 1);
  RawPeer third{server.address()};
  third.send(post + rest);
  CHECK(third.read_until("\r\n\r\n").starts_with("HTTP/1.1 200"));
}

TEST_CASE("http_server: who is turned away is read from a little, however much he sends") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
  const std::string piece(4096, 'x');
  std::size_t sent = 0;
  for (;;) {
    const auto went = ::send(ends[0], piece.data(), piece.size(), MSG_NOSIGNAL);
    if (went <= 0) break;
    sent += static_cast<std::size_t>(went);
  }
  REQUIRE(sent > 16 * piece.size());

  turn_away(ends[1], "no");

  char said[8] = {};
  CHECK(::recv(ends[0], said, sizeof said, 0) == 2);
  std::size_t left = 0;
  std::string buffer(sent, ' ');
  for (;;) {
    const auto got = ::recv(ends[1], buffer.data(), buffer.size(), 0);
    if (got <= 0) break;
    left += static_cast<std::size_t>(got);
  }
  CHECK(left == sent - 16 * piece.size());
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("http_server: a port in use is an error that names it") {
  const TestServer server;

  const auto second = HttpServer::start({.listen = {server.address()}}, HttpRouter{});

  REQUIRE(second.has_error());
  CHECK(second.error().what == "listen tcp " + server.address() + ": bind: address already in use");
}

TEST_CASE("http_server: stopping lets answers in flight finish and cuts the rest") {
  TestServer server;
  RawPeer idle{server.address()};
  idle.send(get_hello);
  CHECK(idle.read_until("hello").ends_with("hello"));
  RawPeer held{server.address()};
  held.send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
  RawPeer lost{server.address()};
  lost.send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
  server.wait_held(2);

  std::thread stopper{[&] { server.server->stop(500ms); }};
  CHECK(idle.read_all() == "");
  server.held[0]->send({.body = "in time"});
  const auto answers = held.read_all() + lost.read_all();
  stopper.join();

  CHECK(answers.find("Connection: close") != std::string::npos);
  CHECK(answers.ends_with("in time"));
  CHECK(server.abandoned == 1);
  server.held[0]->send({.body = "too late"});  // goes nowhere, and must not crash
}

TEST_CASE("http_server: sockets come and go while it serves, each with a bound of its own") {
  TestServer server{{.connections_per_address = 1, .needs_token = true}};
  char folder[] = "/tmp/http-server-XXXXXX";
  const std::string directory{::mkdtemp(folder)};
  const auto path = directory + "/a";
  const auto ask = [&path](const std::string& target) {
    return HttpClient::make({.address = "unix://" + path})->send({.target = target});
  };
  server.server->add(std::move(*listen_unix(path)), "alloc/task");
  auto first = std::async(std::launch::async, [&ask] { return ask("/hold"); });
  server.wait_held(1);
  CHECK(server.held.front()->request().remote == "@alloc/task");
  CHECK(server.held.front()->request().needs_token);
  const auto refused = ask("/hello");  // it may be closed before the request is sent
  CHECK((refused.has_error() || refused->status == 429));

  server.server->remove("alloc/task");
  CHECK_FALSE(first.get().has_value());
  CHECK_FALSE(ask("/hello").has_value());

  server.server->add(std::move(*listen_unix(path)), "alloc/task");
  CHECK(ask("/hello")->status == 200);
  ::unlink(path.c_str());
  ::rmdir(directory.c_str());
}
