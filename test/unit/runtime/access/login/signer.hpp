// Signer: a key pair that is made when a test runs, and tokens signed by it, also such as no honest
// provider makes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "runtime/base/base64.hpp"

namespace nomad::test {

inline std::string jwt_part(std::string_view bytes) {
  auto text = encode_base64_url(bytes);
  text.erase(text.find_last_not_of('=') + 1);
  return text;
}

/// HMAC, as an attacker makes it who knows the public key alone.
inline std::string hmac_token(const std::string& secret, const std::string& claims) {
  const auto part = jwt_part(R"({"alg":"HS256"})") + '.' + jwt_part(claims);
  std::string mac(32, '\0');
  unsigned size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(part.data()), part.size(),
       reinterpret_cast<unsigned char*>(mac.data()), &size);
  return part + '.' + jwt_part(mac);
}

class Signer {
public:
  static Signer rsa(int bits = 2048) {
    return Signer{EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", static_cast<std::size_t>(bits))};
  }

  static Signer ec(const char* curve) {
    return Signer{EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", curve)};
  }

  static Signer ed25519() { return Signer{EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")}; }

  std::string pem() const {
    BIO* memory = BIO_new(BIO_s_mem());
    PEM_write_bio_PUBKEY(memory, key_.get());
    char* bytes = nullptr;
    const auto size = BIO_get_mem_data(memory, &bytes);
    std::string out{bytes, static_cast<std::size_t>(size)};
    BIO_free(memory);
    return out;
  }

  /// A token of that algorithm; `header` is what follows "alg" in it: `,"kid":"a"`.
  std::string token(const std::string& algorithm,
                    const std::string& claims,
                    const std::string& header = "") const {
    return signed_as(algorithm, R"({"alg":")" + algorithm + '"' + header + '}', claims);
  }

  /// Signed by one algorithm while the header may say another.
  std::string signed_as(const std::string& algorithm,
                        const std::string& header,
                        const std::string& claims) const {
    const auto part = jwt_part(header) + '.' + jwt_part(claims);
    return part + '.' + jwt_part(sign(algorithm, part));
  }

  /// As a JSON Web Key, with `more` members: `,"kid":"a"`.
  std::string jwk(const std::string& more = "") const {
    if (EVP_PKEY_get_base_id(key_.get()) == EVP_PKEY_RSA)
      return R"({"kty":"RSA","n":")" + number(OSSL_PKEY_PARAM_RSA_N, 0) + R"(","e":")"
             + number(OSSL_PKEY_PARAM_RSA_E, 0) + '"' + more + '}';
    if (EVP_PKEY_get_base_id(key_.get()) == EVP_PKEY_EC) {
      const int bits = EVP_PKEY_get_bits(key_.get());
      const int width = (bits + 7) / 8;
      return R"({"kty":"EC","crv":"P-)" + std::to_string(bits) + R"(","x":")"
             + number(OSSL_PKEY_PARAM_EC_PUB_X, width) + R"(","y":")"
             + number(OSSL_PKEY_PARAM_EC_PUB_Y, width) + '"' + more + '}';
    }
    std::string bytes(32, '\0');
    std::size_t size = bytes.size();
    EVP_PKEY_get_raw_public_key(key_.get(), reinterpret_cast<unsigned char*>(bytes.data()), &size);
    return R"({"kty":"OKP","crv":"Ed25519","x":")" + jwt_part(bytes) + '"' + more + '}';
  }

private:
  explicit Signer(EVP_PKEY* key) : key_{key, &EVP_PKEY_free} {}

  std::string number(const char* name, int width) const {
    BIGNUM* value = nullptr;
    EVP_PKEY_get_bn_param(key_.get(), name, &value);
    const int size = width != 0 ? width : BN_num_bytes(value);
    std::string bytes(static_cast<std::size_t>(size), '\0');
    BN_bn2binpad(value, reinterpret_cast<unsigned char*>(bytes.data()), size);
    BN_free(value);
    return jwt_part(bytes);
  }

  std::string sign(const std::string& algorithm, const std::string& part) const {
    const auto bits = algorithm.substr(2);
    const auto* digest = bits == "256" ? EVP_sha256() : bits == "384" ? EVP_sha384() : EVP_sha512();
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    EVP_PKEY_CTX* parameters = nullptr;
    EVP_DigestSignInit(context, &parameters, algorithm == "EdDSA" ? nullptr : digest, nullptr,
                       key_.get());
    if (algorithm.starts_with("PS")) {
      EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING);
      EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST);
    }
    std::string out(4096, '\0');
    std::size_t size = out.size();
    EVP_DigestSign(context, reinterpret_cast<unsigned char*>(out.data()), &size,
                   reinterpret_cast<const unsigned char*>(part.data()), part.size());
    EVP_MD_CTX_free(context);
    out.resize(size);
    return algorithm.starts_with("ES") ? raw_signature(out) : out;
  }

  /// r and s, one behind the other.
  std::string raw_signature(const std::string& der) const {
    const int width = (EVP_PKEY_get_bits(key_.get()) + 7) / 8;
    const auto* at = reinterpret_cast<const unsigned char*>(der.data());
    ECDSA_SIG* pair = d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size()));
    std::string out(static_cast<std::size_t>(2 * width), '\0');
    auto* bytes = reinterpret_cast<unsigned char*>(out.data());
    BN_bn2binpad(ECDSA_SIG_get0_r(pair), bytes, width);
    BN_bn2binpad(ECDSA_SIG_get0_s(pair), bytes + width, width);
    ECDSA_SIG_free(pair);
    return out;
  }

  std::shared_ptr<EVP_PKEY> key_;
};

}  // namespace nomad::test
