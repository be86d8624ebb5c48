#include "runtime/net/http/http_parser.hpp"

#include <limits>

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::net;

namespace {

/// Answers of which bytes come piece by piece, in front of them those that were not taken.
struct Fed {
  ResponseParser parser{false, std::numeric_limits<std::uint64_t>::max()};
  std::string rest{};

  bool feed(std::string_view bytes) {
    rest += bytes;
    const auto used = parser.feed(rest);
    if (used) rest.erase(0, *used);
    return used.has_value();
  }
};

/// Whether it is refused before it has sent so much.
bool is_bounded(Fed& fed, const std::string& piece, std::size_t most_bytes) {
  for (std::size_t sent = 0; sent < most_bytes; sent += piece.size())
    if (!fed.feed(piece)) return true;
  return false;
}

}  // namespace

TEST_CASE("http_parser: an answer's header is bounded however it is cut") {
  const auto line = "X-More: " + std::string(1014, 'y') + "\r\n";
  REQUIRE(line.size() == 1024);
  Fed cut;
  REQUIRE(cut.feed("HTTP/1.1 200 OK\r\n" + line + line[0]));
  CHECK(is_bounded(cut, line.substr(1) + line[0], 300 * 1024));
  Fed many;
  REQUIRE(many.feed("HTTP/1.1 200 OK\r\nX"));
  CHECK(is_bounded(many, ":\r\nX", 10'000));
}

TEST_CASE("http_parser: the head of a chunk and the trailers are bounded") {
  for (const std::string begin : {"5;", "0\r\nX: "}) {
    CAPTURE(begin);
    Fed fed;
    REQUIRE(fed.feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + begin));
    CHECK(is_bounded(fed, std::string(1000, 'x'), 100 * 1024));
  }
  const auto refusal = [](std::string_view bytes) {
    return ResponseParser{false, std::numeric_limits<std::uint64_t>::max()}
        .feed(bytes)
        .error()
        .what;
  };
  CHECK(
      refusal("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;" + std::string(100'000, 'x'))
      == "malformed HTTP response: the framing of its body is too long");
  CHECK(refusal("220 mail.example.com ESMTP\r\n") == "malformed HTTP response: bad version");
  Fed good;
  REQUIRE(good.feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n30d40\r\n"));
  CHECK(good.feed(std::string(200'000, 'x')));
  CHECK(good.parser.body().size() == 200'000);
}
