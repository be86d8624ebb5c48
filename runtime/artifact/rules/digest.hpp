// Digest: a checksum of bytes as they come (libcrypto).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <openssl/evp.h>

#include "runtime/artifact/rules/checksum.hpp"

namespace nomad::artifact {

class Digest {
public:
  explicit Digest(Checksum::Kind kind);

  void add(std::string_view bytes);

  /// Of all that was added, hexadecimal. Once.
  std::string finish();

private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

}  // namespace nomad::artifact
