// Sealing: authenticated encryption by XChaCha20-Poly1305 (libsodium), whose nonces are long enough
// to be drawn at random for ever, and wrapping of keys with X25519. Randomness is an argument, so
// that a simulation replays.
//
// What is sealed is bound to its location (the associated data): a row that is copied over another,
// to another path or another namespace does not open.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/security/secret.hpp"

namespace nomad::security {

using Bytes = std::vector<std::byte>;

/// Fills with random bytes that nobody can guess.
using FillRandom = std::function<void(std::span<std::byte>)>;

/// libsodium's generator, which draws from the operating system.
FillRandom system_random();

inline constexpr std::size_t key_bytes = 32;

/// Nonce and ciphertext. `key` has `key_bytes`.
Bytes seal(const Secret& key,
           std::string_view location,
           std::span<const std::byte> plain,
           const FillRandom& random);

/// `corrupt` when key or place are others, or a bit has changed.
Result<Secret> unseal(const Secret& key,
                      std::string_view location,
                      std::span<const std::byte> sealed);

/// A pair of X25519 keys.
struct KeyPair {
  Bytes public_key;
  Secret secret_key;
};

KeyPair make_key_pair(const FillRandom& random);

/// The pair of a secret key. `invalid_argument` unless it has `key_bytes`.
Result<KeyPair> key_pair_of(Secret secret_key);

/// Seals for whoever holds the secret half of `public_key`, in the format of libsodium's sealed
/// boxes. `corrupt` when that is no public key.
Result<Bytes> wrap_for(std::span<const std::byte> public_key,
                       std::span<const std::byte> plain,
                       const FillRandom& random);

/// `corrupt` when it was wrapped for another, or a bit has changed.
Result<Secret> unwrap(const KeyPair& pair, std::span<const std::byte> wrapped);

/// A key derived from `secret` for one purpose.
Secret derive_key(std::span<const std::byte> secret, std::string_view purpose);

}  // namespace nomad::security
