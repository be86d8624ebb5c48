#include "runtime/identity/sign.hpp"

#include <boost/json.hpp>
#include <sodium.h>

#include "runtime/access/login/jwt.hpp"

namespace nomad::identity {
namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

bool VerifyingKey::verifies(std::string_view signed_part, std::string_view signature) const {
  return signature.size() == crypto_sign_BYTES
         && crypto_sign_verify_detached(bytes_of(signature), bytes_of(signed_part),
                                        signed_part.size(), bytes.data())
                == 0;
}

Result<SigningKey> SigningKey::from_seed(std::string id, const security::Secret& seed) {
  if (seed.size() != crypto_sign_SEEDBYTES)
    return Error{Errc::invalid_argument, "a signing key is made of 32 bytes"};
  VerifyingKey verifying{.id = std::move(id)};
  security::Secret secret{crypto_sign_SECRETKEYBYTES};
  crypto_sign_seed_keypair(verifying.bytes.data(),
                           reinterpret_cast<unsigned char*>(secret.bytes().data()),
                           bytes_of(seed.text()));
  return SigningKey{std::move(verifying), std::move(secret)};
}

std::string SigningKey::sign(std::string_view text) const {
  std::string signature(crypto_sign_BYTES, '\0');
  crypto_sign_detached(reinterpret_cast<unsigned char*>(signature.data()), nullptr, bytes_of(text),
                       text.size(), bytes_of(secret_.text()));
  return signature;
}

std::string signed_part(const Claims& claims, std::string_view algorithm, std::string_view key_id) {
  const boost::json::object header{{"alg", algorithm}, {"kid", key_id}, {"typ", "JWT"}};
  auto part = access::encode_jwt_part(boost::json::serialize(header));
  part += '.';
  part += access::encode_jwt_part(claims_json(claims));
  return part;
}

std::string with_signature(std::string signed_part, std::string_view signature) {
  signed_part += '.';
  signed_part += access::encode_jwt_part(signature);
  return signed_part;
}

std::string sign(const Claims& claims, const SigningKey& key) {
  auto part = signed_part(claims, ed25519_algorithm, key.id());
  const auto signature = key.sign(part);
  return with_signature(std::move(part), signature);
}

}  // namespace nomad::identity
