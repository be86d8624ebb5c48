// The file that keeps a node's id and secret beside its database, so that a node whose database is
// damaged remains the node that it is. A few lines of text with a sum, 0600, replaced whole:
//
//   nomadctl node 1
//   id <id>
//   secret <secret>
//   sum <XXH3 of the lines above, decimal>
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad::storage {

struct NodeIdentityText {
  std::string id;
  std::string secret;

  friend bool operator==(const NodeIdentityText&, const NodeIdentityText&) = default;
};

/// Empty: there is no such file. `corrupt`: it is not what was written; `io`.
Result<std::optional<NodeIdentityText>> read_identity_file(const std::string& path);

/// Durable on return. Id and secret have no spaces or line ends.
Result<> write_identity_file(const std::string& path, const NodeIdentityText& identity);

}  // namespace nomad::storage
