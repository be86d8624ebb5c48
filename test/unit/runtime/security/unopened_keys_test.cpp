// What people are told to keep beside a snapshot, of the wraps that its root keys have.
#include "runtime/security/unopened_keys.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace nomad;

namespace {

std::string told(std::initializer_list<std::string_view> recipients) {
  Draft<schema::RootKey> key;
  auto wraps = key->initWraps(static_cast<unsigned>(recipients.size()));
  unsigned at = 0;
  for (const auto recipient : recipients)
    wraps[at++].setRecipient(text(recipient));
  return fmt::format("{}", fmt::join(security::what_opens(key->asReader()), "; "));
}

}  // namespace

TEST_CASE("unopened_keys: each kind of wraps is told once") {
  const std::string holder
      = "<data_dir>/server/keystore/holder.key of a server that it was saved on";
  CHECK(told({}).empty());
  CHECK(told({"0d2e 1f0e", "7c11 88aa"}) == holder);
  CHECK(told({"0d2e 1f0e", "encrypt 88aa"}) == holder + "; their `encrypt`");
  CHECK(told({"keyring file 1f0e"}) == "the wrapping key of their `keyring \"file\"` block");
  CHECK(told({"keyring transit v1 1f0e", "keyring file 1f0e", "7c11 88aa"})
        == "the wrapping key of their `keyring \"transit\"` block; "
           "the wrapping key of their `keyring \"file\"` block; "
               + holder);
}
