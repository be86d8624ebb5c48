// Sealing: what opens again, and everything that must not.
#include "runtime/security/seal.hpp"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::security;

namespace {

Secret key_of(char fill) {
  return Secret::copy_of(std::string(key_bytes, fill));
}

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span{text});
}

}  // namespace

TEST_CASE("seal: opens with the same key at the same place, and is no plain text") {
  const auto key = key_of('k');

  const auto sealed = seal(key, "here", bytes("the secret text"), system_random());

  const auto opened = unseal(key, "here", sealed);
  REQUIRE(opened.has_value());
  CHECK(opened->text() == "the secret text");
  const std::string_view seen{reinterpret_cast<const char*>(sealed.data()), sealed.size()};
  CHECK(seen.find("secret") == std::string_view::npos);
  CHECK(sealed != seal(key, "here", bytes("the secret text"), system_random()));
}

TEST_CASE("seal: another key, another place, a changed or missing byte do not open") {
  const auto key = key_of('k');
  const auto sealed = seal(key, "here", bytes("text"), system_random());

  CHECK(unseal(key_of('j'), "here", sealed).error().code == Errc::corrupt);
  CHECK(unseal(key, "there", sealed).error().code == Errc::corrupt);
  CHECK(unseal(Secret{}, "here", sealed).error().code == Errc::corrupt);
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    auto changed = sealed;
    changed[i] ^= std::byte{1};
    CHECK_FALSE(unseal(key, "here", changed).has_value());
    CHECK_FALSE(unseal(key, "here", std::span{sealed}.first(i)).has_value());
  }
}

TEST_CASE("seal: what is wrapped for one pair opens with its secret half only") {
  const auto alice = make_key_pair(system_random());
  const auto bob = make_key_pair(system_random());

  const auto wrapped = wrap_for(alice.public_key, bytes("root key"), system_random());

  REQUIRE(wrapped.has_value());
  CHECK(unwrap(alice, *wrapped)->text() == "root key");
  const Error locked{Errc::corrupt, "what is wrapped does not open with this key"};
  CHECK(unwrap(bob, *wrapped).error() == locked);
  CHECK(unwrap(alice, std::span{*wrapped}.first(20)).error() == locked);
  CHECK(wrap_for(bytes("too short"), bytes("x"), system_random()).error()
        == Error{Errc::corrupt, "that is no X25519 public key"});
}

TEST_CASE("seal: a public key follows from the secret half") {
  const auto made = make_key_pair(system_random());

  const auto again = key_pair_of(Secret::copy_of(made.secret_key.bytes()));

  REQUIRE(again.has_value());
  CHECK(again->public_key == made.public_key);
  CHECK(key_pair_of(Secret{31}).error()
        == Error{Errc::invalid_argument, "a secret key has 32 bytes"});
}

TEST_CASE("seal: the same randomness gives the same bytes") {
  const FillRandom fixed
      = [](std::span<std::byte> to) { std::fill(to.begin(), to.end(), std::byte{7}); };

  CHECK(seal(key_of('k'), "p", bytes("x"), fixed) == seal(key_of('k'), "p", bytes("x"), fixed));
  const auto pair = make_key_pair(fixed);
  CHECK(*wrap_for(pair.public_key, bytes("x"), fixed)
        == *wrap_for(pair.public_key, bytes("x"), fixed));
}

TEST_CASE("seal: derived keys differ by purpose") {
  CHECK_FALSE(derive_key(bytes("s"), "a").equals(derive_key(bytes("s"), "b")));
  CHECK(derive_key(bytes("s"), "a").equals(derive_key(bytes("s"), "a")));
}

TEST_CASE("seal: nothing can be sealed and wrapped, too") {
  const auto key = key_of('k');
  const auto opened = unseal(key, "here", seal(key, "here", {}, system_random()));
  REQUIRE(opened.has_value());
  CHECK(opened->size() == 0);
}

TEST_CASE("secret: is empty of what was there before, and of one byte like of many") {
  for (const std::size_t size : {1, 32, 64, 65}) {
    CAPTURE(size);
    const Secret fresh{size};
    CHECK(fresh.text() == std::string(size, '\0'));
  }
  CHECK_FALSE(
      Secret::copy_of(std::string_view{"a"}).equals(Secret::copy_of(std::string_view{"b"})));
  CHECK(Secret{}.equals(Secret{}));
}

TEST_CASE("secret: moves, compares, and a wiped text keeps nothing") {
  auto first = Secret::copy_of(std::string_view{"abc"});
  auto second = std::move(first);
  CHECK(second.text() == "abc");
  CHECK(second.equals(Secret::copy_of(std::string_view{"abc"})));
  CHECK_FALSE(second.equals(Secret::copy_of(std::string_view{"abd"})));
  CHECK_FALSE(second.equals(Secret{}));

  std::string text(100, 's');
  const char* at = text.data();
  wipe(text);

  CHECK(text.empty());
  CHECK(std::all_of(at, at + 100, [](char byte) { return byte == '\0'; }));
}
