#include "runtime/net/http/client/head_lines.hpp"

#include <doctest/doctest.h>

using namespace nomad::net;

namespace {

/// The head as it is parsed, '|', and what is behind it.
std::string parsed(const std::string& bytes, std::size_t piece = 1000) {
  HeadLines lines;
  std::string head;
  std::string body;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const auto taken = bytes.substr(at, piece);
    std::string_view left{taken};
    head += lines.take(left);
    body += left;
  }
  return head + (lines.is_whole() ? "|" : "") + body;
}

}  // namespace

TEST_CASE("head_lines: every line ends with CRLF, and what is behind the head stays as it is") {
  const std::string good = "HTTP/1.1 200 OK\r\nX: 1 2\r\n\r\n";
  for (const std::size_t piece : {1, 2, 3, 1000}) {
    CHECK(parsed(good + "\nbody\n", piece) == good + "|\nbody\n");
    CHECK(parsed("HTTP/1.1 200 OK\nX: 1 2\n\n\nbody\r\n", piece) == good + "|\nbody\r\n");
    CHECK(parsed("HTTP/1.1 200\n\nok", piece) == "HTTP/1.1 200 \r\n\r\n|ok");
    CHECK(parsed("HTTP/1.1 200 \r\nX:\r\n", piece) == "HTTP/1.1 200 \r\nX:\r\n");
    CHECK(parsed("a\r\r\n\rb\n", piece) == "a\r\r\n\rb\r\n");  // the parser refuses it
  }
}
