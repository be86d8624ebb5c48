#include "runtime/template/functions/certificates/certificate.hpp"

#include <arpa/inet.h>

#include <openssl/bn.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "runtime/template/eval/context.hpp"
#include "runtime/text/no_password.hpp"

namespace nomad::templates {

namespace {

struct FreeOpenSsl {
  void operator()(X509* it) const { X509_free(it); }

  void operator()(BIO* it) const { BIO_free(it); }

  void operator()(BIGNUM* it) const { BN_free(it); }

  void operator()(GENERAL_NAMES* it) const { GENERAL_NAMES_free(it); }
};

template <class T>
using Owned = std::unique_ptr<T, FreeOpenSsl>;

Error not_made(std::string_view why) {
  return function_error("error creating certificate: " + std::string{why});
}

bool set_name(X509* certificate, std::string_view common_name) {
  // Of this type a name may be longer than OpenSSL's table says.
  return X509_NAME_add_entry_by_NID(X509_get_subject_name(certificate), NID_commonName,
                                    V_ASN1_UTF8STRING,
                                    reinterpret_cast<const unsigned char*>(common_name.data()),
                                    static_cast<int>(common_name.size()), -1, 0)
         == 1;
}

bool set_serial(X509* certificate, std::string_view bytes) {
  const Owned<BIGNUM> number{BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                                       static_cast<int>(bytes.size()), nullptr)};
  return number != nullptr
         && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_times(X509* certificate, const CertificateSpec& spec) {
  constexpr std::int64_t seconds_per_day = 86'400;
  return ASN1_TIME_set(X509_getm_notBefore(certificate), spec.now) != nullptr
         && ASN1_TIME_set(X509_getm_notAfter(certificate), spec.now + spec.days * seconds_per_day)
                != nullptr;
}

bool add_name(GENERAL_NAMES* names, int type, std::string_view content) {
  ASN1_STRING* text = type == GEN_DNS ? ASN1_IA5STRING_new() : ASN1_OCTET_STRING_new();
  GENERAL_NAME* name = GENERAL_NAME_new();
  if (text == nullptr || name == nullptr
      || ASN1_STRING_set(text, content.data(), static_cast<int>(content.size())) != 1) {
    ASN1_STRING_free(text);
    GENERAL_NAME_free(name);
    return false;
  }
  GENERAL_NAME_set0_value(name, type, text);
  if (sk_GENERAL_NAME_push(names, name) > 0) return true;
  GENERAL_NAME_free(name);
  return false;
}

/// The bytes of an address; nothing of what is none.
std::string address_bytes(const std::string& address) {
  std::string bytes(16, '\0');
  if (inet_pton(AF_INET, address.c_str(), bytes.data()) == 1) return bytes.substr(0, 4);
  return inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1 ? bytes : std::string{};
}

Result<> add_alternatives(X509* certificate, const CertificateSpec& spec) {
  const Owned<GENERAL_NAMES> all{GENERAL_NAMES_new()};
  for (const auto& name : spec.names)
    if (!add_name(all.get(), GEN_DNS, name)) return not_made("a DNS name can't be held");
  for (const auto& address : spec.addresses) {
    const std::string bytes = address_bytes(address);
    if (bytes.empty()) return function_error("error parsing ip: " + address);
    if (!add_name(all.get(), GEN_IPADD, bytes)) return not_made("an address can't be held");
  }
  if (sk_GENERAL_NAME_num(all.get()) > 0
      && X509_add1_ext_i2d(certificate, NID_subject_alt_name, all.get(), 0, 0) != 1)
    return not_made("the alternative names can't be held");
  return {};
}

bool add_extension(X509* certificate, X509* issuer, int id, const char* content) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, id, content);
  const bool done = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return done;
}

bool add_extensions(X509* certificate, X509* issuer, bool is_authority) {
  const bool has_issuers_key = X509_get0_subject_key_id(issuer) != nullptr;
  return add_extension(certificate, issuer, NID_key_usage,
                       is_authority ? "critical,digitalSignature,keyEncipherment,keyCertSign"
                                    : "critical,digitalSignature,keyEncipherment")
         && add_extension(certificate, issuer, NID_ext_key_usage, "serverAuth,clientAuth")
         && add_extension(certificate, issuer, NID_basic_constraints,
                          is_authority ? "critical,CA:TRUE" : "critical,CA:FALSE")
         && (!is_authority
             || add_extension(certificate, issuer, NID_subject_key_identifier, "hash"))
         && (!has_issuers_key
             || add_extension(certificate, issuer, NID_authority_key_identifier, "keyid"));
}

Result<std::string> write_certificate(X509* certificate) {
  const Owned<BIO> out{BIO_new(BIO_s_mem())};
  if (PEM_write_bio_X509(out.get(), certificate) != 1) return not_made("it can't be written");
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return std::string{text, static_cast<std::size_t>(size)};
}

Owned<X509> read_certificate(const std::string& pem) {
  const Owned<BIO> in{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))};
  return Owned<X509>{PEM_read_bio_X509(in.get(), nullptr, no_password, nullptr)};
}

/// `issuer` is null where it is the certificate itself.
Result<CertificatePair> make(const CertificateSpec& spec,
                             const PrivateKey& key,
                             X509* issuer,
                             const PrivateKey& issuers_key) {
  constexpr std::int64_t most_days = 365 * 1000;
  if (spec.days > most_days || spec.days < -most_days)
    return not_made("so many days can't be told");
  const Owned<X509> certificate{X509_new()};
  X509* const made = certificate.get();
  if (issuer == nullptr) issuer = made;
  if (made == nullptr || X509_set_version(made, X509_VERSION_3) != 1
      || !set_serial(made, spec.serial) || !set_times(made, spec)
      || !set_name(made, spec.common_name) || X509_set_pubkey(made, key.get()) != 1
      || X509_set_issuer_name(made, X509_get_subject_name(issuer)) != 1)
    return not_made("its fields can't be held");
  if (X509_check_private_key(issuer, issuers_key.get()) != 1)
    return not_made("x509: provided PrivateKey doesn't match parent's PublicKey");
  if (!add_extensions(made, issuer, spec.is_authority))
    return not_made("its extensions can't be held");
  NOMAD_TRY(add_alternatives(made, spec));
  const bool has_own_digest = EVP_PKEY_get_base_id(issuers_key.get()) == EVP_PKEY_ED25519;
  if (EVP_PKEY_get_base_id(issuers_key.get()) == EVP_PKEY_DSA)
    return not_made("x509: only RSA, ECDSA and Ed25519 keys supported");
  if (X509_sign(made, issuers_key.get(), has_own_digest ? nullptr : EVP_sha256()) <= 0)
    return not_made("the key does not sign");
  return CertificatePair{NOMAD_TRY(write_certificate(made)), NOMAD_TRY(write_key(key))};
}

}  // namespace

Result<CertificatePair> self_signed(const CertificateSpec& spec, const PrivateKey& key) {
  return make(spec, key, nullptr, key);
}

Result<CertificatePair> signed_by(const CertificatePair& authority,
                                  const CertificateSpec& spec,
                                  const PrivateKey& key) {
  const auto issuer = read_certificate(authority.certificate);
  if (issuer == nullptr) return function_error("unable to decode certificate");
  const auto issuers_key = NOMAD_TRY(read_key(authority.key).within("error parsing private key"));
  return make(spec, key, issuer.get(), issuers_key);
}

Result<> check_pair(const CertificatePair& pair) {
  if (read_certificate(pair.certificate) == nullptr)
    return function_error("unable to decode certificate");
  NOMAD_TRY(read_key(pair.key).within("error parsing private key"));
  return {};
}

}  // namespace nomad::templates
