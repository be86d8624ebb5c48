#include "runtime/text/digest.hpp"

#include <doctest/doctest.h>

#include "runtime/base/text.hpp"

using namespace nomad;

TEST_CASE("digest: well-known digests") {
  CHECK(to_hex(md5("abc")) == "900150983cd24fb0d6963f7d28e17f72");
  CHECK(to_hex(sha1("abc")) == "a9993e364706816aba3e25717850c26c9cd0d89d");
  CHECK(to_hex(sha256("")).starts_with("e3b0c44298fc1c14"));
  CHECK(to_hex(sha512("abc")).starts_with("ddaf35a193617aba"));
  CHECK(to_hex(hmac_sha256("key", "The quick brown fox jumps over the lazy dog"))
        == "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8");
  CHECK(adler32("Wikipedia") == "300286872");
}

TEST_CASE("digest: base32 there and back, and the byte that is wrong") {
  CHECK(encode_base32("foob") == "MZXW6YQ=");
  CHECK(decode_base32("MZXW\n6YQ=").value() == "foob");
  CHECK(decode_base32("MZXW6YQ").error().what == "illegal base32 data at input byte 0");
  CHECK(decode_base32("MZ1W6YQ=").error().what == "illegal base32 data at input byte 2");
}
