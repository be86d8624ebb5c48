// Websocket frames, read in pieces of any size, with everything that RFC 6455 forbids.
#include "runtime/net/http/websocket.hpp"

#include <vector>

#include <doctest/doctest.h>

using namespace nomad::net::websocket;

namespace {

constexpr std::size_t limit = 100'000;

/// A message as `side` sends it.
std::string frame(Kind kind, std::string_view payload, Side side = Side::client) {
  Codec codec{side, limit};
  codec.send(kind, payload);
  return codec.take_output();
}

/// A frame of a client with any first byte.
std::string masked(unsigned char first, std::string_view payload) {
  auto made = frame(Kind::text, payload);
  made[0] = static_cast<char>(first);
  return made;
}

struct Read {
  std::vector<Message> messages;
  std::optional<CloseCode> fault;
  std::string answers;
};

Read read(std::string_view bytes, std::size_t piece = std::string::npos, Side side = Side::server) {
  Codec codec{side, limit};
  Read out;
  while (!bytes.empty() && !codec.fault()) {
    auto part = bytes.substr(0, piece);
    bytes.remove_prefix(part.size());
    while (auto message = codec.next(part))
      out.messages.push_back(std::move(*message));
    CHECK(part.empty());
  }
  out.fault = codec.fault();
  out.answers = codec.take_output();
  return out;
}

std::uint16_t fault_of(std::string_view bytes, Side side = Side::server) {
  const auto out = read(bytes, std::string::npos, side);
  if (!out.fault) return 0;
  const auto told
      = read(out.answers, std::string::npos, side == Side::server ? Side::client : Side::server);
  REQUIRE_FALSE(told.messages.empty());
  CHECK(told.messages.back().close_code == static_cast<std::uint16_t>(*out.fault));
  return static_cast<std::uint16_t>(*out.fault);
}

}  // namespace

TEST_CASE("websocket: the example of the RFC, written and read") {
  CHECK(frame(Kind::text, "Hello", Side::server) == "\x81\x05Hello");
  const auto out = read("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
  REQUIRE(out.messages.size() == 1);
  CHECK(out.messages[0].payload == "Hello");

  CHECK(accept_for("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  CHECK(is_key("dGhlIHNhbXBsZSBub25jZQ=="));
  for (const char* key : {"", "short==", "dGhlIHNhbXBsZSBub25jZQ=a", "dGhlIHNhbXBsZSBub25j Q=="})
    CHECK_FALSE(is_key(key));
}

TEST_CASE("websocket: every length has its form, and comes back from pieces of any size") {
  for (const std::size_t size : {0, 1, 125, 126, 127, 65535, 65536, 100'000}) {
    const std::string payload(size, 'x');
    const auto frames = frame(Kind::binary, payload) + frame(Kind::text, "behind");
    for (const std::size_t piece :
         {std::size_t{1}, std::size_t{7}, std::size_t{4096}, frames.size()}) {
      const auto out = read(frames, piece);
      CHECK_FALSE(out.fault);
      REQUIRE(out.messages.size() == 2);
      CHECK(out.messages[0].kind == Kind::binary);
      CHECK(out.messages[0].payload == payload);
      CHECK(out.messages[1].payload == "behind");
    }
    CHECK(read(frame(Kind::binary, payload, Side::server), 3, Side::client).messages.at(0).payload
          == payload);
  }
}

TEST_CASE("websocket: a message in pieces, with a ping between them") {
  const auto frames
      = masked(0x01, "one ") + masked(0x00, "two ") + masked(0x89, "ping") + masked(0x80, "three");
  for (const std::size_t piece : {std::size_t{1}, std::size_t{5}, frames.size()}) {
    const auto out = read(frames, piece);
    REQUIRE(out.messages.size() == 2);
    CHECK(out.messages[0].kind == Kind::ping);
    CHECK(out.messages[0].payload == "ping");
    CHECK(out.messages[1].kind == Kind::text);
    CHECK(out.messages[1].payload == "one two three");
    CHECK(out.answers == std::string{"\x8a\x04ping", 6});
  }
}

TEST_CASE("websocket: what the protocol forbids ends it with the right code") {
  CHECK(fault_of(frame(Kind::text, "x", Side::server)) == 1002);
  CHECK(fault_of(masked(0x81, "x"), Side::client) == 1002);
  CHECK(fault_of(masked(0xc1, "x")) == 1002);                      // an extension's bit
  CHECK(fault_of(masked(0x83, "x")) == 1002);                      // an unknown kind
  CHECK(fault_of(masked(0x8b, "x")) == 1002);                      // an unknown control frame
  CHECK(fault_of(masked(0x09, "x")) == 1002);                      // a ping in pieces
  CHECK(fault_of(masked(0x89, std::string(126, 'x'))) == 1002);    // a long ping
  CHECK(fault_of(masked(0x80, "x")) == 1002);                      // goes on without a beginning
  CHECK(fault_of(masked(0x01, "x") + masked(0x81, "x")) == 1002);  // begins within another
  CHECK(fault_of({"\x81\xfe\0", 3}) == 0);                         // not all of it is here yet
  CHECK(fault_of({"\x81\xfe\0\x05....", 8}) == 1002);              // 5 in two bytes
  CHECK(fault_of({"\x81\xff\0\0\0\0\0\0\x01\x00....", 14}) == 1002);
  CHECK(fault_of({"\x81\xff\x80\0\0\0\0\0\0\0....", 14}) == 1002);
  CHECK(fault_of(masked(0x88, std::string{"\x03\xed", 2})) == 1002);  // 1005 is never sent
  CHECK(fault_of(masked(0x88, std::string{"\x03\xe8\xff", 3})) == 1007);
  CHECK(fault_of(masked(0x88, "")) == 0);
}

TEST_CASE("websocket: too large a message is refused at its beginning, also in pieces") {
  CHECK(fault_of({"\x81\xff\0\0\0\0\0\x01\x86\xa1....x", 15}) == 1009);  // 100,001
  CHECK(fault_of(masked(0x01, std::string(60'000, 'x')) + masked(0x80, std::string(40'001, 'x')))
        == 1009);
  CHECK(fault_of(masked(0x01, std::string(60'000, 'x')) + masked(0x80, std::string(40'000, 'x')))
        == 0);
}

TEST_CASE("websocket: text is UTF-8, data need not be") {
  for (const std::string_view bad : {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                     "\xe2\x82", "\x80", "\xf5\x80\x80\x80", "\xe0\x80\x80"}) {
    CHECK(fault_of(masked(0x81, bad)) == 1007);
    CHECK(fault_of(masked(0x82, bad)) == 0);
  }
  CHECK(fault_of(masked(0x81, "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x99\x82")) == 0);
  // A character may be split over pieces of a message.
  CHECK(fault_of(masked(0x01, "\xe2\x82") + masked(0x80, "\xac")) == 0);
}

TEST_CASE("websocket: a close carries its code and as much of the reason as fits") {
  const auto closed = [](CloseCode code, std::string_view reason) {
    Codec codec{Side::client, limit};
    codec.send(Kind::text, "before");
    codec.close(code, reason);
    codec.send(Kind::text, "nothing goes behind it");
    const auto out = read(codec.take_output());
    CHECK_FALSE(out.fault);
    REQUIRE(out.messages.size() == 2);
    CHECK(out.messages[0].payload == "before");
    CHECK(out.messages[1].kind == Kind::close);
    CHECK(out.messages[1].close_code == static_cast<std::uint16_t>(code));
    return out.messages[1].payload;
  };
  CHECK(closed(CloseCode::internal_error, "task not found") == "task not found");
  CHECK(closed(CloseCode::normal, "").empty());
  const std::string reason(122, 'x');
  CHECK(closed(CloseCode::policy_violation, reason + "\xe2\x82\xac") == reason);  // not cut in two
  CHECK(closed(CloseCode::internal_error, "b\xff") == "b?");
}

TEST_CASE("websocket: a close is answered with its code, and nothing is read behind it") {
  const auto out = read(masked(0x88, {"\x03\xe9"
                                      "bye",
                                      5})
                            + masked(0x81, "more"),
                        3);
  REQUIRE(out.messages.size() == 1);
  CHECK(out.messages[0].close_code == 1001);
  CHECK(out.messages[0].payload == "bye");
  CHECK(out.answers.substr(2, 2) == "\x03\xe9");
  CHECK(read(masked(0x88, "")).messages.at(0).close_code == 1005);
  CHECK(read(masked(0x88, "x")).messages.at(0).close_code == 1005);  // half a code is none
}

TEST_CASE("websocket: of what follows a message nothing is taken along") {
  const auto first = masked(0x81, "first");
  const auto both = first + masked(0x81, "second");
  Codec codec{Side::server, limit};
  std::string_view bytes = both;
  CHECK(codec.next(bytes)->payload == "first");
  CHECK(bytes.size() == both.size() - first.size());
  CHECK(codec.next(bytes)->payload == "second");
}

TEST_CASE("websocket: a fault is for good") {
  Codec codec{Side::server, limit};
  const auto frames = masked(0x89, "here") + masked(0x83, "x") + masked(0x81, "fine");
  std::string_view bytes = frames;
  CHECK(codec.next(bytes)->kind == Kind::ping);
  CHECK_FALSE(codec.next(bytes));
  CHECK(codec.fault() == CloseCode::protocol_error);
  CHECK(bytes.empty());
  CHECK(codec.take_output() == std::string{"\x8a\x04here\x88\x02\x03\xea", 10});
}
