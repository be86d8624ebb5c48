#include "runtime/net/tls/certificate.hpp"

#include <ctime>
#include <memory>

#include <arpa/inet.h>

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "runtime/base/ip_network.hpp"
#include "runtime/base/text.hpp"
#include "runtime/net/tls/openssl_reason.hpp"

namespace nomad::net {
namespace {

template <class T, void (*Free)(T*)>
struct Freer {
  void operator()(T* value) const { Free(value); }
};

using Certificate = std::unique_ptr<X509, Freer<X509, X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY, EVP_PKEY_free>>;
using Number = std::unique_ptr<BIGNUM, Freer<BIGNUM, BN_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, Freer<GENERAL_NAMES, GENERAL_NAMES_free>>;

struct BioFree {
  void operator()(BIO* bio) const { BIO_free(bio); }
};

using Bio = std::unique_ptr<BIO, BioFree>;

Error failure(const std::string& what) {
  const auto reason = openssl_reason(ERR_peek_last_error());
  ERR_clear_error();
  return {Errc::internal, what + ": " + reason};
}

Bio reader(const std::string& text) {
  return Bio{BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string free_text(char* text) {
  std::string copy = text != nullptr ? text : "";
  OPENSSL_free(text);
  return copy;
}

Result<Certificate> parse_certificate(const std::string& pem) {
  const auto bio = reader(pem);
  Certificate certificate{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)};
  if (!certificate) return failure("parsing the certificate");
  return certificate;
}

std::string subject_of(const X509_NAME* name) {
  const int position = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
  if (position < 0) return {};
  const auto* value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, position));
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
          static_cast<std::size_t>(ASN1_STRING_length(value))};
}

void add_name(X509_NAME* name, const char* field, const std::string& value) {
  if (!value.empty())
    X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(value.c_str()), -1, -1, 0);
}

Result<> add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  auto* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  if (extension == nullptr) return failure("the certificate's " + std::string{OBJ_nid2sn(kind)});
  const bool added = X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  if (!added) return failure("the certificate's " + std::string{OBJ_nid2sn(kind)});
  return {};
}

/// A certificate with its own key, a random serial number, and the time from now on.
struct Blank {
  Certificate certificate;
  Key key;
  std::string serial;
};

Result<Blank> make_blank(int days) {
  Blank blank{Certificate{X509_new()}, Key{EVP_EC_gen("P-256")}, {}};
  if (!blank.certificate || !blank.key) return failure("making a key");
  const Number serial{BN_new()};
  if (!serial || BN_rand(serial.get(), 127, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) != 1)
    return failure("drawing a serial number");
  blank.serial = free_text(BN_bn2dec(serial.get()));
  auto* certificate = blank.certificate.get();
  BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate));
  X509_set_version(certificate, X509_VERSION_3);
  X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
  X509_time_adj_ex(X509_getm_notAfter(certificate), days, 0, nullptr);
  X509_set_pubkey(certificate, blank.key.get());
  return blank;
}

Result<CertifiedKey> sign(Blank blank, EVP_PKEY* signer) {
  if (X509_sign(blank.certificate.get(), signer, EVP_sha256()) == 0)
    return failure("signing the certificate");
  const Bio certificate{BIO_new(BIO_s_mem())};
  const Bio key{BIO_new(BIO_s_mem())};
  if (PEM_write_bio_X509(certificate.get(), blank.certificate.get()) != 1
      || PEM_write_bio_PrivateKey_traditional(key.get(), blank.key.get(), nullptr, nullptr, 0,
                                              nullptr, nullptr)
             != 1)
    return failure("writing the certificate");
  return CertifiedKey{text_of(certificate.get()), text_of(key.get())};
}

/// Names come from flags: a comma in one would start another extension field.
Result<std::string> alternative_names(const CertificateOptions& options) {
  std::vector<std::string> parts;
  for (const auto& name : options.dns_names) {
    if (name.empty() || name.find_first_of(",:/ \n") != std::string::npos)
      return Error{Errc::invalid_argument, "\"" + name + "\" is no DNS name"};
    parts.push_back("DNS:" + name);
  }
  for (const auto& address : options.ip_addresses) {
    if (!is_ip_address(address))
      return Error{Errc::invalid_argument, "\"" + address + "\" is no IP address"};
    parts.push_back("IP:" + address);
  }
  return join(parts, ",");
}

Result<> verify(X509* authority, X509* certificate) {
  const std::unique_ptr<X509_STORE, Freer<X509_STORE, X509_STORE_free>> store{X509_STORE_new()};
  const std::unique_ptr<X509_STORE_CTX, Freer<X509_STORE_CTX, X509_STORE_CTX_free>> context{
      X509_STORE_CTX_new()};
  if (!store || !context || X509_STORE_add_cert(store.get(), authority) != 1
      || X509_STORE_CTX_init(context.get(), store.get(), certificate, nullptr) != 1)
    return failure("verifying the certificate");
  if (X509_verify_cert(context.get()) == 1) return {};
  ERR_clear_error();
  return Error{Errc::invalid_argument,
               std::string{"the CA does not vouch for the certificate: "}
                   + X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()))};
}

}  // namespace

Result<CertifiedKey> make_authority(const AuthorityOptions& options) {
  auto blank = NOMAD_TRY(make_blank(options.days));
  auto* certificate = blank.certificate.get();
  auto* name = X509_get_subject_name(certificate);
  add_name(name, "C", options.country);
  add_name(name, "ST", options.province);
  add_name(name, "L", options.locality);
  add_name(name, "street", options.street_address);
  add_name(name, "postalCode", options.postal_code);
  add_name(name, "O", options.organization);
  add_name(name, "OU", options.organizational_unit);
  add_name(name, "CN", options.common_name + ' ' + blank.serial);
  X509_set_issuer_name(certificate, name);
  NOMAD_TRY(add_extension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE"));
  NOMAD_TRY(add_extension(certificate, certificate, NID_key_usage,
                          "critical,digitalSignature,keyCertSign,cRLSign"));
  NOMAD_TRY(add_extension(certificate, certificate, NID_subject_key_identifier, "hash"));
  NOMAD_TRY(add_extension(certificate, certificate, NID_authority_key_identifier, "keyid:always"));
  if (!options.permitted_domains.empty()) {
    std::vector<std::string> parts{"critical"};
    for (const auto& domain : options.permitted_domains) {
      if (domain.empty() || domain.find_first_of(",:; \n") != std::string::npos)
        return Error{Errc::invalid_argument, "\"" + domain + "\" is no DNS name"};
      parts.push_back("permitted;DNS:" + domain);
    }
    NOMAD_TRY(add_extension(certificate, certificate, NID_name_constraints, join(parts, ",")));
  }
  auto* key = blank.key.get();
  return sign(std::move(blank), key);
}

Result<CertifiedKey> make_certificate(const CertifiedKey& authority,
                                      const CertificateOptions& options) {
  auto issuer = NOMAD_TRY(parse_certificate(authority.certificate).within("the CA"));
  const auto key_text = reader(authority.key);
  const Key signer{PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr)};
  if (!signer) return failure("parsing the CA's key");
  if (X509_check_private_key(issuer.get(), signer.get()) != 1)
    return Error{Errc::invalid_argument, "the CA's key is not that of its certificate"};
  auto blank = NOMAD_TRY(make_blank(options.days));
  auto* certificate = blank.certificate.get();
  add_name(X509_get_subject_name(certificate), "CN", options.common_name);
  X509_set_issuer_name(certificate, X509_get_subject_name(issuer.get()));
  const auto names = alternative_names(options);
  if (!names) return names.error();
  NOMAD_TRY(add_extension(certificate, issuer.get(), NID_basic_constraints, "critical,CA:FALSE"));
  NOMAD_TRY(add_extension(certificate, issuer.get(), NID_key_usage,
                          "critical,digitalSignature,keyEncipherment"));
  NOMAD_TRY(add_extension(certificate, issuer.get(), NID_ext_key_usage, "serverAuth,clientAuth"));
  NOMAD_TRY(add_extension(certificate, issuer.get(), NID_subject_key_identifier, "hash"));
  NOMAD_TRY(add_extension(certificate, issuer.get(), NID_authority_key_identifier, "keyid:always"));
  if (!names->empty())
    NOMAD_TRY(add_extension(certificate, issuer.get(), NID_subject_alt_name, *names));
  auto made = sign(std::move(blank), signer.get());
  if (!made) return made;
  const auto parsed = NOMAD_TRY(parse_certificate(made->certificate));
  NOMAD_TRY(verify(issuer.get(), parsed.get()));
  return made;
}

namespace {

void describe_names(const GENERAL_NAME* name, CertificateText& text) {
  if (name->type == GEN_DNS) {
    text.dns_names.emplace_back(
        reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
        static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName)));
  } else if (name->type == GEN_IPADD) {
    char buffer[INET6_ADDRSTRLEN] = {};
    const int size = ASN1_STRING_length(name->d.iPAddress);
    if ((size == 4 || size == 16)
        && inet_ntop(size == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(name->d.iPAddress),
                     buffer, sizeof buffer)
               != nullptr)
      text.ip_addresses.emplace_back(buffer);
  }
}

void describe_constraints(const X509* certificate, CertificateText& text) {
  auto* constraints = static_cast<NAME_CONSTRAINTS*>(
      X509_get_ext_d2i(certificate, NID_name_constraints, nullptr, nullptr));
  if (constraints == nullptr) return;
  text.has_name_constraints = true;
  for (int i = 0; i < sk_GENERAL_SUBTREE_num(constraints->permittedSubtrees); ++i) {
    const auto* base = sk_GENERAL_SUBTREE_value(constraints->permittedSubtrees, i)->base;
    if (base->type == GEN_DNS)
      text.permitted_domains.emplace_back(
          reinterpret_cast<const char*>(ASN1_STRING_get0_data(base->d.dNSName)),
          static_cast<std::size_t>(ASN1_STRING_length(base->d.dNSName)));
  }
  NAME_CONSTRAINTS_free(constraints);
}

}  // namespace

Result<CertificateText> describe_certificate(const std::string& pem) {
  auto parsed = NOMAD_TRY(parse_certificate(pem));
  const auto* certificate = parsed.get();
  CertificateText text;
  const Number serial{ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr)};
  if (serial) text.serial = free_text(BN_bn2dec(serial.get()));
  text.issuer = subject_of(X509_get_issuer_name(certificate));
  text.common_name = subject_of(X509_get_subject_name(certificate));
  std::tm time{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &time) == 1) {
    char buffer[64] = {};
    std::strftime(buffer, sizeof buffer, "%Y-%m-%d %H:%M:%S +0000 UTC", &time);
    text.not_after = buffer;
  }
  text.is_authority = X509_check_ca(parsed.get()) == 1;
  const Names names{static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr))};
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i)
    describe_names(sk_GENERAL_NAME_value(names.get(), i), text);
  describe_constraints(certificate, text);
  return text;
}

}  // namespace nomad::net
