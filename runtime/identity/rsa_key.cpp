#include "runtime/identity/rsa_key.hpp"

#include <array>
#include <map>
#include <mutex>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <sodium.h>

#include "runtime/object/draft.hpp"
#include "runtime/text/freed_by.hpp"

namespace nomad::identity {
namespace {

constexpr unsigned long public_exponent = 65'537;
constexpr int prime_bits = rsa_bits / 2;
constexpr std::size_t prime_bytes = prime_bits / 8;

/// FIPS 186-5, A.1.3: primes that are closer than 2^(1024 - 100) are not taken.
constexpr int least_distance_bits = prime_bits - 100;

/// One odd number in 355 of this size is a prime: so many draws without one do not happen.
constexpr std::uint64_t most_draws = 100'000;

constexpr std::array<char, crypto_kdf_CONTEXTBYTES> draw_context{'r', 's', '2', '5',
                                                                 '6', ' ', 'p', 'q'};

using Number = FreedBy<BIGNUM, BN_clear_free>;
using Scratch = FreedBy<BN_CTX, BN_CTX_free>;

/// Says why OpenSSL has failed, as far as that does.
Error rsa_failed() {
  std::array<char, 256> reason{};
  ERR_error_string_n(ERR_get_error(), reason.data(), reason.size());
  ERR_clear_error();
  return {Errc::internal, std::string{"RSA key of identities: "} + reason.data()};
}

/// One that arithmetic treats as a secret.
Number secret_number() {
  Number number{BN_secure_new()};
  if (number) BN_set_flags(number.get(), BN_FLG_CONSTTIME);
  return number;
}

/// The draw-th odd number of 1024 bits that follows from the seed; its two highest bits are set, so
/// that the product of two has 2048.
bool draw(BIGNUM* number, const security::Secret& seed, std::uint64_t count) {
  static_assert(crypto_kdf_KEYBYTES == randombytes_SEEDBYTES);
  security::Secret drawn_by{randombytes_SEEDBYTES};
  security::Secret bytes{prime_bytes};
  auto* const key = reinterpret_cast<unsigned char*>(drawn_by.bytes().data());
  auto* const out = reinterpret_cast<unsigned char*>(bytes.bytes().data());
  crypto_kdf_derive_from_key(key, randombytes_SEEDBYTES, count, draw_context.data(),
                             reinterpret_cast<const unsigned char*>(seed.text().data()));
  randombytes_buf_deterministic(out, prime_bytes, key);
  out[0] |= 0xc0;
  out[prime_bytes - 1] |= 0x01;
  return BN_bin2bn(out, static_cast<int>(prime_bytes), number) != nullptr;
}

/// Draws on from `count` to the next prime that fits the exponent.
Result<Number> next_prime(const security::Secret& seed, std::uint64_t& count, BN_CTX* scratch) {
  auto number = secret_number();
  if (!number) return rsa_failed();
  while (count < most_draws) {
    if (!draw(number.get(), seed, count++)) return rsa_failed();
    if (BN_mod_word(number.get(), public_exponent) == 1) continue;  // e divides p - 1
    const int is_prime = BN_check_prime(number.get(), scratch, nullptr);
    if (is_prime < 0) return rsa_failed();
    if (is_prime == 1) return number;
  }
  return rsa_failed();
}

struct Numbers {
  Number p = secret_number();
  Number q = secret_number();
  Number n{BN_new()};
  Number e{BN_new()};
  Number d = secret_number();
  Number d_of_p = secret_number();
  Number d_of_q = secret_number();
  Number inverse_of_q = secret_number();
};

bool are_apart(const BIGNUM* p, const BIGNUM* q) {
  const auto distance = secret_number();
  return distance && BN_sub(distance.get(), p, q) == 1
         && BN_num_bits(distance.get()) > least_distance_bits;
}

/// What follows from p, q and e: d is the inverse of e by the least common multiple of p - 1 and
/// q - 1.
bool finish(Numbers& of, BN_CTX* scratch) {
  const auto p1 = secret_number();
  const auto q1 = secret_number();
  const auto common = secret_number();
  const auto product = secret_number();
  const auto multiple = secret_number();
  const auto has_all = [](const auto&... each) { return (static_cast<bool>(each) && ...); };
  return has_all(p1, q1, common, product, multiple, of.n, of.e, of.d, of.d_of_p, of.d_of_q,
                 of.inverse_of_q)
         && BN_set_word(of.e.get(), public_exponent) == 1
         && BN_mul(of.n.get(), of.p.get(), of.q.get(), scratch) == 1
         && BN_sub(p1.get(), of.p.get(), BN_value_one()) == 1
         && BN_sub(q1.get(), of.q.get(), BN_value_one()) == 1
         && BN_gcd(common.get(), p1.get(), q1.get(), scratch) == 1
         && BN_mul(product.get(), p1.get(), q1.get(), scratch) == 1
         && BN_div(multiple.get(), nullptr, product.get(), common.get(), scratch) == 1
         && BN_mod_inverse(of.d.get(), of.e.get(), multiple.get(), scratch) != nullptr
         && BN_mod(of.d_of_p.get(), of.d.get(), p1.get(), scratch) == 1
         && BN_mod(of.d_of_q.get(), of.d.get(), q1.get(), scratch) == 1
         && BN_mod_inverse(of.inverse_of_q.get(), of.q.get(), of.p.get(), scratch) != nullptr;
}

Result<Numbers> numbers_of(const security::Secret& seed) {
  const Scratch scratch{BN_CTX_secure_new()};
  if (!scratch) return rsa_failed();
  Numbers made;
  std::uint64_t count = 0;
  made.p = NOMAD_TRY(next_prime(seed, count, scratch.get()));
  do {
    made.q = NOMAD_TRY(next_prime(seed, count, scratch.get()));
  } while (!are_apart(made.p.get(), made.q.get()));
  if (BN_cmp(made.p.get(), made.q.get()) < 0) std::swap(made.p, made.q);
  if (!finish(made, scratch.get())) return rsa_failed();
  return made;
}

std::shared_ptr<EVP_PKEY> openssl_key(const Numbers& of) {
  const FreedBy<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free> build{OSSL_PARAM_BLD_new()};
  if (!build) return {};
  const auto push = [&build](const char* name, const Number& number) {
    return OSSL_PARAM_BLD_push_BN(build.get(), name, number.get()) == 1;
  };
  if (!push(OSSL_PKEY_PARAM_RSA_N, of.n) || !push(OSSL_PKEY_PARAM_RSA_E, of.e)
      || !push(OSSL_PKEY_PARAM_RSA_D, of.d) || !push(OSSL_PKEY_PARAM_RSA_FACTOR1, of.p)
      || !push(OSSL_PKEY_PARAM_RSA_FACTOR2, of.q) || !push(OSSL_PKEY_PARAM_RSA_EXPONENT1, of.d_of_p)
      || !push(OSSL_PKEY_PARAM_RSA_EXPONENT2, of.d_of_q)
      || !push(OSSL_PKEY_PARAM_RSA_COEFFICIENT1, of.inverse_of_q))
    return {};
  const FreedBy<OSSL_PARAM, OSSL_PARAM_free> parameters{OSSL_PARAM_BLD_to_param(build.get())};
  const FreedBy<EVP_PKEY_CTX, EVP_PKEY_CTX_free> context{
      EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr)};
  EVP_PKEY* key = nullptr;
  if (!parameters || !context || EVP_PKEY_fromdata_init(context.get()) != 1
      || EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_KEYPAIR, parameters.get()) != 1)
    return {};
  return {key, &EVP_PKEY_free};
}

std::string number_text(const BIGNUM* number) {
  std::string bytes(static_cast<std::size_t>(BN_num_bytes(number)), '\0');
  BN_bn2bin(number, reinterpret_cast<unsigned char*>(bytes.data()));
  return bytes;
}

}  // namespace

std::string rsa_key_id(std::string_view root_key_id) {
  return std::string{root_key_id} + "-rs256";
}

Result<RsaKey> RsaKey::from_seed(std::string_view root_key_id, const security::Secret& seed) {
  if (seed.size() != crypto_kdf_KEYBYTES)
    return Error{Errc::invalid_argument, "an RSA key is made of 32 bytes"};
  const auto numbers = NOMAD_TRY(numbers_of(seed));
  RsaKey made;
  made.key_ = openssl_key(numbers);
  if (!made.key_) return rsa_failed();
  made.id_ = rsa_key_id(root_key_id);
  made.modulus_ = number_text(numbers.n.get());
  made.exponent_ = number_text(numbers.e.get());
  return made;
}

Result<std::string> RsaKey::sign(std::string_view text) const {
  const FreedBy<EVP_MD_CTX, EVP_MD_CTX_free> context{EVP_MD_CTX_new()};
  std::string signature(rsa_bits / 8, '\0');
  std::size_t size = signature.size();
  if (!context || EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) != 1
      || EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                        reinterpret_cast<const unsigned char*>(text.data()), text.size())
             != 1
      || size != signature.size())
    return rsa_failed();
  return signature;
}

struct RsaKeyOf::Kept {
  using Key = std::shared_ptr<const RsaKey>;

  /// Of one key. Who makes it has `making`, which nobody waits for who wants another one.
  struct Slot {
    std::mutex making;
    Key key{};  ///< Null: it is being made, or has failed to be. Of `guard`.
  };

  Key find(std::string_view id) {
    const std::lock_guard lock{guard};
    const auto found = slots.find(id);
    return found == slots.end() ? nullptr : found->second->key;
  }

  std::shared_ptr<Slot> slot(std::string_view id) {
    const std::lock_guard lock{guard};
    auto& slot = slots[std::string{id}];
    if (!slot) slot = std::make_shared<Slot>();
    return slot;
  }

  std::shared_ptr<security::Keyring> keyring{};
  Make make{};
  std::mutex guard{};  ///< Never held for long.
  std::map<std::string, std::shared_ptr<Slot>, std::less<>> slots{};
};

RsaKeyOf::RsaKeyOf(std::shared_ptr<security::Keyring> keyring, Make make)
    : kept_{std::make_shared<Kept>()} {
  kept_->keyring = std::move(keyring);
  kept_->make = std::move(make);
}

Result<std::shared_ptr<const RsaKey>> RsaKeyOf::operator()(
    const Object<schema::RootKey>& row) const {
  if (!row) return Error{Errc::unavailable, "there is no root key yet; try again"};
  if (!kept_ || !kept_->keyring) return Error{Errc::unavailable, "this server has no keyring"};
  const auto id = view(row->getKeyId());
  if (auto key = kept_->find(id)) return key;
  const auto seed = NOMAD_TRY(kept_->keyring->derive(row, rsa_purpose));
  const auto slot = kept_->slot(id);
  const std::lock_guard making{slot->making};
  if (auto key = kept_->find(id)) return key;  // Made while this waited.
  auto key = std::make_shared<const RsaKey>(NOMAD_TRY(kept_->make(id, seed)));
  const std::lock_guard lock{kept_->guard};
  return slot->key = std::move(key);
}

bool RsaKeyOf::takes_long(const Object<schema::RootKey>& row) const {
  if (!row || !kept_ || !kept_->keyring || kept_->find(view(row->getKeyId()))) return false;
  return kept_->keyring->derive(row, rsa_purpose).has_value();
}

RsaKeyOf rsa_keys(std::shared_ptr<security::Keyring> keyring) {
  return RsaKeyOf{std::move(keyring)};
}

}  // namespace nomad::identity
