#include "runtime/template/functions/certificates/private_key.hpp"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "runtime/template/eval/context.hpp"

namespace nomad::templates {

namespace {

constexpr int most_key_bits = 8192;

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};

struct FreeKeyContext {
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
};

using Bio = std::unique_ptr<BIO, FreeBio>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, FreeKeyContext>;

/// A PEM block: its type, and its bytes.
struct PemBlock {
  std::string type;
  std::string bytes;
};

std::optional<PemBlock> first_block(std::string_view pem) {
  const Bio in{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))};
  char* name = nullptr;
  char* header = nullptr;
  unsigned char* data = nullptr;
  long size = 0;
  if (in == nullptr || PEM_read_bio(in.get(), &name, &header, &data, &size) != 1)
    return std::nullopt;
  PemBlock block{name, {reinterpret_cast<const char*>(data), static_cast<std::size_t>(size)}};
  OPENSSL_free(name);
  OPENSSL_free(header);
  OPENSSL_clear_free(data, static_cast<std::size_t>(size));
  return block;
}

PrivateKey key_of(int type, const std::string& bytes) {
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto size = static_cast<long>(bytes.size());
  if (type != EVP_PKEY_NONE) return PrivateKey{d2i_PrivateKey(type, nullptr, &at, size)};
  PKCS8_PRIV_KEY_INFO* info = d2i_PKCS8_PRIV_KEY_INFO(nullptr, &at, size);
  PrivateKey key{info == nullptr ? nullptr : EVP_PKCS82PKEY(info)};
  PKCS8_PRIV_KEY_INFO_free(info);
  return key;
}

/// The search for a prime goes on as long as there is work for one more candidate.
struct Search {
  Work& work;
  std::uint64_t of_candidate;

  /// What a test of one takes: a millisecond with 2048 bits, and it grows by the square at least.
  Search(Work& taken_from, std::uint64_t prime_bits)
      : work{taken_from}, of_candidate{prime_bits * prime_bits / 8} {}

  void watch(EVP_PKEY_CTX* context) {
    EVP_PKEY_CTX_set_app_data(context, this);
    EVP_PKEY_CTX_set_cb(context, [](EVP_PKEY_CTX* at) -> int {
      constexpr int candidate_is_tested = 1;  // BN_GENCB's
      if (EVP_PKEY_CTX_get_keygen_info(at, 0) != candidate_is_tested) return 1;
      auto& self = *static_cast<Search*>(EVP_PKEY_CTX_get_app_data(at));
      return self.work.take(self.of_candidate).has_value() ? 1 : 0;
    });
  }
};

/// What was made with `parameters` as a pattern, or of `kind` alone.
PrivateKey generated(const KeyContext& context, int bits, Search* search = nullptr) {
  EVP_PKEY* key = nullptr;
  if (context == nullptr || EVP_PKEY_keygen_init(context.get()) <= 0) return nullptr;
  if (search != nullptr) search->watch(context.get());
  if ((bits != 0 && EVP_PKEY_CTX_set_rsa_keygen_bits(context.get(), bits) <= 0)
      || EVP_PKEY_keygen(context.get(), &key) <= 0)
    return nullptr;
  return PrivateKey{key};
}

PrivateKey make_rsa_key(Work& work, unsigned bits) {
  Search search{work, bits / 2};
  return generated(KeyContext{EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr)},
                   static_cast<int>(bits), &search);
}

PrivateKey make_dsa_key(Work& work) {
  constexpr int prime_bits = 2048;
  constexpr int subprime_bits = 256;
  const KeyContext rules{EVP_PKEY_CTX_new_from_name(nullptr, "DSA", nullptr)};
  EVP_PKEY* made = nullptr;
  Search search{work, prime_bits};
  if (rules == nullptr || EVP_PKEY_paramgen_init(rules.get()) <= 0) return nullptr;
  search.watch(rules.get());
  if (EVP_PKEY_CTX_set_dsa_paramgen_bits(rules.get(), prime_bits) <= 0
      || EVP_PKEY_CTX_set_dsa_paramgen_q_bits(rules.get(), subprime_bits) <= 0
      || EVP_PKEY_paramgen(rules.get(), &made) <= 0)
    return nullptr;
  const PrivateKey parameters{made};
  return generated(KeyContext{EVP_PKEY_CTX_new(parameters.get(), nullptr)}, 0);
}

}  // namespace

Result<PrivateKey> make_key(KeyKind kind, Work& work, unsigned bits) {
  PrivateKey key;
  switch (kind) {
    case KeyKind::rsa:
      key = make_rsa_key(work, bits);
      break;
    case KeyKind::dsa:
      key = make_dsa_key(work);
      break;
    case KeyKind::ecdsa:
      key.reset(EVP_EC_gen("P-256"));
      break;
    case KeyKind::ed25519:
      key = generated(KeyContext{EVP_PKEY_CTX_new_from_name(nullptr, "ED25519", nullptr)}, 0);
      break;
  }
  NOMAD_TRY(work.take(0));  // it may have been refused for a candidate
  if (key == nullptr) return function_error("OpenSSL makes no such key here");
  return key;
}

Result<PrivateKey> read_key(std::string_view pem) {
  const auto block = first_block(pem);
  if (!block) return function_error("no PEM data in input");
  constexpr std::string_view what = " PRIVATE KEY";
  const std::string_view type = block->type;
  PrivateKey key;
  std::string failure;
  if (type == what.substr(1)) {
    key = key_of(EVP_PKEY_NONE, block->bytes);
    failure = "decoding PEM as PKCS#8";
  } else if (!type.ends_with(what)) {
    return function_error("no private key data in PEM block of type " + block->type);
  } else {
    const auto kind = std::string{type.substr(0, type.size() - what.size())};
    const int id = kind == "RSA"   ? EVP_PKEY_RSA
                   : kind == "EC"  ? EVP_PKEY_EC
                   : kind == "DSA" ? EVP_PKEY_DSA
                                   : EVP_PKEY_NONE;
    if (id == EVP_PKEY_NONE) return function_error("invalid private key type " + block->type);
    key = key_of(id, block->bytes);
    failure = "parsing " + kind + " private key from PEM";
  }
  if (key == nullptr) return function_error(failure + ": asn1: structure error");
  if (EVP_PKEY_get_bits(key.get()) > most_key_bits)
    return function_error(failure + ": a key of more than 8192 bits takes too long");
  return key;
}

Result<std::string> write_key(const PrivateKey& key) {
  const Bio out{BIO_new(BIO_s_mem())};
  const int id = EVP_PKEY_get_base_id(key.get());
  const bool has_own_form = id == EVP_PKEY_RSA || id == EVP_PKEY_EC || id == EVP_PKEY_DSA;
  const int done = has_own_form ? PEM_write_bio_PrivateKey_traditional(
                       out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr)
                                : PEM_write_bio_PKCS8PrivateKey(out.get(), key.get(), nullptr,
                                                                nullptr, 0, nullptr, nullptr);
  if (done <= 0) return function_error("error pem-encoding key: OpenSSL can't write it");
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return std::string{text, static_cast<std::size_t>(size)};
}

}  // namespace nomad::templates
