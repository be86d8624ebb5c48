// Digests and encodings.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad::templates {

// In lower-case hexadecimal.
std::string md5_hex(std::string_view bytes);
std::string sha1_hex(std::string_view bytes);
std::string sha256_hex(std::string_view bytes);
std::string hmac_sha256_hex(std::string_view key, std::string_view bytes);
std::string adler32(std::string_view bytes);

std::string encode_base64_url(std::string_view bytes);
Result<std::string> decode_base64_url(std::string_view text);
std::string encode_base32(std::string_view bytes);
Result<std::string> decode_base32(std::string_view text);

}  // namespace nomad::templates
