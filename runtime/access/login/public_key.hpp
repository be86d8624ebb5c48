// PublicKey: a key that signatures of tokens are verified with, and of which kind they may be. The
// key's type decides which algorithms fit, never the token: an RSA key verifies no HMAC, a P-256
// key no ES384. `none` and HMAC are no algorithms here.
//
// Verified by OpenSSL. May depend on: runtime/base, runtime/text. Pure; thread-safe.
// Tests: token_check_test.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/access/login/jwt.hpp"

struct evp_pkey_st;

namespace nomad::access {

/// RS256 to PS512, ES256 to ES512, EdDSA.
bool is_signing_algorithm(std::string_view name);

/// Their names, for a message.
std::string signing_algorithms();

class PublicKey {
public:
  explicit PublicKey(std::shared_ptr<evp_pkey_st> key,
                     std::string key_id = {},
                     std::string algorithm = {})
      : key_{std::move(key)}, id_{std::move(key_id)}, algorithm_{std::move(algorithm)} {}

  /// "" without one.
  const std::string& id() const { return id_; }

  bool verifies(const Jwt& jwt) const;

private:
  std::shared_ptr<evp_pkey_st> key_;
  std::string id_;
  std::string algorithm_;  ///< The only one that it is for; "": any that fits.
};

using PublicKeys = std::vector<PublicKey>;

inline constexpr std::size_t longest_pem_key = 64 * 1024;
inline constexpr std::size_t most_public_keys = 256;
inline constexpr int least_rsa_bits = 2'048;
inline constexpr int most_rsa_bits = 16'384;

/// A public key or a certificate's: RSA, EC of P-256, P-384 and P-521, Ed25519.
Result<PublicKey> read_pem_key(std::string_view pem);

/// The keys of a JSON Web Key Set (RFC 7517) that verify. Those of other uses and kinds are passed
/// over, malformed ones as well; none left is an error.
Result<PublicKeys> read_jwks(std::string_view json);

/// Whether one of the keys has signed it. A token that names a key wants that one, if the keys have
/// names.
bool is_signed_by(const PublicKeys& keys, const Jwt& jwt);

}  // namespace nomad::access
