// RsaKey: signs the identities that are for others by RS256 (RSASSA-PKCS1-v1_5 with SHA-256), which
// every verifier of OIDC knows; many know no Ed25519. The key follows from the root key like the
// Ed25519 one beside it, by a purpose of its own: nothing of it is in the log, in a snapshot or in
// a file, and each server that opens the root key has it. Its numbers are drawn here, from 32
// secret bytes, so that they are the same whatever release of OpenSSL there is; arithmetic, tests
// for primes and signatures are OpenSSL's.
//
// Making a key takes 0.1 to 0.5 s, a signature about 1 ms: neither is anything for a thread that
// others wait for. `rsa_keys` keeps what it has made.
//
// Pure; thread-safe. Tests: rsa_key_test.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/object/object.hpp"
#include "runtime/security/keyring.hpp"
#include "runtime/security/secret.hpp"

struct evp_pkey_st;

namespace nomad::identity {

inline constexpr std::string_view rsa_algorithm = "RS256";
inline constexpr int rsa_bits = 2'048;

/// What a root key's RSA key is derived from it by. Part of what is signed: never changed.
inline constexpr std::string_view rsa_purpose = "workload identities, rs256";

/// The `kid` of a root key's RSA key.
std::string rsa_key_id(std::string_view root_key_id);

class RsaKey {
public:
  /// Of 32 secret bytes, the same key for the same bytes.
  static Result<RsaKey> from_seed(std::string_view root_key_id, const security::Secret& seed);

  /// A token's `kid`.
  const std::string& id() const { return id_; }

  /// The public half, big-endian, without leading zeros.
  const std::string& modulus() const { return modulus_; }

  const std::string& exponent() const { return exponent_; }

  /// 256 bytes, the same for the same text. `internal`: OpenSSL has failed.
  Result<std::string> sign(std::string_view text) const;

private:
  RsaKey() = default;

  std::string id_;
  std::string modulus_;
  std::string exponent_;
  std::shared_ptr<evp_pkey_st> key_;
};

/// A root key's RSA key by its row. Kept: the same row gives the same object, and copies share what
/// they keep. Who asks first waits while it is made, and with him whoever asks for the same one
/// meanwhile. Thread-safe.
class RsaKeyOf {
public:
  /// Knows none: empty.
  RsaKeyOf() = default;

  /// How one is made; else than `RsaKey::from_seed` in tests that remember what they have made.
  using Make
      = std::function<Result<RsaKey>(std::string_view root_key_id, const security::Secret& seed)>;

  /// Derives them from the root keys of `keyring` (null: this server has none, and so no key).
  explicit RsaKeyOf(std::shared_ptr<security::Keyring> keyring, Make make = &RsaKey::from_seed);

  explicit operator bool() const { return kept_ != nullptr; }

  /// `unavailable`: there is no row, no keyring, or its key can't be opened yet; `corrupt`: never
  /// here; `internal`: OpenSSL has failed.
  Result<std::shared_ptr<const RsaKey>> operator()(const Object<schema::RootKey>& row) const;

  /// Whether asking for it now takes long: it can be made, and is not yet. Waits for nobody.
  bool takes_long(const Object<schema::RootKey>& row) const;

private:
  struct Kept;

  std::shared_ptr<Kept> kept_;
};

RsaKeyOf rsa_keys(std::shared_ptr<security::Keyring> keyring);

}  // namespace nomad::identity
