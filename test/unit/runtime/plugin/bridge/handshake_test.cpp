#include "runtime/plugin/bridge/handshake.hpp"

#include <doctest/doctest.h>

#include "runtime/plugin/bridge/log_lines.hpp"
#include "runtime/plugin/bridge/shown.hpp"

using namespace nomad;
using plugin::bridge::read_handshake;
using plugin::bridge::read_log_line;

namespace {

std::string problem_of(std::string_view line) {
  const auto read = read_handshake(line);
  return read ? "" : read.error().what;
}

}  // namespace

TEST_CASE("handshake: a Unix socket, and a port of this machine") {
  const auto socket = read_handshake("1|2|unix|/tmp/plugin4711|grpc|");
  REQUIRE(socket);
  CHECK(socket->target == "unix:/tmp/plugin4711");
  CHECK(socket->socket == "/tmp/plugin4711");
  const auto port = read_handshake("1|2|tcp|127.0.0.1:10000|grpc\r");
  REQUIRE(port);
  CHECK(port->target == "ipv4:127.0.0.1:10000");
  CHECK(port->socket.empty());
  CHECK(read_handshake("1|2|unix|/tmp/a|grpc||true"));
}

TEST_CASE("handshake: what can't be used is said") {
  CHECK(problem_of("") == "it is no plugin of Nomad's: its first line is no handshake, but \"\"");
  CHECK(problem_of("a|b|c").find("but \"a|b|c\"") != std::string::npos);
  CHECK(problem_of("2|2|unix|/tmp/a|grpc|")
        == "it speaks version \"2\" of go-plugin, this agent 1");
  CHECK(problem_of("1|1|unix|/tmp/a|grpc|").find("version \"1\" of the protocol")
        != std::string::npos);
  CHECK(problem_of("1|2|unix|/tmp/a|netrpc|") == "it speaks \"netrpc\", this agent gRPC");
  CHECK(problem_of("1|2|unix|/tmp/a") == "it speaks \"netrpc\", this agent gRPC");
  CHECK(problem_of("1|2|unix|/tmp/a|grpc|MIIB") == "it wants TLS, which nobody has asked for");
  CHECK(problem_of("1|2|unix|tmp/a|grpc|") == "\"tmp/a\" is no path of a socket");
  CHECK(problem_of("1|2|unix|/" + std::string(200, 'a') + "|grpc|").find("no path")
        != std::string::npos);
  CHECK(problem_of("1|2|tcp|10.0.0.1:1|grpc|").find("expected a Unix socket") != std::string::npos);
  CHECK(problem_of("1|2|tcp|127.0.0.1.evil:1|grpc|").find("expected a Unix socket")
        != std::string::npos);
  CHECK(problem_of("1|\x1b[2J|unix|/tmp/a|grpc|").find('\x1b') == std::string::npos);
}

TEST_CASE("log lines: an object of hclog's, and what is none") {
  const auto line = read_log_line(
      R"({"@level":"warn","@message":"slow","@module":"podman","@timestamp":"t","id":"a b","tries":3})");
  CHECK(line.level == plugin::Level::warn);
  CHECK(line.text == "slow: id=a b tries=3");
  CHECK(read_log_line("panic: nil map").text == "panic: nil map");
  CHECK(read_log_line("{\"a\":").text == "{\"a\":");
  CHECK(read_log_line("[1]").level == plugin::Level::info);
}

TEST_CASE("shown: a driver's reason is one line") {
  using plugin::bridge::shown_reason;
  CHECK(shown_reason("no bed\n\n") == "no bed");
  CHECK(shown_reason("no\nbed ") == "no bed");
  CHECK(shown_reason("\n").empty());
  CHECK(shown_reason(std::string(10'000, 'x')).size() == 4000);
}
