#include "runtime/base/base64.hpp"

#include <doctest/doctest.h>

#include "runtime/base/random.hpp"

using nomad::decode_base64;
using nomad::encode_base64;

namespace {

/// The bytes, or what is wrong with `text`.
std::string decoded(std::string_view text) {
  const auto bytes = decode_base64(text);
  return bytes ? *bytes : bytes.error().what;
}

std::string illegal_at(int byte) {
  return "illegal base64 data at input byte " + std::to_string(byte);
}

}  // namespace

TEST_CASE("base64: the examples of RFC 4648") {
  CHECK(encode_base64("") == "");
  CHECK(encode_base64("f") == "Zg==");
  CHECK(encode_base64("fo") == "Zm8=");
  CHECK(encode_base64("foo") == "Zm9v");
  CHECK(encode_base64("foobar") == "Zm9vYmFy");
  CHECK(decoded("Zm9vYmFy") == "foobar");
  CHECK(decoded("Zg==") == "f");
  CHECK(decoded("Zm8=") == "fo");
  CHECK(decoded("") == "");
}

TEST_CASE("base64: what is encoded comes back") {
  nomad::Random random{11};
  for (std::size_t size = 0; size < 200; ++size) {
    std::string bytes;
    while (bytes.size() < size)
      bytes += static_cast<char>(random.next() & 0xff);
    const auto text = encode_base64(bytes);
    REQUIRE(text.size() == (size + 2) / 3 * 4);
    REQUIRE(decoded(text) == bytes);
  }
}

TEST_CASE("base64: line breaks are passed over, wherever they are") {
  CHECK(decoded("\r\nZm9v\nYm\rFy\n") == "foobar");
  CHECK(decoded("Zg=\n=\r\n") == "f");
  CHECK(decoded("\n") == "");
}

TEST_CASE("base64: bits that are left over are not looked at") {
  CHECK(decoded("Zh==") == "f");
  CHECK(decoded("Zm9=") == "fo");
}

TEST_CASE("base64: what is none is refused where Go refuses it") {
  CHECK(decoded("!m9v") == illegal_at(0));
  CHECK(decoded("Zm9vY-Fy") == illegal_at(5));
  CHECK(decoded(std::string_view{"Zm\0v", 4}) == illegal_at(2));
  CHECK(decoded("Zm9vYg") == illegal_at(4));  // without padding
  CHECK(decoded("Z") == illegal_at(0));
  CHECK(decoded("=") == illegal_at(0));
  CHECK(decoded("Zm9vY===") == illegal_at(5));
  CHECK(decoded("Zg=") == illegal_at(3));
  CHECK(decoded("Zg=v") == illegal_at(2));
  CHECK(decoded("Zg==Zg==") == illegal_at(4));
  CHECK(decoded("Zm8==") == illegal_at(4));
}
