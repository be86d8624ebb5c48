// Signing of identities. The token is a pure function of claims and key (Ed25519 signs the same
// bytes alike), so that rows keep neither, and any server makes the bytes when a node asks for
// them.
//
// A key has one algorithm, which its maker chose; no token has a say in it. What Nomad takes itself
// is signed by Ed25519, what is for others by RS256 (rsa_key.hpp).
//
// Pure; thread-safe. About 20 µs for a signature by Ed25519, 60 µs for verifying one.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/identity/claims.hpp"
#include "runtime/security/secret.hpp"

namespace nomad::identity {

/// "EdDSA" (Ed25519).
inline constexpr std::string_view ed25519_algorithm = "EdDSA";

/// What a root key's signing key is derived from it by. Part of what is signed: never changed.
inline constexpr std::string_view signing_purpose = "workload identities, ed25519";

/// The public half of a key, by which everybody can verify.
struct VerifyingKey {
  std::string id;  ///< Of the root key; a token's `kid`.
  std::array<unsigned char, 32> bytes{};

  bool verifies(std::string_view signed_part, std::string_view signature) const;
};

class SigningKey {
public:
  /// Of 32 secret bytes, the same key for the same bytes.
  static Result<SigningKey> from_seed(std::string id, const security::Secret& seed);

  const VerifyingKey& verifying() const { return verifying_; }

  const std::string& id() const { return verifying_.id; }

  /// 64 bytes.
  std::string sign(std::string_view text) const;

private:
  SigningKey(VerifyingKey verifying, security::Secret secret)
      : verifying_{std::move(verifying)}, secret_{std::move(secret)} {}

  VerifyingKey verifying_;
  security::Secret secret_;
};

/// What is signed of a token: header and claims, in base64 for URLs, with a point between them.
std::string signed_part(const Claims& claims, std::string_view algorithm, std::string_view key_id);

/// The token: the signed part, a point and the signature.
std::string with_signature(std::string signed_part, std::string_view signature);

/// By Ed25519.
std::string sign(const Claims& claims, const SigningKey& key);

}  // namespace nomad::identity
