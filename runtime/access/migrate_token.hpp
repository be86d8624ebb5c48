// Migrate tokens: what the node of a replacement shows to the node that has the previous
// allocation's data. The servers make one for whom they placed there; the node that is asked makes
// it anew and compares. Only these know the node's secret.
#pragma once

#include <string>
#include <string_view>

namespace nomad::access {

/// The token for the ephemeral disk of allocation `alloc_id` on the node with this secret: BLAKE2b
/// of 64 bytes over the id, keyed by the secret, in base64 for URLs, as Nomad makes it. Empty
/// without a secret, or for one of more than 64 bytes.
std::string migrate_token(std::string_view alloc_id, std::string_view node_secret);

/// Whether `token` is that one; in constant time. Never for an empty one.
bool is_migrate_token(std::string_view token,
                      std::string_view alloc_id,
                      std::string_view node_secret);

}  // namespace nomad::access
