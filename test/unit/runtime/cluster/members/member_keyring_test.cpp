#include "runtime/cluster/members/member_keyring.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::cluster;

namespace {

const std::string first_key = "QUFBQUFBQUFBQUFBQUFBQQ==";
const std::string second_key = "QUFBQUFBQUFBQUFBQUFBQg==";

MemberKeyring ring() {
  return MemberKeyring::of(first_key).value();
}

Result<MemberTable> carried(const MemberKeyring& from, const MemberKeyring& to) {
  MemberTable table;
  table.from = "a";
  return read_table(*write_table(table, from.primary(), {}), to.all());
}

}  // namespace

TEST_CASE("member keyring: a key is replaced without a moment in which servers do not understand") {
  auto a = ring();
  auto b = ring();
  const auto understand = [&] { return carried(a, b).has_value() && carried(b, a).has_value(); };
  for (const auto action : {KeyringAction::install, KeyringAction::use, KeyringAction::remove}) {
    const auto& key = action == KeyringAction::remove ? first_key : second_key;
    CHECK(carry_out(a, action, key));
    CHECK(understand());
    CHECK(carry_out(b, action, key));
    CHECK(understand());
  }
  CHECK(a.keys() == std::vector{second_key});
  CHECK_FALSE(carried(ring(), a).has_value());
}

TEST_CASE("member keyring: what can't be done changes nothing") {
  auto keyring = ring();
  CHECK(carry_out(keyring, KeyringAction::use, second_key).error()
        == Error{Errc::rejected, "requested key is not in the keyring"});
  CHECK(carry_out(keyring, KeyringAction::remove, first_key).error()
        == Error{Errc::rejected, "removing the primary key is not allowed"});
  CHECK(carry_out(keyring, KeyringAction::remove, second_key));
  CHECK(carry_out(keyring, KeyringAction::install, "x").error().code == Errc::invalid_argument);
  CHECK(carry_out(keyring, KeyringAction::install, first_key));
  CHECK(keyring.keys() == std::vector{first_key});
  MemberKeyring none;
  CHECK(carry_out(none, KeyringAction::install, first_key).error()
        == Error{Errc::rejected, "no keyring to change: encryption is not enabled"});
  CHECK(none.primary() == nullptr);
}

TEST_CASE("member keyring: it is bounded") {
  auto keyring = ring();
  for (const char letter : std::string{"BCDEFGHIJKLMNOPQRSTUVWXYZabcdefg"})
    CHECK(keyring.install(std::string{letter} + first_key.substr(1)));
  CHECK(keyring.keys().size() == MemberKeyring::most_keys);
  CHECK(keyring.install("zUFBQUFBQUFBQUFBQUFBQQ==").error()
        == Error{Errc::too_large, "the keyring has 32 keys; remove one"});
}

TEST_CASE("member keyring: it is kept as a list, the primary key first") {
  auto keyring = ring();
  CHECK(keyring.install(second_key));
  CHECK(keyring.use(second_key));
  CHECK(keyring.text() == R"([")" + second_key + R"(",")" + first_key + R"("])");
  CHECK(MemberKeyring::from_text(keyring.text())->keys() == keyring.keys());
  for (const auto& [text, why] : {std::pair{"", "the keyring is no list of keys"},
                                  std::pair{"[]", "the keyring is no list of keys"},
                                  std::pair{"[1]", "a key of the keyring is no text"}})
    CHECK(MemberKeyring::from_text(text).error() == Error{Errc::corrupt, why});
  CHECK(
      MemberKeyring::from_text("[\"x\"]").error().what.starts_with("keyring: \"encrypt\" must be"));
}

TEST_CASE("member keyring: what servers have is counted") {
  KeyringAnswers answers;
  answers.count({"a", "b"});
  answers.count({"b", "a"});
  answers.count({});
  CHECK(answers.keys == std::map<std::string, std::size_t>{{"a", 2}, {"b", 2}});
  CHECK(answers.primaries == std::map<std::string, std::size_t>{{"a", 1}, {"b", 1}});
}

TEST_CASE("member keyring: what a server of another version asks for is refused") {
  auto keyring = ring();
  CHECK(carry_out(keyring, static_cast<KeyringAction>(9), first_key).error()
        == Error{Errc::corrupt, "an unknown action on the keyring"});
}
