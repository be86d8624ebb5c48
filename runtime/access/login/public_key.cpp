#include "runtime/access/login/public_key.hpp"

#include <algorithm>
#include <array>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include "runtime/text/freed_by.hpp"
#include "runtime/text/no_password.hpp"

namespace nomad::access {

namespace {

using KeyRef = std::shared_ptr<EVP_PKEY>;

enum class Scheme : std::uint8_t { rsa_pkcs1, rsa_pss, ecdsa, eddsa };

struct AlgorithmRow {
  std::string_view name;
  Scheme scheme;
  const EVP_MD* (*digest)();
  std::string_view curve;  ///< OpenSSL's name, of ECDSA.
};

constexpr auto no_digest = []() -> const EVP_MD* { return nullptr; };

constexpr std::array<AlgorithmRow, 10> algorithm_rows{{
    {"RS256", Scheme::rsa_pkcs1, EVP_sha256, ""},
    {"RS384", Scheme::rsa_pkcs1, EVP_sha384, ""},
    {"RS512", Scheme::rsa_pkcs1, EVP_sha512, ""},
    {"PS256", Scheme::rsa_pss, EVP_sha256, ""},
    {"PS384", Scheme::rsa_pss, EVP_sha384, ""},
    {"PS512", Scheme::rsa_pss, EVP_sha512, ""},
    {"ES256", Scheme::ecdsa, EVP_sha256, "prime256v1"},
    {"ES384", Scheme::ecdsa, EVP_sha384, "secp384r1"},
    {"ES512", Scheme::ecdsa, EVP_sha512, "secp521r1"},
    {"EdDSA", Scheme::eddsa, no_digest, ""},
}};

const AlgorithmRow* algorithm_named(std::string_view name) {
  const auto* found = std::find_if(algorithm_rows.begin(), algorithm_rows.end(),
                                   [name](const AlgorithmRow& row) { return row.name == name; });
  return found == algorithm_rows.end() ? nullptr : found;
}

std::string curve_of(const EVP_PKEY* key) {
  std::array<char, 64> name{};
  std::size_t size = 0;
  if (EVP_PKEY_get_group_name(key, name.data(), name.size(), &size) != 1) return {};
  return {name.data(), size};
}

/// Whether a key of this kind may have made such signatures.
bool fits_key(const AlgorithmRow& algorithm, const EVP_PKEY* key) {
  switch (algorithm.scheme) {
    case Scheme::rsa_pkcs1:
    case Scheme::rsa_pss:
      return EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA;
    case Scheme::ecdsa:
      return EVP_PKEY_get_base_id(key) == EVP_PKEY_EC && curve_of(key) == algorithm.curve;
    case Scheme::eddsa:
      return EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519;
  }
  return false;
}

bool is_usable(const EVP_PKEY* key) {
  if (EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA) {
    const int bits = EVP_PKEY_get_bits(key);
    return bits >= least_rsa_bits && bits <= most_rsa_bits;
  }
  return std::any_of(algorithm_rows.begin(), algorithm_rows.end(),
                     [key](const AlgorithmRow& row) { return fits_key(row, key); });
}

const unsigned char* ssl_bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

FreedBy<BIGNUM, BN_free> big_number(std::string_view bytes) {
  return FreedBy<BIGNUM, BN_free>{
      BN_bin2bn(ssl_bytes(bytes), static_cast<int>(bytes.size()), nullptr)};
}

/// r and s, one behind the other, as OpenSSL wants them; "" if there is none.
std::string der_signature(const EVP_PKEY* key, std::string_view signature) {
  const auto width = (static_cast<std::size_t>(EVP_PKEY_get_bits(key)) + 7) / 8;
  if (signature.size() != 2 * width) return {};
  auto r = big_number(signature.substr(0, width));
  auto s = big_number(signature.substr(width));
  const FreedBy<ECDSA_SIG, ECDSA_SIG_free> pair{ECDSA_SIG_new()};
  if (!r || !s || !pair || ECDSA_SIG_set0(pair.get(), r.get(), s.get()) != 1) return {};
  static_cast<void>(r.release());
  static_cast<void>(s.release());
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(pair.get(), &der);
  if (size <= 0) return {};
  std::string out{reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)};
  OPENSSL_free(der);
  return out;
}

bool set_pss(EVP_PKEY_CTX* context, const EVP_MD* digest) {
  return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) > 0
         && EVP_PKEY_CTX_set_rsa_mgf1_md(context, digest) > 0
         && EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) > 0;
}

KeyRef pem_certificate_key(std::string_view pem) {
  const FreedBy<BIO, BIO_free> memory{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))};
  const FreedBy<X509, X509_free> certificate{
      PEM_read_bio_X509(memory.get(), nullptr, no_password, nullptr)};
  return certificate ? KeyRef{X509_get_pubkey(certificate.get()), &EVP_PKEY_free} : KeyRef{};
}

/// Also of "RSA PUBLIC KEY".
KeyRef pem_public_key(std::string_view pem) {
  const FreedBy<BIO, BIO_free> memory{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))};
  return KeyRef{PEM_read_bio_PUBKEY(memory.get(), nullptr, no_password, nullptr), &EVP_PKEY_free};
}

KeyRef rsa_pem_key(std::string_view pem) {
  const FreedBy<BIO, BIO_free> memory{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))};
  char* name = nullptr;
  char* header = nullptr;
  unsigned char* data = nullptr;
  long size = 0;
  if (PEM_read_bio(memory.get(), &name, &header, &data, &size) != 1) return {};
  const bool is_rsa = std::string_view{name} == "RSA PUBLIC KEY";
  const unsigned char* at = data;
  KeyRef key;
  if (is_rsa) key = KeyRef{d2i_PublicKey(EVP_PKEY_RSA, nullptr, &at, size), &EVP_PKEY_free};
  OPENSSL_free(name);
  OPENSSL_free(header);
  OPENSSL_free(data);
  return key;
}

/// Made of what `build` gives.
KeyRef key_of(const char* type, OSSL_PARAM_BLD* build) {
  const FreedBy<OSSL_PARAM, OSSL_PARAM_free> parameters{OSSL_PARAM_BLD_to_param(build)};
  const FreedBy<EVP_PKEY_CTX, EVP_PKEY_CTX_free> context{
      EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr)};
  EVP_PKEY* key = nullptr;
  if (!parameters || !context || EVP_PKEY_fromdata_init(context.get()) != 1
      || EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1)
    return {};
  return KeyRef{key, &EVP_PKEY_free};
}

/// Of a set's keys; nobody is told why it is passed over.
Error no_key() {
  return {Errc::invalid_argument, ""};
}

Result<std::string> key_number(const Claims& jwk, std::string_view name, std::size_t most) {
  auto bytes = NOMAD_TRY(decode_jwt_part(text_claim(jwk, name)));
  if (bytes.empty() || bytes.size() > most) return no_key();
  return bytes;
}

Result<KeyRef> rsa_key(const Claims& jwk) {
  const auto modulus = big_number(NOMAD_TRY(key_number(jwk, "n", most_rsa_bits / 8 + 1)));
  const auto exponent = big_number(NOMAD_TRY(key_number(jwk, "e", 8)));
  const FreedBy<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free> build{OSSL_PARAM_BLD_new()};
  OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get());
  OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get());
  return key_of("RSA", build.get());
}

Result<KeyRef> ec_key(const Claims& jwk) {
  const auto curve = text_claim(jwk, "crv");
  const auto* algorithm = algorithm_named(curve == "P-256"   ? "ES256"
                                          : curve == "P-384" ? "ES384"
                                          : curve == "P-521" ? "ES512"
                                                             : "");
  if (algorithm == nullptr) return no_key();
  const std::size_t width = curve == "P-256" ? 32 : curve == "P-384" ? 48 : 66;
  const auto x = NOMAD_TRY(key_number(jwk, "x", width));
  const auto y = NOMAD_TRY(key_number(jwk, "y", width));
  if (x.size() != width || y.size() != width) return no_key();
  const auto point = '\x04' + x + y;
  const FreedBy<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free> build{OSSL_PARAM_BLD_new()};
  OSSL_PARAM_BLD_push_utf8_string(build.get(), OSSL_PKEY_PARAM_GROUP_NAME, algorithm->curve.data(),
                                  algorithm->curve.size());
  OSSL_PARAM_BLD_push_octet_string(build.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                   point.size());
  return key_of("EC", build.get());
}

Result<KeyRef> ed25519_key(const Claims& jwk) {
  if (text_claim(jwk, "crv") != "Ed25519") return no_key();
  const auto x = NOMAD_TRY(key_number(jwk, "x", 32));
  return KeyRef{EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, ssl_bytes(x), x.size()),
                &EVP_PKEY_free};
}

/// Whether it says that it is for something else than to verify.
bool is_for_other_use(const Claims& jwk) {
  const auto use = text_claim(jwk, "use");
  if (!use.empty() && use != "sig") return true;
  const auto* operations = jwk.if_contains("key_ops");
  if (operations == nullptr || !operations->is_array()) return false;
  const auto& all = operations->as_array();
  return std::none_of(all.begin(), all.end(),
                      [](const boost::json::value& one) { return one == "verify"; });
}

Result<PublicKey> read_jwk(const Claims& jwk) {
  const auto type = text_claim(jwk, "kty");
  KeyRef key;
  if (type == "RSA") key = NOMAD_TRY(rsa_key(jwk));
  if (type == "EC") key = NOMAD_TRY(ec_key(jwk));
  if (type == "OKP") key = NOMAD_TRY(ed25519_key(jwk));
  if (!key || !is_usable(key.get())) return no_key();
  auto algorithm = std::string{text_claim(jwk, "alg")};
  if (!algorithm.empty() && !is_signing_algorithm(algorithm)) return no_key();
  return PublicKey{std::move(key), std::string{text_claim(jwk, "kid")}, std::move(algorithm)};
}

}  // namespace

bool is_signing_algorithm(std::string_view name) {
  return algorithm_named(name) != nullptr;
}

std::string signing_algorithms() {
  std::string out;
  for (const auto& row : algorithm_rows)
    out += (out.empty() ? "" : ", ") + std::string{row.name};
  return out;
}

bool PublicKey::verifies(const Jwt& jwt) const {
  const auto* algorithm = algorithm_named(jwt.algorithm);
  if (algorithm == nullptr || !fits_key(*algorithm, key_.get())) return false;
  if (!algorithm_.empty() && algorithm_ != jwt.algorithm) return false;
  auto signature = jwt.signature;
  if (algorithm->scheme == Scheme::ecdsa) signature = der_signature(key_.get(), signature);
  if (signature.empty()) return false;
  const auto* digest = algorithm->digest();
  const FreedBy<EVP_MD_CTX, EVP_MD_CTX_free> context{EVP_MD_CTX_new()};
  EVP_PKEY_CTX* parameters = nullptr;
  const bool is_ready
      = context
        && EVP_DigestVerifyInit(context.get(), &parameters, digest, nullptr, key_.get()) == 1
        && (algorithm->scheme != Scheme::rsa_pss || set_pss(parameters, digest));
  const bool holds = is_ready
                     && EVP_DigestVerify(context.get(), ssl_bytes(signature), signature.size(),
                                         ssl_bytes(jwt.signed_part), jwt.signed_part.size())
                            == 1;
  ERR_clear_error();
  return holds;
}

Result<PublicKey> read_pem_key(std::string_view pem) {
  if (pem.size() > longest_pem_key) return Error{Errc::too_large, "the key is too long"};
  auto key = pem_public_key(pem);
  if (!key) key = pem_certificate_key(pem);
  if (!key) key = rsa_pem_key(pem);
  ERR_clear_error();
  if (!key)
    return Error{Errc::invalid_argument,
                 "data does not contain any valid RSA or ECDSA public keys"};
  if (!is_usable(key.get()))
    return Error{Errc::invalid_argument,
                 "the key must be RSA of 2048 to 16384 bits, EC of P-256, P-384 or P-521, or "
                 "Ed25519"};
  return PublicKey{std::move(key)};
}

Result<PublicKeys> read_jwks(std::string_view json) {
  constexpr std::size_t most_values = 64 * most_public_keys;
  const auto set = NOMAD_TRY(read_claims(json, most_values));
  const auto* listed = set.if_contains("keys");
  if (listed == nullptr || !listed->is_array())
    return Error{Errc::invalid_argument, "the key set has no keys"};
  const auto& all = listed->as_array();
  if (all.size() > most_public_keys) return Error{Errc::too_large, "the key set has too many keys"};
  PublicKeys keys;
  for (const auto& one : all) {
    if (!one.is_object() || is_for_other_use(one.as_object())) continue;
    if (auto key = read_jwk(one.as_object())) keys.push_back(std::move(*key));
    ERR_clear_error();
  }
  if (keys.empty()) return Error{Errc::invalid_argument, "the key set has no key that verifies"};
  return keys;
}

bool is_signed_by(const PublicKeys& keys, const Jwt& jwt) {
  return std::any_of(keys.begin(), keys.end(), [&jwt](const PublicKey& key) {
    const bool is_named = !jwt.key_id.empty() && !key.id().empty();
    return (!is_named || key.id() == jwt.key_id) && key.verifies(jwt);
  });
}

}  // namespace nomad::access
