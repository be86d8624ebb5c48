// Hashes by which tokens are found.
#include "runtime/access/secret_hash.hpp"

#include <doctest/doctest.h>

using nomad::access::secret_hash;

TEST_CASE("secret_hash: is one for each secret, whatever its case, and tells nothing of it") {
  const auto hash = secret_hash("f65efade-f37c-ef03-a52d-5c90a4463493");

  CHECK(hash.size() == 32);
  CHECK(secret_hash("F65EFADE-F37C-ef03-a52d-5c90a4463493") == hash);
  CHECK(secret_hash("f65efade-f37c-ef03-a52d-5c90a4463494") != hash);
  CHECK(secret_hash("") != hash);
  CHECK(hash.find("f65e") == std::string::npos);
}
