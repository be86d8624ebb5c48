// The keyring: who opens what, and that nothing unwrapped is in a row.
#include "runtime/security/keyring.hpp"

#include <algorithm>
#include <fstream>

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::security;

namespace {

const std::string cluster_secret = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
const std::string key_id = "11111111-2222-4333-8444-555555555555";

std::shared_ptr<Keyring> server(const std::string& id, const std::string& secret = {}) {
  auto opened = Keyring::open({.server_id = id, .cluster_secret = secret});
  REQUIRE(opened.has_value());
  return *opened;
}

bool contains(std::span<const std::byte> bytes, std::string_view text) {
  const auto needle = std::as_bytes(std::span{text});
  return std::search(bytes.begin(), bytes.end(), needle.begin(), needle.end()) != bytes.end();
}

Object<schema::Variable> sealed(Keyring& keyring,
                                const Object<schema::RootKey>& key,
                                const std::string& path = "app/db") {
  auto variable = keyring.seal_variable(key, "default", path,
                                        encode_items({{"password", "correct horse"}}), 5);
  REQUIRE(variable.has_value());
  return *variable;
}

}  // namespace

TEST_CASE("keyring: seals a variable and opens it again") {
  const auto one = server("one");
  const auto key = one->make_root_key(key_id, 4, {});

  const auto variable = sealed(*one, key);

  CHECK(key->getState() == schema::RootKeyState::ACTIVE);
  CHECK(view(key->getAlgorithm()) == "xchacha20-poly1305");
  CHECK(view(variable->getKeyId()) == key_id);
  CHECK(variable->getModifyTime() == 5);
  CHECK_FALSE(contains(variable.bytes(), "password"));
  CHECK_FALSE(contains(variable.bytes(), "horse"));
  const auto opened = one->open_variable(key, variable);
  REQUIRE(opened.has_value());
  CHECK(*decode_items(*opened) == Items{{"password", "correct horse"}});
}

TEST_CASE("keyring: a secret opens where it belongs, and nowhere else") {
  const auto one = server("one");
  const auto key = one->make_root_key(key_id, 4, {});
  const auto sealed = one->seal_secret(key, {token_seal, "a"}, "correct horse");
  REQUIRE(sealed.has_value());
  CHECK_FALSE(contains(*sealed, "horse"));
  const capnp::Data::Reader data{reinterpret_cast<const unsigned char*>(sealed->data()),
                                 sealed->size()};

  CHECK(one->open_secret(key, {token_seal, "a"}, data)->text() == "correct horse");
  CHECK_FALSE(one->open_secret(key, {token_seal, "b"}, data));
  CHECK_FALSE(one->open_secret(key, {auth_method_seal, "a"}, data));
  CHECK_FALSE(one->open_secret({}, {token_seal, "a"}, data));
  CHECK_FALSE(one->open_secret(server("two")->make_root_key(key_id, 4, {}), {token_seal, "a"}, {}));
}

TEST_CASE("keyring: a variable moved to another path or namespace does not open") {
  const auto one = server("one");
  const auto key = one->make_root_key(key_id, 4, {});
  const auto variable = sealed(*one, key);

  Draft<schema::Variable> moved{variable};
  moved->setPath("app/other");
  Draft<schema::Variable> elsewhere{variable};
  elsewhere->setNamespace("team");

  CHECK(one->open_variable(key, moved.freeze()).error().code == Errc::corrupt);
  CHECK(one->open_variable(key, elsewhere.freeze()).error().code == Errc::corrupt);
  CHECK(one->open_variable({}, variable).error().code == Errc::corrupt);
  CHECK(one->open_secret({}, {token_seal, "a"}, {}).error().what
        == "the root key is not in the keyring");
}

TEST_CASE("keyring: a server opens a key only if it was wrapped for it") {
  const auto one = server("one");
  const auto two = server("two");
  const auto stranger = server("three");

  const auto key = one->make_root_key(key_id, 4, {two->holder()});

  CHECK(key->getWraps().size() == 2);
  CHECK(two->opens(key));
  CHECK_FALSE(stranger->opens(key));
  CHECK(two->open_variable(key, sealed(*one, key)).has_value());
  CHECK(stranger->open_variable(key, sealed(*one, key))
            .error()
            .what.starts_with("root key " + std::string{key_id}
                              + " is not wrapped for this server: "));
}

TEST_CASE("keyring: to ask whether it opens a key changes nothing") {
  const auto one = server("one");
  const auto ours = one->make_root_key(key_id, 4, {});
  const auto asked = server("asked");
  const auto shared = one->make_root_key(key_id, 4, {asked->holder()});
  const auto of_archive = server("two")->make_root_key(key_id, 4, {asked->holder()});

  CHECK(asked->opens(of_archive));  // of the same name
  CHECK(asked->open_variable(shared, sealed(*one, shared)).has_value());
  CHECK_FALSE(asked->opens(ours));
  CHECK_FALSE(asked->opens({}));
}

TEST_CASE("keyring: wraps are added for newcomers, dropped for those who left, and else kept") {
  const auto one = server("one");
  const auto two = server("two");
  const auto key = one->make_root_key(key_id, 4, {});

  const auto both = one->rewrap(key, {one->holder(), two->holder()}, Keyring::OtherSecrets::drop);
  REQUIRE(both);
  CHECK(two->opens(both));
  CHECK_FALSE(one->rewrap(both, {one->holder(), two->holder()}, Keyring::OtherSecrets::drop));

  const auto only_one = one->rewrap(both, {one->holder()}, Keyring::OtherSecrets::drop);
  REQUIRE(only_one);
  CHECK(only_one->getWraps().size() == 1);
  CHECK_FALSE(server("four")->rewrap(
      both, {}, Keyring::OtherSecrets::drop));  // who cannot open it cannot wrap it
}

TEST_CASE("keyring: a server with a new key file is another recipient") {
  const auto one = server("one");
  const auto two = server("two");
  const auto two_again = server("two");
  const auto key = one->make_root_key(key_id, 4, {two->holder()});
  REQUIRE_FALSE(two_again->opens(key));

  const auto wrapped
      = one->rewrap(key, {one->holder(), two_again->holder()}, Keyring::OtherSecrets::drop);

  REQUIRE(wrapped);
  CHECK(two_again->opens(wrapped));
}

TEST_CASE("keyring: whoever knows the cluster's secret opens its keys") {
  const auto one = server("one", cluster_secret);
  const auto two = server("two", cluster_secret);
  const auto stranger = server("three", "ODEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=");

  const auto key = one->make_root_key(key_id, 4, {});

  CHECK(two->opens(key));
  CHECK_FALSE(stranger->opens(key));
  CHECK_FALSE(server("four")->opens(key));
}

TEST_CASE("keyring: a server without the cluster's secret keeps its wrap") {
  const auto with = server("one", cluster_secret);
  const auto without = server("two");
  const auto key = with->make_root_key(key_id, 4, {without->holder()});

  const auto again = without->rewrap(key, {without->holder()}, Keyring::OtherSecrets::drop);

  REQUIRE(again);
  CHECK(server("five", cluster_secret)->opens(again));
}

TEST_CASE("keyring: a changed secret gets a wrap of its own, and the old one goes") {
  using Others = Keyring::OtherSecrets;
  const std::string changed_secret = "ODEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
  const auto before = server("one", cluster_secret);
  const auto after = server("two", changed_secret);
  const Keyring::Holders holders{before->holder(), after->holder()};
  const auto key = before->make_root_key(key_id, 4, holders);
  CHECK_FALSE(server("five", changed_secret)->opens(key));

  // While servers differ, the leader's secret counts, and nobody undoes what it did.
  CHECK_FALSE(after->rewrap(key, holders, Others::keep));
  const auto changed = after->rewrap(key, holders, Others::drop);
  REQUIRE(changed);
  CHECK(changed->getWraps().size() == 3);
  CHECK(server("five", changed_secret)->opens(changed));
  CHECK_FALSE(server("six", cluster_secret)->opens(changed));
  CHECK_FALSE(after->rewrap(changed, holders, Others::drop));
  CHECK_FALSE(before->rewrap(changed, holders, Others::keep));

  // The same secret has the same name everywhere, which contains nothing of it.
  const auto recipient = [](const Object<schema::RootKey>& row) {
    return copy(row->getWraps()[row->getWraps().size() - 1].getRecipient());
  };
  CHECK(recipient(key) == recipient(server("six", cluster_secret)->make_root_key(key_id, 4, {})));
  CHECK(recipient(key) != recipient(changed));
  CHECK(recipient(key).size() == std::string_view{"encrypt "}.size() + 16);
  CHECK(recipient(key).find("3031323334353637") == std::string::npos);

  // Without any wrap for a secret, whoever has one makes it.
  const auto bare = server("one")->make_root_key(key_id, 4, {after->holder()});
  CHECK(after->rewrap(bare, {after->holder()}, Others::keep));
}

TEST_CASE("keyring: a wrap made before names had fingerprints is read, and made anew") {
  const auto one = server("one", cluster_secret);
  Draft<schema::RootKey> draft{one->make_root_key(key_id, 4, {})};
  draft->getWraps()[1].setRecipient("encrypt");
  const auto old = draft.freeze();

  const auto two = server("two", cluster_secret);
  REQUIRE(two->opens(old));
  const auto renewed = two->rewrap(old, {two->holder()}, Keyring::OtherSecrets::drop);
  REQUIRE(renewed);
  CHECK(renewed->getWraps().size() == 2);
  CHECK(copy(renewed->getWraps()[1].getRecipient()).starts_with("encrypt "));
  CHECK(server("three", cluster_secret)->opens(renewed));
}

TEST_CASE("keyring: wraps of two keys cannot change places") {
  const auto one = server("one");
  const auto two = server("two");
  const auto first = one->make_root_key(key_id, 4, {two->holder()});
  const auto second
      = one->make_root_key("99999999-2222-4333-8444-555555555555", 4, {two->holder()});

  Draft<schema::RootKey> mixed{first};
  mixed->setWraps(second->getWraps());

  CHECK_FALSE(two->opens(mixed.freeze()));
  CHECK(two->opens(first));
}

TEST_CASE("keyring: an unusable secret is refused at the start") {
  for (const std::string bad : {"short", "!!!!", "MDEy"}) {
    const auto opened = Keyring::open({.server_id = "one", .cluster_secret = bad});
    REQUIRE(opened.has_error());
    CHECK(opened.error().what
          == "server.encrypt: expected base64 of 16, 24 or 32 bytes, as \"nomadctl operator gossip "
             "keyring generate\" makes it");
  }
}

TEST_CASE("keyring: a secret has 16, 24 or 32 bytes") {
  const auto opens = [](const std::string& base64) {
    return Keyring::open({.server_id = "one", .cluster_secret = base64}).has_value();
  };
  CHECK(opens("MDEyMzQ1Njc4OTAxMjM0NQ=="));
  CHECK(opens("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"));
  CHECK(opens(cluster_secret));
  CHECK_FALSE(opens("MDEyMzQ1Njc4OTAxMjM0NTY="));
}

TEST_CASE("keyring: does not open beside a key file that is damaged") {
  const test::TempDir home;
  std::ofstream{home.file("holder.key")} << "no key";
  const auto opened = Keyring::open({.server_id = "one", .directory = home.path()});
  REQUIRE(opened.has_error());
  CHECK(opened.error().what.find("holder.key") != std::string::npos);
}
