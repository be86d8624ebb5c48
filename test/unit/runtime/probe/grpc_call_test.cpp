#include "runtime/probe/grpc_call.hpp"

#include <doctest/doctest.h>

#include "runtime/base/random.hpp"

using namespace nomad;
using namespace nomad::probe;
using namespace std::string_literals;

namespace {

std::string frame(char type, char flags, char stream, const std::string& payload) {
  std::string out;
  for (int shift = 16; shift >= 0; shift -= 8)
    out += static_cast<char>(payload.size() >> shift);
  return out + type + flags + std::string(3, '\0') + stream + payload;
}

constexpr char data = 0;
constexpr char headers = 1;
constexpr char reset = 3;
constexpr char settings = 4;
constexpr char ping = 6;
constexpr char go_away = 7;
constexpr char window = 8;
constexpr char continuation = 9;

const std::string greeting = frame(settings, 0, 0, "\0\3\0\0\0\x64"s);
const std::string head = frame(headers, 4, 1, encode_field(":status", "200"));
const std::string body = frame(data, 0, 1, "body");
const std::string trailers
    = encode_field("grpc-status", "5") + encode_field("grpc-message", "no%20such");
const std::string end = frame(headers, 5, 1, trailers);

GrpcCall call() {
  return GrpcCall{{.authority = "web:80", .path = "/a.B/C", .body = "question"}};
}

/// What comes of the bytes; none: more are waited for.
Result<std::optional<GrpcAnswer>> outcome(const std::string& bytes) {
  auto one = call();
  return one.feed(bytes);
}

void check_answer(const Result<std::optional<GrpcAnswer>>& told) {
  REQUIRE_MESSAGE(told.has_value(), told.error().what);
  REQUIRE(told->has_value());
  CHECK((*told)->http_status == 200);
  CHECK((*told)->status == 5);
  CHECK((*told)->message == "no%20such");
  CHECK((*told)->body == "body");
}

}  // namespace

TEST_CASE("grpc_call: the question is asked at once, and acknowledges what it must") {
  auto one = call();
  const auto asked = one.take_output();
  CHECK(asked.starts_with("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
  const auto fields = encode_field(":method", "POST") + encode_field(":scheme", "http")
                      + encode_field(":path", "/a.B/C") + encode_field(":authority", "web:80")
                      + encode_field("content-type", "application/grpc")
                      + encode_field("te", "trailers") + encode_field("user-agent", "nomadctl");
  CHECK(asked.ends_with(frame(headers, 4, 1, fields) + frame(data, 1, 1, "question")));
  CHECK(one.take_output().empty());
  CHECK(one.feed(greeting + frame(ping, 0, 0, "12345678") + frame(ping, 1, 0, "12345678")
                 + frame(settings, 1, 0, "") + frame(window, 0, 0, "\0\0\1\0"s))
            .value()
        == std::nullopt);
  CHECK(one.take_output() == frame(settings, 1, 0, "") + frame(ping, 1, 0, "12345678"));
}

TEST_CASE("grpc_call: an answer in frames of every kind, and bytes of every number") {
  check_answer(outcome(greeting + head + body + end));
  check_answer(outcome(greeting
                       + frame(headers, 4 | 8, 1, "\2" + encode_field(":status", "200") + "xx")
                       + frame(data, 8, 1, "\1bodyx") + frame(go_away, 0, 0, "\0\0\0\1\0\0\0\0"s)
                       + frame(headers, 1 | 0x20, 1, "12345" + trailers.substr(0, 3))
                       + frame(continuation, 0, 1, trailers.substr(3, 5))
                       + frame(continuation, 4, 1, trailers.substr(8)) + "behind it"));
  const auto whole = greeting + head + body + end;
  for (const std::size_t size : {1, 2, 5, 9, 10}) {
    auto one = call();
    for (std::size_t at = 0; at + size < whole.size(); at += size)
      REQUIRE(one.feed(whole.substr(at, size)).value() == std::nullopt);
    check_answer(one.feed(whole.substr((whole.size() - 1) / size * size)));
  }
}

TEST_CASE("grpc_call: an answer of headers alone, and one that is not gRPC's") {
  const auto refused = outcome(
      greeting
      + frame(headers, 5, 1, encode_field(":status", "200") + encode_field("grpc-status", "12")));
  CHECK((*refused)->status == 12);
  const auto other = outcome(greeting + frame(headers, 4, 1, encode_field(":status", "404"))
                             + frame(data, 1, 1, "<html>"));
  CHECK((*other)->http_status == 404);
  CHECK_FALSE((*other)->status.has_value());
  CHECK(outcome("HTTP/1.1 400 Bad Request\r\n\r\n").error().what
        == "the answer is not gRPC's (HTTP/1)");
}

TEST_CASE("grpc_call: a peer that refuses, floods or talks nonsense ends the call") {
  struct Case {
    std::string bytes;
    const char* why;
  };

  for (const auto& each : std::initializer_list<Case>{
           {"SSH-2.0-OpenSSH_9.2\r\n", "it does not begin with settings"},
           {head, "it does not begin with settings"},
           {frame(settings, 1, 0, ""), "it does not begin with settings"},
           {frame(settings, 0, 0, "12345"), "settings of another size"},
           {greeting + frame(go_away, 0, 0, "1"), "a farewell that is too short"},
           {greeting + frame(ping, 0, 0, "1"), "a ping of another size"},
           {greeting + frame(reset, 0, 3, "\0\0\0\2"s), "a reset of nothing"},
           {greeting + frame(data, 0, 3, "x"), "data of another call"},
           {greeting + frame(headers, 4, 3, ""), "headers of another call"},
           {greeting + frame(continuation, 4, 1, ""), "there are no headers to go on with"},
           {greeting + frame(headers, 0, 1, "") + frame(data, 0, 1, "x"), "headers break off"},
           {greeting + frame(data, 8, 1, "\5xx"), "more padding than there is"},
           {greeting + frame(headers, 0x24, 1, "12"), "a priority breaks off"},
           {greeting + frame(5, 4, 1, ""), "it pushes"},
           {greeting + frame(data, 0, 1, std::string(20'000, 'x')), "a frame is too large"}}) {
    CHECK(outcome(each.bytes).error()
          == Error{Errc::corrupt, std::string{"the peer's HTTP/2 is malformed: "} + each.why});
  }
  CHECK(outcome(greeting + frame(reset, 0, 1, "\0\0\0\2"s)).error()
        == Error{Errc::unavailable, "the peer broke the call off (code 2)"});
  CHECK(outcome(greeting + frame(go_away, 0, 0, "\0\0\0\0\0\0\0\2"s)).error()
        == Error{Errc::unavailable, "the peer serves no calls any more (code 2)"});
  CHECK(outcome(greeting + frame(headers, 4, 1, "\xff")).error()
        == Error{Errc::corrupt, "malformed headers of HTTP/2: they break off"});
  CHECK(
      outcome(greeting + frame(data, 0, 1, std::string(GrpcCall::most_body_bytes + 1, 'x'))).error()
      == Error{Errc::too_large, "the answer is too long"});
  auto endless = call();
  auto told = endless.feed(greeting + frame(headers, 0, 1, ""));
  for (int i = 0; i < 10 && told; ++i)
    told = endless.feed(frame(continuation, 0, 1, std::string(10'000, '\0')));
  CHECK(told.error()
        == Error{Errc::corrupt, "the peer's HTTP/2 is malformed: headers are too long"});
  auto pings = greeting;
  for (int i = 0; i < 10'000; ++i)
    pings += frame(ping, 0, 0, "12345678");
  CHECK(outcome(pings).error() == Error{Errc::too_large, "the peer wants too much acknowledged"});
}

TEST_CASE("grpc_call: noise does no harm") {
  Random random{11};
  const auto good = greeting + head + body + end;
  for (int i = 0; i < 20'000; ++i) {
    auto bytes = good;
    for (auto changes = random.next() % 4; changes > 0; --changes)
      bytes[random.next() % bytes.size()] = static_cast<char>(random.next());
    auto one = call();
    (void)one.feed(bytes);
  }
}
