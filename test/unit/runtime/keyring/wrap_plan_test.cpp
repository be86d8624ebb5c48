#include "runtime/keyring/wrap_plan.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::keyring;

namespace {

const std::string file = "keyring file 1";
const std::string other_file = "keyring file 2";
const std::string secret = "encrypt 1";

/// "a+, keyring file 1, =": in the order of the row; "+": it is made, "*": the wrapping key has
/// made it, "=": nothing changes.
std::string planned(const WrapFacts& facts) {
  using From = PlannedWrap::From;
  const auto plan = plan_wraps(facts);
  std::string text;
  for (const auto& wrap : plan.wraps) {
    text += (text.empty() ? "" : ", ") + wrap.recipient;
    if (wrap.from == From::wrapping_key) text += '*';
    if (wrap.from == From::secret || wrap.from == From::public_key) text += '+';
    if (wrap.from == From::public_key)
      CHECK(facts.holders.at(wrap.holder).recipient == wrap.recipient);
  }
  return text + (plan.changes ? "" : " =");
}

}  // namespace

TEST_CASE("wrap_plan: recipients are told apart by their first word") {
  CHECK(is_of_secret("encrypt"));
  CHECK(is_of_secret("encrypt 1f"));
  CHECK_FALSE(is_of_secret("encrypted 1f"));
  CHECK(is_of_wrapping_key("keyring file 1f"));
  CHECK_FALSE(is_of_wrapping_key("keyring"));
  CHECK_FALSE(is_of_wrapping_key("a 1f"));
}

TEST_CASE("wrap_plan: each server and the secret have a wrap, and who has left has none") {
  CHECK(planned({.holders = {{"a"}, {"b"}}, .secret = secret, .leads = true})
        == "a+, b+, encrypt 1+");
  CHECK(planned({.row = {"a", secret}, .holders = {{"a"}, {"b"}}, .secret = secret, .leads = true})
        == "a, b+, encrypt 1");
  CHECK(planned({.row = {"a", "gone", secret}, .holders = {{"a"}}, .secret = secret, .leads = true})
        == "a, encrypt 1");
  CHECK(planned({.row = {"a", secret}, .holders = {{"a"}}, .secret = secret, .leads = true})
        == "a, encrypt 1 =");
}

TEST_CASE("wrap_plan: the leader's secret counts, and who has none keeps the others'") {
  const WrapFacts changed{.row = {"a", secret}, .holders = {{"a"}}, .secret = "encrypt 2"};
  CHECK(planned(changed) == "a, encrypt 1 =");
  auto of_leader = changed;
  of_leader.leads = true;
  CHECK(planned(of_leader) == "a, encrypt 2+");
  of_leader.secret = "";
  CHECK(planned(of_leader) == "a, encrypt 1 =");
  CHECK(planned({.row = {"a"}, .holders = {{"a"}}, .secret = secret}) == "a, encrypt 1+");
}

TEST_CASE("wrap_plan: who can use a wrapping key needs no wrap of its own") {
  const Holder a{.recipient = "a", .opens = {file}};
  const Holder b{.recipient = "b", .opens = {file}};
  const Holder without{.recipient = "c"};
  const WrapFacts leader{.row = {"a", "b", secret},
                         .holders = {a, b},
                         .secret = secret,
                         .wrapping_key = file,
                         .leads = true};
  CHECK(planned(leader) == "a, b, encrypt 1 =");  // until the wrapping key has wrapped it
  auto wrapped = leader;
  wrapped.has_wrapped = true;
  CHECK(planned(wrapped) == "keyring file 1*");
  wrapped.holders.push_back(without);
  CHECK(planned(wrapped) == "keyring file 1*, c+, encrypt 1");
  auto follower = leader;
  follower.row = {file, "a", "b", secret};
  follower.leads = false;
  CHECK(planned(follower) == "keyring file 1, a, b, encrypt 1 =");  // it drops nothing
}

TEST_CASE("wrap_plan: an older wrapping key's wrap goes once all can use the newer one") {
  const Holder old{.recipient = "a", .opens = {other_file}};
  const Holder both{.recipient = "b", .opens = {file, other_file}};
  const WrapFacts between{
      .row = {other_file, file}, .holders = {old, both}, .wrapping_key = file, .leads = true};
  CHECK(planned(between) == "keyring file 2, keyring file 1 =");
  auto after = between;
  after.holders[0].opens.push_back(file);
  CHECK(planned(after) == "keyring file 1");
  after.has_wrapped = true;
  CHECK(planned(after) == "keyring file 1*");
}

TEST_CASE("wrap_plan: where the leader has no wrapping key, servers wrap for each other again") {
  const Holder a{.recipient = "a", .opens = {file}};
  CHECK(planned({.row = {file}, .holders = {a}, .secret = secret, .leads = true})
        == "keyring file 1, a+, encrypt 1+");
  CHECK(planned({.row = {file, "a"}, .holders = {{"a"}}, .leads = true}) == "a");
}
