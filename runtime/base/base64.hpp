// Base64 with padding, of the standard alphabet (RFC 4648, section 4), as Go's encoding/base64
// reads and writes it: in JSON, job files, websocket handshakes and HTTP headers. By hand:
// libsodium refuses bits left over in the last character, which Go takes, and the message names the
// byte at which a text is wrong, which Nomad's clients see.
//
// Not for keys: what decodes a secret does so into memory that is wiped (runtime/security).
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad {

std::string encode_base64(std::string_view bytes);

/// Line breaks are passed over, and bits left over in the last character are not looked at. Fails
/// with `invalid_argument` in Go's words: "illegal base64 data at input byte 4".
Result<std::string> decode_base64(std::string_view text);

/// The same with "-" and "_" in place of "+" and "/", for addresses and headers.
std::string encode_base64_url(std::string_view bytes);
Result<std::string> decode_base64_url(std::string_view text);

}  // namespace nomad
