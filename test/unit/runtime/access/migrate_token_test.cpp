// The proof that a node shows to have the disk of an allocation on another node.
#include "runtime/access/migrate_token.hpp"

#include <doctest/doctest.h>

using namespace nomad::access;

namespace {

constexpr auto alloc = "a1b2c3d4-0000-1111-2222-333344445555";
constexpr auto secret = "5ec2e700-aaaa-bbbb-cccc-ddddeeeeffff";

}  // namespace

TEST_CASE("migrate_token: keyed BLAKE2b in base64 for URLs, as other implementations make it") {
  CHECK(
      migrate_token(alloc, secret)
      == "J9oHgK6zQrg_OSn1mbqFLKsUpWj3uYOeSCEkvTMRfexZjvIhIs6DNKv5jWpd_nsSvacHQauMemt28EUqG6Q7Sg="
         "=");
}

TEST_CASE("migrate_token: is of one allocation and one node") {
  const auto token = migrate_token(alloc, secret);
  CHECK(is_migrate_token(token, alloc, secret));
  CHECK_FALSE(is_migrate_token(token, "another", secret));
  CHECK_FALSE(is_migrate_token(token, alloc, "another"));
  CHECK_FALSE(is_migrate_token(token.substr(1), alloc, secret));
  CHECK_FALSE(is_migrate_token("", alloc, secret));
}

TEST_CASE("migrate_token: a node without a secret gives nothing out") {
  CHECK(migrate_token(alloc, "").empty());
  CHECK_FALSE(is_migrate_token("", alloc, ""));
  CHECK(migrate_token(alloc, std::string(65, 'x')).empty());
}
