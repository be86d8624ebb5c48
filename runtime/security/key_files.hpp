// Key files: the secret halves of a server's key pairs, one per file `<name>.key` in
// `<data_dir>/server/keystore`, as 64 hexadecimal digits, readable by the owner only. The server's
// own is "holder.key". A file of another server of a lost cluster, copied here, opens what a
// restored snapshot holds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/security/seal.hpp"

namespace nomad::security {

/// What is in a file that holds a key: `text` up to `size`.
struct KeyText {
  Secret text;
  std::size_t size = 0;
};

/// Reads `most` bytes at most of a file that its owner alone may read; `what` names it in the
/// refusal: "a key file". Errors: `io`, `permission_denied`.
Result<KeyText> read_key_text(const std::string& path, std::size_t most, std::string_view what);

/// The pairs in `directory`, the server's own first, which is made, durably, when it is missing.
/// Errors name the file: `io`, `corrupt` (not a key), `permission_denied` (others can read it).
Result<std::vector<KeyPair>> load_key_pairs(const std::string& directory, const FillRandom& random);

}  // namespace nomad::security
