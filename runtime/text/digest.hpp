// Digests of texts, as bytes (runtime/base/text.hpp has `to_hex`), and base32.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad {

std::string md5(std::string_view bytes);
std::string sha1(std::string_view bytes);
std::string sha256(std::string_view bytes);
std::string sha512(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);

/// As a decimal number.
std::string adler32(std::string_view bytes);

/// As Go's encoding/base32: line breaks are passed over, and the error names the byte.
std::string encode_base32(std::string_view bytes);
Result<std::string> decode_base32(std::string_view text);

}  // namespace nomad
