#include "runtime/probe/hpack.hpp"

#include <doctest/doctest.h>

#include "runtime/base/random.hpp"

using namespace nomad;
using namespace nomad::probe;

namespace {

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2)
    bytes += static_cast<char>(std::stoi(std::string{hex.substr(at, 2)}, nullptr, 16));
  return bytes;
}

/// "name: value\n…", or what is wrong.
std::string decoded(HpackDecoder& decoder, std::string_view hex) {
  const auto fields = decoder.decode(from_hex(hex));
  if (!fields) return fields.error().what;
  std::string text;
  for (const auto& [name, value] : *fields)
    text += name + ": " + value + '\n';
  return text;
}

}  // namespace

TEST_CASE("hpack: RFC 7541's responses, as they are and by Huffman's codes") {
  constexpr auto first
      = ":status: 302\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 "
        "GMT\nlocation: https://www.example.com\n";
  constexpr auto second
      = ":status: 307\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 "
        "GMT\nlocation: https://www.example.com\n";
  HpackDecoder plain;
  CHECK(decoded(plain,
                "4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31"
                "333a323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d")
        == first);
  CHECK(decoded(plain, "4803333037c1c0bf") == second);
  HpackDecoder compressed;
  CHECK(decoded(compressed,
                "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff"
                "6e919d29ad171863c78f0b97c8e9ae82ae43d3")
        == first);
  CHECK(decoded(compressed, "4883640effc1c0bf") == second);
}

TEST_CASE("hpack: what is remembered is bounded, and forgotten as the peer says") {
  HpackDecoder decoder;
  CHECK(decoded(decoder, "400161016240016301648286bfbe")
        == "a: b\nc: d\n:method: GET\n:scheme: http\na: b\nc: d\n");
  CHECK(decoded(decoder, "3f09be") == "c: d\n");  // 40 bytes hold one of them
  CHECK(decoded(decoder, "bf").find("no such field") != std::string::npos);
  HpackDecoder none;
  CHECK(decoded(none, "20400161016282") == "a: b\n:method: GET\n");
  CHECK(decoded(none, "be").find("no such field") != std::string::npos);
}

TEST_CASE("hpack: fields of ours come back") {
  for (const std::size_t size : {0, 1, 126, 127, 128, 300, 20'000}) {
    const std::string value(size, 'v');
    HpackDecoder decoder;
    const auto fields = decoder.decode(encode_field("name", value)).value();
    REQUIRE(fields.size() == 1);
    CHECK(fields[0].name == "name");
    CHECK(fields[0].value == value);
  }
}

TEST_CASE("hpack: what is none is refused") {
  const std::pair<const char*, const char*> cases[] = {
      {"80", "no such field"},
      {"be", "no such field"},
      {"ff", "they break off"},
      {"ffffffffffff7f", "a number is too large"},
      {"40", "they break off"},
      {"4001", "they break off"},
      {"400561", "they break off"},
      {"00016105", "they break off"},
      {"3fe21f", "more is to be remembered than we do"},
      {"0001618207ff", "text breaks off"},
      {"00016184fffffffc", "no such code"},
      {"000161820000", "text breaks off"},
  };
  for (const auto& [hex, why] : cases) {
    HpackDecoder decoder;
    CHECK(decoded(decoder, hex) == std::string{"malformed headers of HTTP/2: "} + why);
  }
  HpackDecoder decoder;
  std::string many = encode_field("x", std::string(4000, 'y'));
  many[0] = 0x40;
  many += std::string(100, static_cast<char>(0xbe));
  CHECK(decoder.decode(many).error().what
        == "malformed headers of HTTP/2: they are too long");  // few bytes that make many
}

TEST_CASE("hpack: noise does no harm") {
  Random random{7};
  for (int i = 0; i < 20'000; ++i) {
    HpackDecoder decoder;
    for (int block = 0; block < 3; ++block) {
      std::string bytes(random.next() % 40, '\0');
      for (auto& byte : bytes)
        byte = static_cast<char>(random.next());
      if (!decoder.decode(bytes)) break;
    }
  }
}
