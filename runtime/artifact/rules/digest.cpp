#include "runtime/artifact/rules/digest.hpp"

#include <array>

#include "runtime/base/text.hpp"

namespace nomad::artifact {
namespace {

const EVP_MD* algorithm_of(Checksum::Kind kind) {
  switch (kind) {
    case Checksum::Kind::md5:
      return ::EVP_md5();
    case Checksum::Kind::sha1:
      return ::EVP_sha1();
    case Checksum::Kind::sha256:
      return ::EVP_sha256();
    case Checksum::Kind::sha512:
      return ::EVP_sha512();
  }
  return ::EVP_sha256();
}

}  // namespace

Digest::Digest(Checksum::Kind kind) : context_{::EVP_MD_CTX_new(), ::EVP_MD_CTX_free} {
  ::EVP_DigestInit_ex(context_.get(), algorithm_of(kind), nullptr);
}

void Digest::add(std::string_view bytes) {
  ::EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

std::string Digest::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out;
  unsigned size = 0;
  ::EVP_DigestFinal_ex(context_.get(), out.data(), &size);
  return to_hex({reinterpret_cast<const char*>(out.data()), size});
}

}  // namespace nomad::artifact
