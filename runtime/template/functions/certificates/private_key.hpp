// Private keys as sprig's functions make, read and write them: in PEM, in Go's forms.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/evp.h>

#include "runtime/base/result.hpp"
#include "runtime/base/work.hpp"

namespace nomad::templates {

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

using PrivateKey = std::unique_ptr<EVP_PKEY, FreeKey>;

enum class KeyKind : std::uint8_t { rsa, dsa, ecdsa, ed25519 };

/// A new one, of OpenSSL's random numbers: RSA of `bits` bits, DSA of 2048 and 256, ECDSA on P-256.
///
/// RSA of 4096 bits takes seconds: work is taken for each candidate of its primes, so that it ends
/// when nobody wants it any more.
Result<PrivateKey> make_key(KeyKind kind, Work& work, unsigned bits = 2048);

/// The first block of the text. Errors are in sprig's words. Longer keys than 8192 bits are
/// refused: what is done with them takes too long.
Result<PrivateKey> read_key(std::string_view pem);

/// RSA, DSA and EC in the forms of their own, others as PKCS #8.
Result<std::string> write_key(const PrivateKey& key);

}  // namespace nomad::templates
