// Root keys that are wrapped by a key outside of the cluster: who opens them, and who does not.
#include "runtime/security/wrapping_key.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"
#include "runtime/security/keyring.hpp"
#include "test/support/slow_key.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::security;
using nomad::test::SlowKey;

namespace {

const std::string wrapped_id = "11111111-2222-4333-8444-555555555555";

using Row = Object<schema::RootKey>;
using Others = Keyring::OtherSecrets;

struct Servers {
  test::TempDir dir;

  std::shared_ptr<WrappingKey> file(const std::string& name) const {
    const auto key = open_file_key({.path = dir.file(name), .create = true}, system_random());
    REQUIRE(key.has_value());
    return *key;
  }

  static std::shared_ptr<Keyring> server(const std::string& id,
                                         WrappingKeys wrapping = {},
                                         const std::string& secret = {}) {
    auto opened = Keyring::open(
        {.server_id = id, .cluster_secret = secret, .wrapping = std::move(wrapping)});
    REQUIRE(opened.has_value());
    return *opened;
  }

  static Row make(Keyring& keyring, const Keyring::Holders& holders) {
    Row made;
    keyring.make_root_key(wrapped_id, 4, holders, 0, [&](Result<Row> row) {
      REQUIRE(row.has_value());
      made = *row;
    });
    return made;
  }

  static Row rewrap(Keyring& keyring, const Row& key, const Keyring::Holders& holders) {
    Row changed;
    keyring.rewrap(key, holders, Others::drop, [&](Result<Row> row) {
      REQUIRE(row.has_value());
      changed = *row;
    });
    return changed;
  }

  static std::vector<std::string> recipients(const Row& key) {
    std::vector<std::string> names;
    for (const auto wrap : key->getWraps())
      names.push_back(copy(wrap.getRecipient()));
    return names;
  }
};

const std::string wrapped_secret = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

}  // namespace

TEST_CASE(
    "wrapping key: servers that can use it need nothing else, and others get a wrap of theirs") {
  Servers of;
  const auto key = of.file("key");
  const auto one = Servers::server("one", {.active = key}, wrapped_secret);
  const auto two = Servers::server("two", {.active = key});
  const auto without = Servers::server("three");

  const auto all = Servers::make(*one, {one->holder(), two->holder()});
  CHECK(Servers::recipients(all) == std::vector{key->name()});
  CHECK(two->opens(all));
  CHECK(without->opening(all) == Opening::no);
  CHECK(Servers::server("four", {.active = of.file("key")})->opens(all));  // after a restore, say

  const auto mixed = Servers::rewrap(*one, all, {one->holder(), two->holder(), without->holder()});
  REQUIRE(mixed);
  CHECK(mixed->getWraps().size() == 3);  // and one for who knows `server.encrypt`
  CHECK(without->opens(mixed));
  CHECK_FALSE(Servers::rewrap(*one, mixed, {one->holder(), two->holder(), without->holder()}));
}

TEST_CASE("wrapping key: once it is active, the servers' own wraps of old keys go") {
  Servers of;
  const auto before = Servers::server("one", {}, wrapped_secret);
  const auto old = before->make_root_key(wrapped_id, 4, {});
  REQUIRE(old->getWraps().size() == 2);
  const auto key = of.file("key");
  // The same server, started anew: it still has its own key pair.
  Draft<schema::KeyHolder> holder{before->holder()};
  holder->initOpens(1).set(0, text(key->name()));
  const auto leader = Servers::server("two", {.active = key}, wrapped_secret);

  REQUIRE(leader->opens(old));
  const auto changed = Servers::rewrap(*leader, old, {leader->holder(), holder.freeze()});

  CHECK(Servers::recipients(changed) == std::vector{key->name()});
}

TEST_CASE("wrapping key: an older key unwraps until all servers can use the new one") {
  Servers of;
  const auto older = of.file("older");
  const auto newer = of.file("newer");
  const auto old_server = Servers::server("one", {.active = older});
  const auto key = Servers::make(*old_server, {});
  const auto leader = Servers::server("two", {.active = newer, .others = {older}});

  const auto between = Servers::rewrap(*leader, key, {leader->holder(), old_server->holder()});
  CHECK(Servers::recipients(between) == std::vector{older->name(), newer->name()});
  CHECK(old_server->opens(between));
  const auto renewed = Servers::server("one", {.active = newer, .others = {older}});
  const auto after = Servers::rewrap(*leader, between, {leader->holder(), renewed->holder()});

  CHECK(Servers::recipients(after) == std::vector{newer->name()});
  CHECK(Servers::server("three", {.active = newer})->opens(after));
  CHECK(Servers::server("three", {.active = older})->opening(after) == Opening::no);
}

TEST_CASE("wrapping key: without an active one the servers wrap for each other again") {
  Servers of;
  const auto key = of.file("key");
  const auto wrapped = Servers::make(*Servers::server("one", {.active = key}), {});
  const auto back = Servers::server("one", {.others = {key}}, wrapped_secret);

  const auto changed = Servers::rewrap(*back, wrapped, {back->holder()});

  REQUIRE(changed);
  CHECK(changed->getWraps().size() == 3);
  CHECK(Servers::server("five", {}, wrapped_secret)->opens(changed));
}

TEST_CASE("wrapping key: a follower drops no wraps") {
  Servers of;
  const auto key = of.file("key");
  const auto follower = Servers::server("two", {.active = key}, wrapped_secret);
  const auto old = Servers::server("one", {}, wrapped_secret)->make_root_key(wrapped_id, 4, {});

  REQUIRE(follower->opens(old));
  const auto changed = follower->rewrap(old, {follower->holder()}, Others::keep);

  REQUIRE(changed);  // its own wrap was missing
  CHECK(std::ranges::count_if(Servers::recipients(changed),
                              [](const auto& name) { return keyring::is_of_wrapping_key(name); })
        == 0);
}

TEST_CASE("wrapping key: one that answers later holds nobody up, and is asked once at a time") {
  const auto slow = std::make_shared<SlowKey>();
  const auto one = Servers::server("one", {.active = slow});
  Row made;
  one->make_root_key(wrapped_id, 4, {}, 0, [&](Result<Row> row) { made = *row; });
  CHECK_FALSE(made);
  slow->answer();
  CHECK_FALSE(made);  // it is tried whether it unwraps
  slow->answer();
  REQUIRE(made);
  slow->asked = 0;
  const auto two = Servers::server("two", {.active = slow});

  CHECK(two->opening(made) == Opening::not_yet);
  CHECK(two->opening(made) == Opening::not_yet);
  CHECK(slow->asked == 1);
  const auto waiting = two->seal_secret(made, {token_seal, "a"}, "secret");
  CHECK(waiting.error().code == Errc::unavailable);
  CHECK(waiting.error().what
        == "root key " + wrapped_id + " is being opened by \"keyring slow\": try again");
  slow->failure = Error{Errc::unavailable, "connection refused"};
  slow->answer();
  CHECK(two->opening(made) == Opening::not_yet);
  CHECK(two->seal_secret(made, {token_seal, "a"}, "secret").error().what
        == "root key " + wrapped_id
               + " is being opened by \"keyring slow\": try again (last: connection refused)");
  slow->failure = {};
  slow->answer();
  CHECK(two->opening(made) == Opening::yes);
  CHECK(two->seal_secret(made, {token_seal, "a"}, "secret"));
}

TEST_CASE("wrapping key: a failure to wrap is told, and no key comes of it") {
  class Broken : public SlowKey {
    void wrap(std::string_view, const Secret&, Wrapped done) override {
      done(Error{Errc::unavailable, "connection refused"});
    }
  };

  const auto one = Servers::server("one", {.active = std::make_shared<Broken>()});
  std::string what;

  one->make_root_key(wrapped_id, 4, {}, 0, [&](Result<Row> row) { what = row.error().what; });

  CHECK(what == "wrapping a root key by \"keyring slow\": connection refused");
  Draft<schema::RootKey> draft;
  draft->setKeyId(text(wrapped_id));
  draft->initWraps(1)[0].setRecipient("keyring slow");
  CHECK(one->opening(draft.freeze()) == Opening::not_yet);  // it was not kept
}

TEST_CASE("wrapping key: of new keys whose rows may be refused the latest are kept") {
  const auto slow = std::make_shared<SlowKey>();
  const auto one = Servers::server("one", {.active = slow});
  std::vector<Row> made;
  for (char i = '0'; i < '6'; ++i)
    one->make_root_key(wrapped_id + i, 4, {}, 0, [&](Result<Row> row) { made.push_back(*row); });
  slow->answer();
  slow->answer();
  REQUIRE(made.size() == 6);

  CHECK(one->opening(made.back()) == Opening::yes);
  CHECK(one->opening(made.front()) == Opening::not_yet);
  slow->answer();
  CHECK(one->opening(made.front()) == Opening::yes);
}

TEST_CASE("wrapping key: what it wraps is unwrapped before anybody relies on it") {
  const auto slow = std::make_shared<SlowKey>();
  const auto one = Servers::server("one", {.active = slow});
  const auto old = one->make_root_key(wrapped_id, 4, {});
  std::string what;
  const auto rewrap = [&] {
    what.clear();
    one->rewrap(old, {one->holder()}, Others::drop,
                [&](const Result<Row>& row) { what = row ? "done" : row.error().what; });
    slow->answer();
    slow->answer();
  };

  slow->failure = Error{Errc::unavailable, "connection refused"};
  rewrap();
  CHECK(what
        == "wrapping a root key by \"keyring slow\": unwrapping what it has wrapped: "
           "connection refused");
  slow->failure = {};
  slow->unwraps_wrongly = true;
  rewrap();
  CHECK(
      what
      == "wrapping a root key by \"keyring slow\": what it has wrapped unwraps to something else");
  CHECK(one->holder()->getOpens().size() == 0);
  slow->unwraps_wrongly = false;
  rewrap();
  CHECK(what == "done");
  CHECK(one->holder()->getOpens().size() == 1);
}

TEST_CASE("wrapping key: a server says that it can use one that has unwrapped something for it") {
  const Servers of;
  const auto slow = std::make_shared<SlowKey>();
  const auto older = std::make_shared<SlowKey>("keyring older");
  const auto file = of.file("key");
  const auto one = Servers::server("one", {.active = slow, .others = {older, file}});
  const auto opens = [&](const Object<schema::KeyHolder>& known = {}) {
    std::vector<std::string> names;
    const auto holder = one->holder(known);
    for (const auto name : holder->getOpens())
      names.push_back(copy(name));
    return names;
  };
  CHECK(opens() == std::vector{file->name()});

  CHECK_FALSE(one->try_wrapping_keys({}, {}));  // it is being asked
  slow->failure = Error{Errc::unavailable, "connection refused"};
  slow->answer();
  slow->answer();
  CHECK(opens() == std::vector{file->name()});
  slow->failure = {};
  CHECK_FALSE(one->try_wrapping_keys({}, {}));
  slow->answer();
  slow->answer();
  CHECK(one->try_wrapping_keys({}, {}));
  CHECK(opens() == std::vector<std::string>{"keyring slow", file->name()});

  // One that is not active wraps nothing: there must be something that it has wrapped.
  Row of_older;
  const auto two = Servers::server("two", {.active = older});
  two->make_root_key(wrapped_id, 4, {}, 0, [&](Result<Row> row) { of_older = *row; });
  older->answer();
  older->answer();
  REQUIRE(of_older);
  CHECK_FALSE(one->try_wrapping_keys({of_older}, {}));
  older->answer();
  CHECK(opens() == std::vector<std::string>{"keyring slow", "keyring older", file->name()});

  // Started anew it is believed for what it has proven before.
  const auto known = one->holder();
  const auto again = Servers::server("one", {.active = slow, .others = {file}});
  CHECK(again->holder(known)->getOpens().size() == 2);
  CHECK(again->holder()->getOpens().size() == 1);
}

TEST_CASE("wrapping key: one that fails hides no other, and is left alone for a while") {
  const Servers of;
  std::int64_t now = 1;
  const auto first = std::make_shared<SlowKey>("keyring first");
  const auto second = std::make_shared<SlowKey>("keyring second");
  const auto file = of.file("key");
  const auto server = [&](WrappingKeys keys) {
    auto opened = Keyring::open(
        {.server_id = "one", .wrapping = std::move(keys), .clock = [&now] { return now; }});
    REQUIRE(opened.has_value());
    return *opened;
  };
  Row of_second;
  const auto two = server({.active = second});
  two->make_root_key(wrapped_id, 4, {}, 0, [&](Result<Row> row) { of_second = *row; });
  second->answer();
  second->answer();
  const auto of_file = Servers::make(*server({.active = file}), {});
  const auto behind_first = [](const Row& row) {
    Draft<schema::RootKey> draft{row};
    auto wraps = draft->initWraps(2);
    wraps[0].setRecipient("keyring first");
    wraps[1].setRecipient(row->getWraps()[0].getRecipient());
    wraps[1].setSealed(row->getWraps()[0].getSealed());
    return draft.freeze();
  };
  first->failure = Error{Errc::unavailable, "connection refused"};

  const auto by_file = server({.active = first, .others = {file}});
  CHECK(by_file->opening(behind_first(of_file)) == Opening::yes);
  CHECK(first->asked == 0);

  const auto one = server({.active = first, .others = {second}});
  second->asked = 0;
  CHECK(one->opening(behind_first(of_second)) == Opening::not_yet);
  first->answer();
  second->failure = first->failure;
  CHECK(one->opening(behind_first(of_second)) == Opening::not_yet);
  second->answer();
  CHECK(first->asked == 1);
  CHECK(second->asked == 1);
  CHECK(one->seal_secret(behind_first(of_second), {token_seal, "a"}, "secret").error().what
        == "opening root key " + wrapped_id + " by \"keyring first\": connection refused");
  CHECK(first->asked + second->asked == 2);  // no read asks anew
  now += 6'000'000'000;
  second->failure = {};
  CHECK(one->opening(behind_first(of_second)) == Opening::not_yet);
  first->answer();
  CHECK(one->opening(behind_first(of_second)) == Opening::not_yet);
  second->answer();
  CHECK(one->opening(behind_first(of_second)) == Opening::yes);
}

TEST_CASE("wrapping key: a wrap that was changed, or is of another key, does not open") {
  Servers of;
  const auto key = of.file("key");
  const auto one = Servers::server("one", {.active = key});
  const auto made = Servers::make(*one, {});
  Draft<schema::RootKey> changed{made};
  changed->getWraps()[0].getSealed()[30] ^= 1;
  Draft<schema::RootKey> moved{made};
  moved->setKeyId("99999999-2222-4333-8444-555555555555");
  const auto two = Servers::server("two", {.active = key});

  const auto broken = changed.freeze();
  CHECK(two->opening(broken) == Opening::no);
  CHECK(two->seal_secret(broken, {token_seal, "a"}, "secret").error().what
        == "opening root key " + wrapped_id + " by \"" + key->name()
               + "\": what is sealed does not open with this key at this place");
  CHECK(two->opening(moved.freeze()) == Opening::no);
  CHECK(two->opening({}) == Opening::no);
  CHECK(two->opens(made));
}
