#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <chrono>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <doctest/doctest.h>
#include <nomadctl/plugin/test_kit.hpp>

using namespace nomad::plugin;
using namespace std::chrono_literals;

void describe(Plugin& plugin);

namespace {

/// Takes one request, and answers it.
struct Receiver {
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  std::string port, request;
  std::thread thread;

  Receiver() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    bind(listener, reinterpret_cast<sockaddr*>(&address), size);
    listen(listener, 1);
    getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
    port = std::to_string(ntohs(address.sin_port));
    thread = std::thread{[this] {
      const int peer = accept(listener, nullptr, nullptr);
      char part[4096];
      while (!request.ends_with("}")) {
        const auto got = read(peer, part, sizeof part);
        if (got <= 0) break;
        request.append(part, static_cast<std::size_t>(got));
      }
      if (write(peer, "HTTP/1.1 204 No Content\r\n\r\n", 27) != 27) request.clear();
      close(peer);
    }};
  }

  ~Receiver() { close(listener); }
};

}  // namespace

TEST_CASE("an event of the agent comes at the URL") {
  Receiver receiver;
  TestAgent agent{describe};
  REQUIRE(agent.configure(R"({"url":"http://127.0.0.1:)" + receiver.port
                          + R"(/in","topics":["Job"]})"));
  REQUIRE(agent.start_actors());
  REQUIRE(agent.open_requests().size() == 1);
  const auto stream = agent.open_requests()[0];
  CHECK(stream.path == "/v1/event/stream?topic=Job&index=0");

  REQUIRE(agent.send_line(stream.number, R"({"Index":7,"Events":[]})"));
  receiver.thread.join();

  CHECK(receiver.request.starts_with("POST /in HTTP/1.1\r\n"));
  CHECK(receiver.request.ends_with(R"({"Index":7,"Events":[]})"));
  CHECK(agent.counted("delivered") == 1);
}

TEST_CASE("a stream that ends is asked for again, from where it was") {
  TestAgent agent{describe};
  REQUIRE(agent.configure(R"({"url":"http://127.0.0.1:1/"})"));
  REQUIRE(agent.start_actors());
  const auto first = agent.open_requests().at(0);
  REQUIRE(agent.send_line(first.number, R"({"Index":9,"Events":[]})"));
  REQUIRE(agent.end_stream(first.number));

  REQUIRE(agent.advance(6s));

  REQUIRE(agent.open_requests().size() == 1);
  CHECK(agent.open_requests()[0].path == "/v1/event/stream?topic=*&index=9");
  CHECK(agent.counted("failed") >= 1);
}

TEST_CASE("a URL that is none is refused") {
  TestAgent agent{describe};
  CHECK_FALSE(agent.configure(R"({"url":"ftp://x"})"));
}
