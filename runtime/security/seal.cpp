#include "runtime/security/seal.hpp"

#include <algorithm>

#include <sodium.h>

namespace nomad::security {
namespace {

constexpr std::size_t nonce_bytes = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr std::size_t tag_bytes = crypto_aead_xchacha20poly1305_ietf_ABYTES;
static_assert(key_bytes == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);
static_assert(key_bytes == crypto_box_SECRETKEYBYTES && key_bytes == crypto_box_PUBLICKEYBYTES);

unsigned char* raw(std::byte* bytes) {
  return reinterpret_cast<unsigned char*>(bytes);
}

const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

const unsigned char* raw(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

/// The nonce of a sealed box is a hash of both public keys.
Bytes box_nonce(std::span<const std::byte> ephemeral, std::span<const std::byte> recipient) {
  Bytes both{ephemeral.begin(), ephemeral.end()};
  both.insert(both.end(), recipient.begin(), recipient.end());
  Bytes nonce(crypto_box_NONCEBYTES);
  crypto_generichash(raw(nonce.data()), nonce.size(), raw(both.data()), both.size(), nullptr, 0);
  return nonce;
}

}  // namespace

FillRandom system_random() {
  return [](std::span<std::byte> bytes) {
    if (sodium_init() >= 0) randombytes_buf(bytes.data(), bytes.size());
  };
}

Bytes seal(const Secret& key,
           std::string_view location,
           std::span<const std::byte> plain,
           const FillRandom& random) {
  Bytes sealed(nonce_bytes + plain.size() + tag_bytes);
  random(std::span{sealed}.first(nonce_bytes));
  crypto_aead_xchacha20poly1305_ietf_encrypt(
      raw(sealed.data() + nonce_bytes), nullptr, raw(plain.data()), plain.size(), raw(location),
      location.size(), nullptr, raw(sealed.data()), raw(key.bytes().data()));
  return sealed;
}

Result<Secret> unseal(const Secret& key,
                      std::string_view location,
                      std::span<const std::byte> sealed) {
  const Error refusal{Errc::corrupt, "what is sealed does not open with this key at this place"};
  if (key.size() != key_bytes || sealed.size() < nonce_bytes + tag_bytes) return refusal;
  Secret plain{sealed.size() - nonce_bytes - tag_bytes};
  const auto failed = crypto_aead_xchacha20poly1305_ietf_decrypt(
      raw(plain.bytes().data()), nullptr, nullptr, raw(sealed.data() + nonce_bytes),
      sealed.size() - nonce_bytes, raw(location), location.size(), raw(sealed.data()),
      raw(key.bytes().data()));
  if (failed != 0) return refusal;
  return plain;
}

KeyPair make_key_pair(const FillRandom& random) {
  Secret seed{crypto_box_SEEDBYTES};
  random(seed.bytes());
  KeyPair pair{Bytes(key_bytes), Secret{key_bytes}};
  crypto_box_seed_keypair(raw(pair.public_key.data()), raw(pair.secret_key.bytes().data()),
                          raw(seed.bytes().data()));
  return pair;
}

Result<KeyPair> key_pair_of(Secret secret_key) {
  if (secret_key.size() != key_bytes)
    return Error{Errc::invalid_argument, "a secret key has 32 bytes"};
  KeyPair pair{Bytes(key_bytes), std::move(secret_key)};
  crypto_scalarmult_base(raw(pair.public_key.data()), raw(pair.secret_key.bytes().data()));
  return pair;
}

Result<Bytes> wrap_for(std::span<const std::byte> public_key,
                       std::span<const std::byte> plain,
                       const FillRandom& random) {
  const Error refusal{Errc::corrupt, "that is no X25519 public key"};
  if (public_key.size() != key_bytes) return refusal;
  const auto ephemeral = make_key_pair(random);
  const auto nonce = box_nonce(ephemeral.public_key, public_key);
  Bytes wrapped(key_bytes + crypto_box_MACBYTES + plain.size());
  std::copy(ephemeral.public_key.begin(), ephemeral.public_key.end(), wrapped.begin());
  const auto failed = crypto_box_easy(raw(wrapped.data() + key_bytes), raw(plain.data()),
                                      plain.size(), raw(nonce.data()), raw(public_key.data()),
                                      raw(ephemeral.secret_key.bytes().data()));
  if (failed != 0) return refusal;
  return wrapped;
}

Result<Secret> unwrap(const KeyPair& pair, std::span<const std::byte> wrapped) {
  const Error refusal{Errc::corrupt, "what is wrapped does not open with this key"};
  if (wrapped.size() < crypto_box_SEALBYTES || pair.public_key.size() != key_bytes) return refusal;
  Secret plain{wrapped.size() - crypto_box_SEALBYTES};
  const auto failed
      = crypto_box_seal_open(raw(plain.bytes().data()), raw(wrapped.data()), wrapped.size(),
                             raw(pair.public_key.data()), raw(pair.secret_key.bytes().data()));
  if (failed != 0) return refusal;
  return plain;
}

Secret derive_key(std::span<const std::byte> secret, std::string_view purpose) {
  Secret key{key_bytes};
  const auto used
      = secret.first(std::min<std::size_t>(secret.size(), crypto_generichash_KEYBYTES_MAX));
  crypto_generichash(raw(key.bytes().data()), key.size(), raw(purpose), purpose.size(),
                     raw(used.data()), used.size());
  return key;
}

}  // namespace nomad::security
