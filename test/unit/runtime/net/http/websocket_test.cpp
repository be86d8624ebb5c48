// Websocket frames, read in pieces of any size, with everything that RFC 6455 forbids.
#include "runtime/net/http/websocket.hpp"

#include <vector>

#include <doctest/doctest.h>

using namespace nomad::net::websocket;

namespace {

constexpr std::size_t limit = 100'000;
constexpr std::uint32_t mask = 0x37fa213d;

/// A frame of a client with any first byte.
std::string masked(unsigned char first, std::string_view payload) {
  std::string frame;
  append_frame(frame, Kind::text, payload, mask);
  frame[0] = static_cast<char>(first);
  return frame;
}

struct Read {
  std::vector<Message> messages;
  std::optional<FrameReader::Fault> fault;
};

Read read(std::string_view bytes, std::size_t piece = std::string::npos, Side side = Side::server) {
  FrameReader reader{side, limit};
  Read out;
  while (!bytes.empty() && !reader.fault()) {
    auto part = bytes.substr(0, piece);
    bytes.remove_prefix(part.size());
    while (auto message = reader.next(part))
      out.messages.push_back(std::move(*message));
    if (!reader.fault()) CHECK(part.empty());
  }
  out.fault = reader.fault();
  return out;
}

std::uint16_t fault_of(std::string_view bytes, Side side = Side::server) {
  const auto out = read(bytes, std::string::npos, side);
  return out.fault ? static_cast<std::uint16_t>(out.fault->code) : 0;
}

}  // namespace

TEST_CASE("websocket: the example of the RFC, written and read") {
  std::string frame;
  append_frame(frame, Kind::text, "Hello", mask);
  CHECK(frame == "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
  const auto out = read(frame);
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
    std::string frames;
    append_frame(frames, Kind::binary, payload, mask);
    append_frame(frames, Kind::text, "behind", mask);
    for (const std::size_t piece :
         {std::size_t{1}, std::size_t{7}, std::size_t{4096}, frames.size()}) {
      const auto out = read(frames, piece);
      CHECK_FALSE(out.fault);
      REQUIRE(out.messages.size() == 2);
      CHECK(out.messages[0].kind == Kind::binary);
      CHECK(out.messages[0].payload == payload);
      CHECK(out.messages[1].payload == "behind");
    }
    std::string plain;
    append_frame(plain, Kind::binary, payload);
    CHECK(read(plain, 3, Side::client).messages.at(0).payload == payload);
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
  }
}

TEST_CASE("websocket: what the protocol forbids ends it with the right code") {
  std::string unmasked;
  append_frame(unmasked, Kind::text, "x");
  CHECK(fault_of(unmasked) == 1002);
  CHECK(fault_of(masked(0x81, "x"), Side::client) == 1002);
  CHECK(fault_of(masked(0xc1, "x")) == 1002);                      // an extension's bit
  CHECK(fault_of(masked(0x83, "x")) == 1002);                      // an unknown kind
  CHECK(fault_of(masked(0x8b, "x")) == 1002);                      // an unknown control frame
  CHECK(fault_of(masked(0x09, "x")) == 1002);                      // a ping in pieces
  CHECK(fault_of(masked(0x89, std::string(126, 'x'))) == 1002);    // a long ping
  CHECK(fault_of(masked(0x80, "x")) == 1002);                      // goes on without a beginning
  CHECK(fault_of(masked(0x01, "x") + masked(0x81, "x")) == 1002);  // begins within another
  CHECK(fault_of({"\x81\xfe\0\x05", 4 + 0}) == 0);                 // not all of it is here yet
  CHECK(fault_of({"\x81\xfe\0\x05....", 8}) == 1002);              // 5 in two bytes
  CHECK(fault_of({"\x81\xff\0\0\0\0\0\0\x01\x00....", 14}) == 1002);
  CHECK(fault_of({"\x81\xff\x80\0\0\0\0\0\0\0....", 14}) == 1002);
  CHECK(fault_of(masked(0x88, "x")) == 1002);                         // half a code
  CHECK(fault_of(masked(0x88, std::string{"\x03\xed", 2})) == 1002);  // 1005 is never sent
  CHECK(fault_of(masked(0x88, std::string{"\x03\xe8\xff", 3})) == 1007);
  CHECK(fault_of(masked(0x88, "")) == 0);
}

TEST_CASE("websocket: too large a message is refused by its header, also in pieces") {
  CHECK(fault_of({"\x81\xff\0\0\0\0\0\x01\x86\xa1....", 14}) == 1009);  // 100,001
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
  const auto close = parse_close(close_payload(CloseCode::internal_error, "task not found"));
  CHECK(close.code == 1011);
  CHECK(close.reason == "task not found");
  CHECK(parse_close("").code == 1005);

  std::string reason(122, 'x');
  reason += "\xe2\x82\xac";  // would be cut in the middle
  const auto cut = close_payload(CloseCode::policy_violation, reason);
  CHECK(cut.size() == 2 + 122);
  CHECK(fault_of(masked(0x88, cut)) == 0);
  CHECK(fault_of(masked(0x88, close_payload(CloseCode::internal_error,
                                            "b\xff"
                                            "d")))
        == 0);
}

TEST_CASE("websocket: a fault is for good") {
  FrameReader reader{Side::server, limit};
  const auto frames = masked(0x83, "x") + masked(0x81, "fine");
  std::string_view bytes = frames;
  CHECK_FALSE(reader.next(bytes));
  CHECK(reader.fault());
  CHECK_FALSE(reader.next(bytes));
}
