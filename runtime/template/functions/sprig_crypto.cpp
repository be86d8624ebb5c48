// sprig: passwords, keys, certificates and encryption.
//
// What takes long costs work, so that a rendering ends after some seconds at most; what comes out
// is as secret as variables are. Tests: crypto_test, with the certificates, keys and bcrypt below
// it.
#include <array>
#include <limits>

#include <openssl/kdf.h>

#include "runtime/base/base64.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/template/eval/bind.hpp"
#include "runtime/template/functions/certificates/certificate.hpp"
#include "runtime/template/functions/families.hpp"
#include "runtime/template/functions/shared.hpp"
#include "runtime/text/bcrypt.hpp"
#include "runtime/text/digest.hpp"

namespace nomad::templates::sprig_crypto_family {
namespace {

// Work: as much as is done with bytes meanwhile, some 40 MiB in a tenth of a second. Nothing stops
// one of these.
constexpr std::uint64_t bcrypt_work = std::uint64_t{40} << 20U;
constexpr std::uint64_t scrypt_work = std::uint64_t{80} << 20U;
constexpr std::uint64_t curve_key_work = std::uint64_t{1} << 20U;
constexpr std::uint64_t signature_work = std::uint64_t{20} << 20U;

std::string secret(Context& context, std::string text) {
  context.secrets().insert(text);
  return text;
}

// --- passwords -----------------------------------------------------------------------------------

/// sprig's answers an error as text.
Result<std::string> bcrypt_hash(Context& context, std::string_view password) {
  NOMAD_TRY(context.work().take_at_once(bcrypt_work));
  const auto salt = NOMAD_TRY(context.sources())->random(16);
  const auto hash = bcrypt(password, bcrypt_default_cost, salt);
  if (!hash) return "failed to encrypt string with bcrypt: " + hash.error().what;
  return secret(context, *hash);
}

Result<std::string> htpasswd(Context& context, std::string_view user, std::string_view password) {
  if (user.find(':') != std::string_view::npos) return "invalid username: " + std::string{user};
  return std::string{user} + ":" + NOMAD_TRY(bcrypt_hash(context, password));
}

/// The patterns of the Master Password algorithm.
std::span<const std::string_view> patterns_of(std::string_view type) {
  static constexpr std::string_view maximum[] = {"anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"};
  static constexpr std::string_view long_ones[]
      = {"CvcvnoCvcvCvcv", "CvcvCvcvnoCvcv", "CvcvCvcvCvcvno", "CvccnoCvcvCvcv", "CvccCvcvnoCvcv",
         "CvccCvcvCvcvno", "CvcvnoCvccCvcv", "CvcvCvccnoCvcv", "CvcvCvccCvcvno", "CvcvnoCvcvCvcc",
         "CvcvCvcvnoCvcc", "CvcvCvcvCvccno", "CvccnoCvccCvcv", "CvccCvccnoCvcv", "CvccCvccCvcvno",
         "CvcvnoCvccCvcc", "CvcvCvccnoCvcc", "CvcvCvccCvccno", "CvccnoCvcvCvcc", "CvccCvcvnoCvcc",
         "CvccCvcvCvccno"};
  static constexpr std::string_view medium[] = {"CvcnoCvc", "CvcCvcno"};
  static constexpr std::string_view short_ones[] = {"Cvcn"};
  static constexpr std::string_view basic[] = {"aaanaaan", "aannaaan", "aaannaaa"};
  static constexpr std::string_view pin[] = {"nnnn"};
  if (type == "maximum") return maximum;
  if (type == "long") return long_ones;
  if (type == "medium") return medium;
  if (type == "short") return short_ones;
  if (type == "basic") return basic;
  if (type == "pin") return pin;
  return {};
}

std::string_view letters_of(char kind) {
  switch (kind) {
    case 'V':
      return "AEIOU";
    case 'C':
      return "BCDFGHJKLMNPQRSTVWXYZ";
    case 'v':
      return "aeiou";
    case 'c':
      return "bcdfghjklmnpqrstvwxyz";
    case 'a':
      return "AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz";
    case 'n':
      return "0123456789";
    case 'o':
      return "@&%?,=[]_:-+*$#!'^~;()/.";
    default:
      return "AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()";
  }
}

std::string big_endian(std::uint64_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8)
    out += static_cast<char>(value >> static_cast<unsigned>(shift) & 0xFFU);
  return out;
}

constexpr std::string_view master_seed = "com.lyndir.masterpassword";

Result<std::string> derive_password(Context& context,
                                    std::int64_t counter,
                                    std::string_view type,
                                    std::string_view password,
                                    std::string_view user,
                                    std::string_view site) {
  if (counter < 0 || counter > std::numeric_limits<std::uint32_t>::max())
    return function_error("the counter is from 0 to 4294967295");
  const auto patterns = patterns_of(type);
  if (patterns.empty()) return "cannot find password template " + std::string{type};
  NOMAD_TRY(context.work().take_at_once(scrypt_work));
  const std::string seed{master_seed};
  const std::string salt = seed + big_endian(user.size()) + std::string{user};
  std::array<unsigned char, 64> key{};
  constexpr std::uint64_t memory = std::uint64_t{64} << 20U;
  if (EVP_PBE_scrypt(password.data(), password.size(),
                     reinterpret_cast<const unsigned char*>(salt.data()), salt.size(), 32768, 8, 2,
                     memory, key.data(), key.size())
      != 1)
    return function_error("failed to derive password");
  const std::string digits = hmac_sha256({reinterpret_cast<const char*>(key.data()), key.size()},
                                         seed + big_endian(site.size()) + std::string{site}
                                             + big_endian(static_cast<std::uint64_t>(counter)));
  const auto digit = [&digits](std::size_t at) { return static_cast<unsigned char>(digits[at]); };
  const std::string_view pattern = patterns[digit(0) % patterns.size()];
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const auto letters = letters_of(pattern[i]);
    out += letters[digit(i + 1) % letters.size()];
  }
  return secret(context, std::move(out));
}

// --- keys and certificates -----------------------------------------------------------------------

Result<PrivateKey> new_key(Context& context, KeyKind kind, unsigned bits) {
  NOMAD_TRY(context.work().take_at_once(curve_key_work));  // of others more, as they are made
  return make_key(kind, context.work(), bits);
}

Result<std::string> private_key(Context& context, std::string_view type) {
  KeyKind kind = KeyKind::rsa;
  if (type == "dsa")
    kind = KeyKind::dsa;
  else if (type == "ecdsa")
    kind = KeyKind::ecdsa;
  else if (type == "ed25519")
    kind = KeyKind::ed25519;
  else if (!type.empty() && type != "rsa")
    return "Unknown type " + std::string{type};
  const auto key = NOMAD_TRY(new_key(context, kind, kind == KeyKind::rsa ? 4096 : 0));
  return secret(context, NOMAD_TRY(write_key(key)));
}

constexpr Field certificate_fields[] = {{"Cert", &types::text}, {"Key", &types::text}};
constexpr Type certificate_type{
    .kind = Kind::structure, .name = "sprig.certificate", .fields = certificate_fields};

using Texts = As<types::any_list>;
using Pair = As<certificate_type>;

CertificatePair pair_of(const Value& value) {
  return {std::string{value.fields()[0].as_text()}, std::string{value.fields()[1].as_text()}};
}

Result<Value> give(Context& context, const CertificatePair& pair) {
  NOMAD_TRY(context.make(pair.certificate.size() + pair.key.size()));
  return Value::structure(certificate_type,
                          {Value::text(pair.certificate), Value::text(secret(context, pair.key))});
}

Result<std::vector<std::string>> only_texts(Context& context,
                                            const Value& list,
                                            std::string_view what) {
  std::vector<std::string> out;
  for (const Value& item : list.items()) {
    if (item.kind() != Kind::text)
      return function_error(std::string{what} + ": " + NOMAD_TRY(text_of(context, item))
                            + " is not a string");
    out.emplace_back(item.as_text());
  }
  return out;
}

Result<CertificateSpec> spec_of(Context& context, std::string_view common_name, std::int64_t days) {
  NOMAD_TRY(context.work().take_at_once(signature_work));
  Sources& sources = *NOMAD_TRY(context.sources());
  return CertificateSpec{.common_name = common_name,
                         .days = days,
                         .now = sources.now() / 1'000'000'000,
                         .serial = sources.random(16)};
}

Result<CertificateSpec> spec_of(Context& context,
                                std::string_view common_name,
                                const Texts& addresses,
                                const Texts& names,
                                std::int64_t days) {
  auto spec = NOMAD_TRY(spec_of(context, common_name, days));
  NOMAD_TRY(context.step(addresses->size() + names->size()));
  spec.addresses = NOMAD_TRY(only_texts(context, *addresses, "error parsing ip"));
  spec.names = NOMAD_TRY(only_texts(context, *names, "error processing alternate dns name"));
  return spec;
}

Result<PrivateKey> own_key(Context& context) {
  return new_key(context, KeyKind::rsa, 2048);
}

Result<PrivateKey> given_key(std::string_view pem) {
  return read_key(pem).within("parsing private key");
}

Result<Value> authority_of(Context& context,
                           std::string_view name,
                           std::int64_t days,
                           const PrivateKey& key) {
  auto spec = NOMAD_TRY(spec_of(context, name, days));
  spec.is_authority = true;
  return give(context, NOMAD_TRY(self_signed(spec, key)));
}

Result<Value> authority(Context& context, std::string_view name, std::int64_t days) {
  return authority_of(context, name, days, NOMAD_TRY(own_key(context)));
}

Result<Value> authority_with_key(Context& context,
                                 std::string_view name,
                                 std::int64_t days,
                                 std::string_view pem) {
  return authority_of(context, name, days, NOMAD_TRY(given_key(pem)));
}

/// Of `authority`, or without one of its own key.
Result<Value> certificate_of(Context& context,
                             const Result<CertificateSpec>& spec,
                             const PrivateKey& key,
                             const Pair* authority = nullptr) {
  if (!spec) return spec.error();
  return give(context,
              NOMAD_TRY(authority == nullptr ? self_signed(*spec, key)
                                             : signed_by(pair_of(**authority), *spec, key)));
}

Result<Value> own_certificate(
    Context& context, std::string_view name, Texts addresses, Texts names, std::int64_t days) {
  const auto key = NOMAD_TRY(own_key(context));
  return certificate_of(context, spec_of(context, name, addresses, names, days), key);
}

Result<Value> own_certificate_with_key(Context& context,
                                       std::string_view name,
                                       Texts addresses,
                                       Texts names,
                                       std::int64_t days,
                                       std::string_view pem) {
  const auto key = NOMAD_TRY(given_key(pem));
  return certificate_of(context, spec_of(context, name, addresses, names, days), key);
}

Result<Value> signed_certificate(Context& context,
                                 std::string_view name,
                                 Texts addresses,
                                 Texts names,
                                 std::int64_t days,
                                 Pair authority) {
  const auto key = NOMAD_TRY(own_key(context));
  return certificate_of(context, spec_of(context, name, addresses, names, days), key, &authority);
}

Result<Value> signed_certificate_with_key(Context& context,
                                          std::string_view name,
                                          Texts addresses,
                                          Texts names,
                                          std::int64_t days,
                                          Pair authority,
                                          std::string_view pem) {
  const auto key = NOMAD_TRY(given_key(pem));
  return certificate_of(context, spec_of(context, name, addresses, names, days), key, &authority);
}

Result<Value> custom_certificate(Context& context,
                                 std::string_view certificate,
                                 std::string_view key) {
  const auto decoded = decode_base64(certificate);
  if (!decoded) return function_error("unable to decode base64 certificate");
  const auto decoded_key = decode_base64(key);
  if (!decoded_key) return function_error("unable to decode base64 private key");
  const CertificatePair pair{*decoded, *decoded_key};
  NOMAD_TRY(check_pair(pair));
  return give(context, pair);
}

// --- encryption ----------------------------------------------------------------------------------

constexpr std::size_t block_size = 16;

struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};

/// AES-256 in CBC; of whole blocks. The key is the password, cut off or filled up with zeros.
std::string transform(std::string_view password,
                      std::string_view vector,
                      std::string_view blocks,
                      bool encrypts) {
  const auto bytes
      = [](std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); };
  std::string key{password};
  key.resize(32);
  std::string out(blocks.size(), '\0');
  const std::unique_ptr<EVP_CIPHER_CTX, FreeCipher> context{EVP_CIPHER_CTX_new()};
  int size = 0;
  if (EVP_CipherInit_ex(context.get(), EVP_aes_256_cbc(), nullptr, bytes(key), bytes(vector),
                        encrypts ? 1 : 0)
          != 1
      || EVP_CIPHER_CTX_set_padding(context.get(), 0) != 1
      || EVP_CipherUpdate(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size,
                          bytes(blocks), static_cast<int>(blocks.size()))
             != 1)
    out.clear();
  return out;
}

Result<std::string> encrypt_aes(Context& context,
                                std::string_view password,
                                std::string_view plain) {
  if (plain.empty()) return "";
  NOMAD_TRY(context.make(2 * plain.size()));
  const std::string vector = NOMAD_TRY(context.sources())->random(block_size);
  const std::size_t padding = block_size - plain.size() % block_size;
  const std::string padded = std::string{plain} + std::string(padding, static_cast<char>(padding));
  return encode_base64(vector + transform(password, vector, padded, true));
}

Result<std::string> decrypt_aes(Context& context,
                                std::string_view password,
                                std::string_view encrypted) {
  if (encrypted.empty()) return "";
  NOMAD_TRY(context.make(2 * encrypted.size()));
  const std::string bytes = NOMAD_TRY(decode_base64(encrypted));
  if (bytes.size() < 2 * block_size || bytes.size() % block_size != 0)
    return function_error("crypto/cipher: input not full blocks");
  const std::string_view all = bytes;
  std::string plain = transform(password, all.substr(0, block_size), all.substr(block_size), false);
  const auto padding = plain.empty() ? 0U : static_cast<unsigned char>(plain.back());
  if (padding == 0 || padding > plain.size())
    return function_error("the password is not the one it was encrypted with");
  plain.resize(plain.size() - padding);
  return secret(context, std::move(plain));
}

}  // namespace

std::span<const Function> functions() {
  static const Function table[] = {
      bind<bcrypt_hash>("sprig_bcrypt"),
      bind<htpasswd>("sprig_htpasswd"),
      bind<derive_password>("sprig_derivePassword"),
      bind<private_key>("sprig_genPrivateKey"),
      bind<custom_certificate>("sprig_buildCustomCert"),
      bind<authority>("sprig_genCA"),
      bind<authority_with_key>("sprig_genCAWithKey"),
      bind<own_certificate>("sprig_genSelfSignedCert"),
      bind<own_certificate_with_key>("sprig_genSelfSignedCertWithKey"),
      bind<signed_certificate>("sprig_genSignedCert"),
      bind<signed_certificate_with_key>("sprig_genSignedCertWithKey"),
      bind<encrypt_aes>("sprig_encryptAES"),
      bind<decrypt_aes>("sprig_decryptAES"),
  };
  return table;
}

}  // namespace nomad::templates::sprig_crypto_family
