// The rotator: a cluster gets its first key by itself, newcomers get theirs, a full rotation ends.
#include "actors/server/keyring_rotator.hpp"

#include "runtime/base/clock.hpp"
#include "runtime/base/log.hpp"
#include "runtime/cluster/variable_commands.hpp"
#include "server_fixture.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::server;
using namespace std::chrono_literals;

namespace {

/// Nothing that ends lasts longer.
constexpr std::int64_t month = 720LL * 3600 * 1'000'000'000;

std::shared_ptr<security::Keyring> keyring_of(const std::string& id,
                                              security::WrappingKeys wrapping = {}) {
  auto opened = security::Keyring::open({.server_id = id, .wrapping = std::move(wrapping)});
  REQUIRE(opened.has_value());
  return *opened;
}

struct Keyrings : test::ServerFixture {
  std::shared_ptr<security::Keyring> keyring;
  std::shared_ptr<raft::LeaderView> leader = std::make_shared<raft::LeaderView>();
  SealedLink link = adopt(spawn_sealed_link(system(), proposer, {}, leader));
  LeaderDuty rotator = adopt(spawn_keyring_rotator(
      system(),
      store,
      keyring,
      link,
      {.thresholds = {.rotation = 2 * month, .retention = 0, .rekeyed_at_once = 2},
       .random_seed = 3}));

  explicit Keyrings(security::WrappingKeys wrapping = {})
      : keyring{keyring_of("one", std::move(wrapping))} {
    leader->set({.leads = true, .ready = true});
  }

  /// One that signs for more than a month.
  void put_old_key() {
    const auto key = keyring->make_root_key("11111111-2222-4333-8444-555555555555",
                                            unix_now() - month - month / 2, {keyring->holder()});
    write([&](schema::Command::Builder command) { command.initRootKeyUpsert().setKey(*key); });
  }

  void lead() {
    tell(rotator, Lead{true});
    commit();
  }

  void pass(std::chrono::nanoseconds time) {
    advance(time);
    commit();
  }

  void put(const std::string& path) {
    const auto sealed
        = keyring->seal_variable(state().active_root_key(), "default", path,
                                 security::encode_items({{"k", "value of " + path}}), 1);
    REQUIRE(sealed.has_value());
    const auto done = ask<SealedWritten>(link, WriteSealed{cluster::set_variable(*sealed, {})});
    commit();
    REQUIRE(done->has_value());
    REQUIRE(done->value().has_value());
  }

  std::size_t keys() const { return state().rows<state::kind::RootKeys>().size(); }
};

}  // namespace

TEST_CASE_FIXTURE(Keyrings,
                  "keyring_rotator: a new leader registers itself and makes the first key") {
  lead();

  CHECK(state().key_holder("one"));
  const auto active = state().active_root_key();
  REQUIRE(active);
  CHECK(keyring->opens(active));
  const auto before = entries;
  pass(5s);
  CHECK(entries == before);  // nothing is left to do
}

TEST_CASE_FIXTURE(Keyrings, "keyring_rotator: who does not lead makes no key, but is known") {
  pass(2s);

  CHECK(state().key_holder("one"));
  CHECK(keys() == 0);
}

TEST_CASE_FIXTURE(Keyrings, "keyring_rotator: keys are wrapped for a server that came later") {
  lead();
  const auto two = keyring_of("two");
  REQUIRE_FALSE(two->opens(state().active_root_key()));

  write([&](schema::Command::Builder command) { command.setKeyHolderUpsert(*two->holder()); });
  pass(1s);

  CHECK(two->opens(state().active_root_key()));
  CHECK(keyring->opens(state().active_root_key()));
}

TEST_CASE_FIXTURE(Keyrings, "keyring_rotator: who does not lead shares what the leader lacks") {
  pass(1s);  // known
  const auto key
      = keyring->make_root_key("22222222-2222-4333-8444-555555555555", 1, {keyring->holder()});
  write([&](schema::Command::Builder command) { command.initRootKeyUpsert().setKey(*key); });
  const auto leader = keyring_of("two");
  write([&](schema::Command::Builder command) { command.setKeyHolderUpsert(*leader->holder()); });
  REQUIRE_FALSE(leader->opens(state().active_root_key()));

  pass(3s);

  CHECK(leader->opens(state().active_root_key()));
}

TEST_CASE_FIXTURE(Keyrings, "keyring_rotator: a full rotation seals everything anew and ends") {
  put_old_key();
  lead();
  for (const auto* path : {"a", "b", "c", "d", "e"})
    put(path);
  const auto old = copy(state().active_root_key()->getKeyId());
  // It took over so long ago that nothing that the old key has signed has not ended.
  const auto next = keyring->make_root_key("22222222-2222-4333-8444-555555555555",
                                           unix_now() - month, {keyring->holder()});
  write([&](schema::Command::Builder command) {
    command.initRootKeyUpsert().setKey(*next);
    command.getRootKeyUpsert().setRekey(true);
  });

  for (int i = 0; i < 10; ++i)
    pass(1s);

  CHECK_FALSE(state().root_key(old));  // retired, unused, removed
  CHECK(keys() == 1);
  for (const auto* path : {"a", "b", "c", "d", "e"}) {
    const auto variable = state().variable("default", path);
    CHECK(view(variable->getKeyId()) == view(next->getKeyId()));
    const auto opened = keyring->open_variable(state().active_root_key(), variable);
    REQUIRE(opened.has_value());
    CHECK(security::decode_items(*opened)->front().second == "value of " + std::string{path});
  }
}

namespace {

void check_that_nothing_is_hindered(Keyrings& of) {
  of.put_old_key();
  of.lead();
  const auto stranger = keyring_of("lost");
  const auto foreign = stranger->make_root_key("00000000-2222-4333-8444-555555555555", 1, {});
  Draft<schema::RootKey> inactive{foreign};
  inactive->setState(schema::RootKeyState::INACTIVE);
  of.write([&](schema::Command::Builder command) {
    command.initRootKeyUpsert().setKey(inactive.reader());
  });
  const auto two = keyring_of("two");
  of.write([&](schema::Command::Builder command) { command.setKeyHolderUpsert(*two->holder()); });
  of.pass(2s);

  CHECK(two->opens(of.state().active_root_key()));
  CHECK_FALSE(of.state().root_key(view(foreign->getKeyId())));  // and it is collected
}

struct FileOfKey {
  test::TempDir dir;
  std::shared_ptr<security::WrappingKey> key
      = security::open_file_key({.path = dir.file("key"), .create = true},
                                security::system_random())
            .value();
};

struct WithFileKey : FileOfKey, Keyrings {
  WithFileKey() : Keyrings{{.active = key}} {}
};

/// Of a service that is away.
class LostKey : public security::WrappingKey {
public:
  const std::string& name() const override { return name_; }

  void wrap(std::string_view position, const security::Secret&, Wrapped done) override {
    wraps += position.starts_with("root key") ? 1 : 0;
    done(Error{Errc::unavailable, "connection refused"});
  }

  void unwrap(std::string_view, std::span<const std::byte>, Unwrapped done) override {
    done(Error{Errc::unavailable, "connection refused"});
  }

  int wraps = 0;

private:
  std::string name_ = "keyring lost";
};

struct LostService {
  std::shared_ptr<LostKey> lost = std::make_shared<LostKey>();
};

struct WithLostKey : LostService, Keyrings {
  WithLostKey() : Keyrings{{.active = lost}} {}
};

}  // namespace

TEST_CASE_FIXTURE(Keyrings, "keyring_rotator: a key that nobody here can open hinders no other") {
  check_that_nothing_is_hindered(*this);
}

TEST_CASE_FIXTURE(
    WithFileKey,
    "keyring_rotator: a key that nobody here can open hinders no other, with a wrapping key") {
  check_that_nothing_is_hindered(*this);
  CHECK(keyring::is_of_wrapping_key(view(state().active_root_key()->getWraps()[0].getRecipient())));
}

TEST_CASE_FIXTURE(WithLostKey, "keyring_rotator: a wrapping key that fails hinders no other duty") {
  check_that_nothing_is_hindered(*this);
}

TEST_CASE_FIXTURE(WithLostKey,
                  "keyring_rotator: a new key is tried less and less often while wrapping fails") {
  lead();
  for (int i = 0; i < 300; ++i)
    pass(1s);

  CHECK(keys() == 0);
  CHECK(lost->wraps > 5);
  CHECK(lost->wraps < 15);
}

TEST_CASE_FIXTURE(Keyrings, "keyring_rotator: replaces an active key that it cannot open") {
  lead();
  const auto foreign
      = keyring_of("lost")->make_root_key("00000000-2222-4333-8444-555555555555", 1, {});
  write([&](schema::Command::Builder command) { command.initRootKeyUpsert().setKey(*foreign); });
  REQUIRE_FALSE(keyring->opens(state().active_root_key()));

  pass(1s);

  CHECK(keyring->opens(state().active_root_key()));
}

TEST_CASE_FIXTURE(Keyrings, "keyring_rotator: goes on after a refused write") {
  tell(rotator, Lead{true});
  refuse();
  CHECK(keys() == 0);

  pass(1s);

  CHECK(keys() == 1);
}

TEST_CASE_FIXTURE(Keyrings, "keyring_rotator: what goes on failing is said once a minute") {
  int said = 0;
  const auto listener = nomad::log::add_listener(
      nomad::log::Level::warn, [&said](nomad::log::Level, const std::string&) { ++said; });
  tell(rotator, Lead{true});
  settle();
  int refused = 0;
  for (int i = 0; i < 30; ++i) {
    const Error why{Errc::unavailable, "behind index " + std::to_string(i)};
    refused += refuse(why) > 0 ? 1 : 0;
    advance(1s);
  }
  CHECK(refused > 10);
  CHECK(said == 1);
  nomad::log::remove_listener(listener);
}

TEST_CASE_FIXTURE(Keyrings, "keyring_rotator: a full rotation seals secrets of tokens anew") {
  put_old_key();
  lead();
  const auto first = state().active_root_key();
  const auto sealed = keyring->seal_secret(first, {security::token_seal, "a"}, "canary");
  REQUIRE(sealed.has_value());
  Draft<schema::Command> command;
  auto upsert = command->initAclTokenUpsert();
  upsert.setIsNew(true);
  auto token = upsert.initToken();
  token.setAccessorId("a");
  token.setSecretHash({reinterpret_cast<const unsigned char*>("hash"), 4});
  token.setKeyId(first->getKeyId());
  token.setSealed({reinterpret_cast<const unsigned char*>(sealed->data()), sealed->size()});
  const auto put = ask<SealedWritten>(link, WriteSealed{command.freeze()});
  commit();
  REQUIRE(put->value().has_value());
  const auto rotated = ask<SealedWritten>(
      link, WriteSealed{cluster::put_root_key(
                keyring->make_root_key("second", unix_now() - month, {}), true)});
  commit();
  REQUIRE(rotated->value().has_value());

  for (int i = 0; i < 6; ++i)
    pass(10min);

  const auto stored = state().row<state::kind::AclTokens>("a");
  CHECK(view(stored->getKeyId()) == "second");
  const auto opened = keyring->open_secret(state().root_key("second"), {security::token_seal, "a"},
                                           stored->getSealed());
  REQUIRE(opened.has_value());
  CHECK(opened->text() == "canary");
  CHECK_FALSE(state().root_key(view(first->getKeyId())));  // nothing is sealed with it any more
}
