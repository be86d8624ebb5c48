// What a provider of a plugin has still to deregister when nobody is left who would ask it: written
// down, asked again, and known to the next agent.
#include "actors/client/service_debts.hpp"

#include <doctest/doctest.h>

#include "test/support/actor_fixture.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace std::chrono_literals;
using client::ServiceDebt;
using client::service_debts::Forgive;
using client::service_debts::Forgiven;
using client::service_debts::Kept;
using client::service_debts::Owe;
using client::service_provider::ChecksChanged;
using client::service_provider::Deregister;
using client::service_provider::Done;
using client::service_provider::Register;

namespace {

struct DebtsFixture : test::ActorFixture {
  test::TempDir dir;
  std::shared_ptr<storage::ClientStore> store;
  client::ClientDb db;
  std::shared_ptr<client::ServiceProviders> providers
      = std::make_shared<client::ServiceProviders>();
  client::ServiceDebts debts;
  std::vector<std::string> asked;  ///< "<allocation> id…"
  std::optional<Error> refuses;
  std::string refused_for;  ///< Allocations that begin so.

  DebtsFixture() {
    auto opened = storage::ClientStore::open(dir.file("state.db"));
    REQUIRE(opened.has_value());
    store = std::make_shared<storage::ClientStore>(std::move(*opened));
    begin();
  }

  ~DebtsFixture() { end(); }

  /// As an agent does that finds what the last one has left.
  void begin() {
    db = adopt(client::spawn_client_db_inline(system(), store));
    debts = adopt(
        client::spawn_service_debts(system(), {.db = db, .providers = providers, .owed = saved()}));
    settle();
  }

  void end() {
    actor::kill(debts);
    actor::kill(db);
    settle();
  }

  std::vector<ServiceDebt> saved() {
    const auto loaded = ask<client::client_db::Loaded>(db, client::client_db::Load{});
    REQUIRE(loaded->has_value());
    REQUIRE((*loaded)->has_value());
    return (**loaded)->debts;
  }

  void bring(const std::string& name) {
    const auto brought = adopt(actor::spawn(
        system(),
        [this](client::ServiceProvider::pointer) -> client::ServiceProvider::behavior_type {
          return {[](const Register&) { return Done{}; },
                  [this](const Deregister& order) -> actor::Answer<Done> {
                    std::string line = order.alloc_id;
                    for (const auto& id : order.ids)
                      line += ' ' + id;
                    asked.push_back(line);
                    if (refuses && order.alloc_id.starts_with(refused_for)) return *refuses;
                    return Done{};
                  },
                  [](const ChecksChanged&) {}};
        }));
    REQUIRE(providers->enter(name, {.plugin = name, .provider = brought}));
    providers->began(name);
    settle();
  }

  bool keeps(const std::string& provider,
             const std::string& alloc_id,
             std::vector<std::string> ids = {"web"}) {
    const auto kept = ask<Kept>(debts, Owe{{provider, alloc_id, std::move(ids)}});
    REQUIRE(kept->has_value());
    return (*kept)->has_value();
  }

  std::vector<std::string> take_asked() { return std::exchange(asked, {}); }
};

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE_FIXTURE(DebtsFixture, "debts: a provider is asked until it has done it") {
  bring("filesd");
  refuses = Error{Errc::io, "not now"};
  CHECK(keeps("filesd", "a1", {"db", "web"}));
  CHECK(take_asked() == Lines{"a1 db web"});
  advance(1s);
  CHECK(take_asked() == Lines{"a1 db web"});
  CHECK(saved() == std::vector{ServiceDebt{"filesd", "a1", {"db", "web"}}});

  refuses.reset();
  advance(2s);
  CHECK(take_asked() == Lines{"a1 db web"});
  CHECK(saved().empty());
  advance(10min);
  CHECK(take_asked().empty());
}

TEST_CASE_FIXTURE(DebtsFixture, "debts: a provider that came back is asked for what follows, too") {
  CHECK(keeps("filesd", "a1"));
  bring("filesd");
  CHECK(take_asked() == Lines{"a1 web"});
  advance(10s);  // The look for it that was due before it came.
  CHECK(keeps("filesd", "a2"));
  CHECK(take_asked() == Lines{"a2 web"});
}

TEST_CASE_FIXTURE(DebtsFixture, "debts: those of an agent that died are asked for by the next") {
  CHECK(keeps("filesd", "a1"));
  CHECK(keeps("second", "a1", {"has/slash"}));
  CHECK(keeps("filesd", "a2"));
  end();
  begin();
  bring("filesd");
  CHECK(take_asked() == Lines{"a1 web", "a2 web"});
  CHECK(saved() == std::vector{ServiceDebt{"second", "a1", {"has/slash"}}});
  bring("second");
  CHECK(take_asked() == Lines{"a1 has/slash"});
  CHECK(saved().empty());
}

TEST_CASE_FIXTURE(DebtsFixture, "debts: what is wanted again is forgiven, the rest is not") {
  CHECK(keeps("filesd", "a1", {"db", "web"}));
  CHECK(keeps("filesd", "a2"));
  CHECK((**ask<Forgiven>(debts, Forgive{{"filesd", "a1", {"db"}}})).has_value());
  CHECK((**ask<Forgiven>(debts, Forgive{{"filesd", "a3", {"db"}}})).has_value());
  CHECK(saved()
        == std::vector{ServiceDebt{"filesd", "a1", {"web"}}, ServiceDebt{"filesd", "a2", {"web"}}});
  bring("filesd");
  CHECK(take_asked() == Lines{"a1 web", "a2 web"});
}

TEST_CASE_FIXTURE(DebtsFixture, "debts: what a provider refuses holds nothing else up") {
  bring("filesd");
  refused_for = "a1";
  refuses = Error{Errc::io, "no such service"};
  CHECK(keeps("filesd", "a1"));
  CHECK(keeps("filesd", "a2"));
  advance(1s);
  CHECK(take_asked() == Lines{"a1 web", "a2 web", "a1 web"});
  CHECK(saved() == std::vector{ServiceDebt{"filesd", "a1", {"web"}}});
}

TEST_CASE_FIXTURE(DebtsFixture, "debts: the erasure of an allocation leaves them") {
  CHECK(keeps("filesd", "a1"));
  storage::ClientBatch batch;
  client::client_db::erase_alloc(batch, "a1");
  tell(db, client::client_db::SaveLater{std::move(batch)});
  CHECK(saved().size() == 1);
}

TEST_CASE_FIXTURE(DebtsFixture, "debts: there is a bound") {
  for (std::size_t i = 0; i < client::service_debts::most; ++i)
    tell(debts, Owe{{"filesd", "a" + std::to_string(i), {"web"}}});
  settle();
  const auto kept = ask<Kept>(debts, Owe{{"filesd", "one more", {"web"}}});
  REQUIRE(kept->has_value());
  REQUIRE_FALSE((*kept)->has_value());
  CHECK((*kept)->error().code == Errc::overloaded);
  CHECK_MESSAGE(keeps("filesd", "a1", {"db"}), "one that is known owes more");
}
