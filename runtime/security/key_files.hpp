// Key files: the secret halves of a server's key pairs, one per file `<name>.key` in
// `<data_dir>/server/keystore`, as 64 hexadecimal digits, readable by the owner only. The server's
// own is "holder.key". A file of another server of a lost cluster, copied here, opens what a
// restored snapshot holds.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/security/seal.hpp"

namespace nomad::security {

/// The pairs in `directory`, the server's own first, which is made, durably, when it is missing.
/// Errors name the file: `io`, `corrupt` (not a key), `permission_denied` (others can read it).
Result<std::vector<KeyPair>> load_key_pairs(const std::string& directory, const FillRandom& random);

}  // namespace nomad::security
