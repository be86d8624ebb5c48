// TransitKey: a wrapping key of Vault's transit engine, which is asked over HTTP and never leaves
// it.
//
// Owns:    an HTTP client with a thread of its own, on which answers come.
// Threads: any. Who lets go of it in an answer does not wait for that thread.
#pragma once

#include <memory>
#include <string>

#include "runtime/security/wrapping_key.hpp"

namespace nomad::agent {

struct TransitOptions {
  std::string address;  ///< "https://vault:8200"; without TLS on loopback only.
  std::string token;    ///< Secret.
  std::string key_name;
  std::string mount_path = "transit";
  std::string vault_namespace = {};  ///< "" without one.
  std::string ca_file = {};          ///< PEM; "": whom the system trusts.
  std::string tls_server_name = {};  ///< "": the address's host.
};

/// Nothing is asked yet. `invalid_argument` says which option is wrong.
///
/// A service that refuses is `unavailable` like one that is gone: whatever the reason, it may be
/// mended, and no new root key is to be made because of it.
Result<std::shared_ptr<security::WrappingKey>> make_transit_key(TransitOptions options);

}  // namespace nomad::agent
