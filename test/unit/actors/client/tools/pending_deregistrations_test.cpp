// What a provider of a plugin has still to deregister when nobody is left who would ask it: written
// down, asked again, and known to the next agent.
#include "actors/client/tools/pending_deregistrations.hpp"

#include <doctest/doctest.h>

#include "test/support/actor_fixture.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace std::chrono_literals;
using client::PendingDeregistration;
using client::pending_deregistrations::Keep;
using client::pending_deregistrations::Kept;
using client::pending_deregistrations::Withdraw;
using client::pending_deregistrations::Withdrawn;
using client::service_provider::ChecksChanged;
using client::service_provider::Deregister;
using client::service_provider::Done;
using client::service_provider::Register;

namespace {

struct PendingFixture : test::ActorFixture {
  test::TempDir dir;
  std::shared_ptr<storage::ClientStore> store;
  client::ClientDb db;
  std::shared_ptr<client::ServiceProviders> providers
      = std::make_shared<client::ServiceProviders>();
  client::PendingDeregistrations pending;
  std::vector<std::string> asked;  ///< "<allocation> id…"
  std::optional<Error> refuses;
  std::string refused_for;  ///< Allocations that begin so.

  PendingFixture() {
    auto opened = storage::ClientStore::open(dir.file("state.db"));
    REQUIRE(opened.has_value());
    store = std::make_shared<storage::ClientStore>(std::move(*opened));
    begin();
  }

  ~PendingFixture() { end(); }

  /// As an agent does that finds what the last one has left.
  void begin() {
    db = adopt(client::spawn_client_db_inline(system(), store));
    pending = adopt(client::spawn_pending_deregistrations(
        system(), {.db = db, .providers = providers, .owed = saved()}));
    settle();
  }

  void end() {
    actor::kill(pending);
    actor::kill(db);
    settle();
  }

  std::vector<PendingDeregistration> saved() {
    const auto loaded = ask<client::client_db::Loaded>(db, client::client_db::Load{});
    REQUIRE(loaded->has_value());
    REQUIRE((*loaded)->has_value());
    return (**loaded)->deregistrations;
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
    const auto kept = ask<Kept>(pending, Keep{{provider, alloc_id, std::move(ids)}});
    REQUIRE(kept->has_value());
    return (*kept)->has_value();
  }

  std::vector<std::string> take_asked() { return std::exchange(asked, {}); }
};

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE_FIXTURE(PendingFixture, "deregistrations: a provider is asked until it has done it") {
  bring("filesd");
  refuses = Error{Errc::io, "not now"};
  CHECK(keeps("filesd", "a1", {"db", "web"}));
  CHECK(take_asked() == Lines{"a1 db web"});
  advance(1s);
  CHECK(take_asked() == Lines{"a1 db web"});
  CHECK(saved() == std::vector{PendingDeregistration{"filesd", "a1", {"db", "web"}}});

  refuses.reset();
  advance(2s);
  CHECK(take_asked() == Lines{"a1 db web"});
  CHECK(saved().empty());
  advance(10min);
  CHECK(take_asked().empty());
}

TEST_CASE_FIXTURE(PendingFixture,
                  "deregistrations: a provider that came back is asked for what follows, too") {
  CHECK(keeps("filesd", "a1"));
  bring("filesd");
  CHECK(take_asked() == Lines{"a1 web"});
  advance(10s);  // The look for it that was due before it came.
  CHECK(keeps("filesd", "a2"));
  CHECK(take_asked() == Lines{"a2 web"});
}

TEST_CASE_FIXTURE(PendingFixture,
                  "deregistrations: those of an agent that died are asked for by the next") {
  CHECK(keeps("filesd", "a1"));
  CHECK(keeps("second", "a1", {"has/slash"}));
  CHECK(keeps("filesd", "a2"));
  end();
  begin();
  bring("filesd");
  CHECK(take_asked() == Lines{"a1 web", "a2 web"});
  CHECK(saved() == std::vector{PendingDeregistration{"second", "a1", {"has/slash"}}});
  bring("second");
  CHECK(take_asked() == Lines{"a1 has/slash"});
  CHECK(saved().empty());
}

TEST_CASE_FIXTURE(PendingFixture,
                  "deregistrations: what is wanted again is withdrawn, the rest is not") {
  CHECK(keeps("filesd", "a1", {"db", "web"}));
  CHECK(keeps("filesd", "a2"));
  CHECK((**ask<Withdrawn>(pending, Withdraw{{"filesd", "a1", {"db"}}})).has_value());
  CHECK((**ask<Withdrawn>(pending, Withdraw{{"filesd", "a3", {"db"}}})).has_value());
  CHECK(saved()
        == std::vector{PendingDeregistration{"filesd", "a1", {"web"}},
                       PendingDeregistration{"filesd", "a2", {"web"}}});
  bring("filesd");
  CHECK(take_asked() == Lines{"a1 web", "a2 web"});
}

TEST_CASE_FIXTURE(PendingFixture,
                  "deregistrations: what a provider refuses holds nothing else up") {
  bring("filesd");
  refused_for = "a1";
  refuses = Error{Errc::io, "no such service"};
  CHECK(keeps("filesd", "a1"));
  CHECK(keeps("filesd", "a2"));
  advance(1s);
  CHECK(take_asked() == Lines{"a1 web", "a2 web", "a1 web"});
  CHECK(saved() == std::vector{PendingDeregistration{"filesd", "a1", {"web"}}});
}

TEST_CASE_FIXTURE(PendingFixture, "deregistrations: the erasure of an allocation leaves them") {
  CHECK(keeps("filesd", "a1"));
  storage::ClientBatch batch;
  client::client_db::erase_alloc(batch, "a1");
  tell(db, client::client_db::SaveLater{std::move(batch)});
  CHECK(saved().size() == 1);
}

TEST_CASE_FIXTURE(PendingFixture, "deregistrations: there is a bound") {
  for (std::size_t i = 0; i < client::pending_deregistrations::most; ++i)
    tell(pending, Keep{{"filesd", "a" + std::to_string(i), {"web"}}});
  settle();
  const auto kept = ask<Kept>(pending, Keep{{"filesd", "one more", {"web"}}});
  REQUIRE(kept->has_value());
  REQUIRE_FALSE((*kept)->has_value());
  CHECK((*kept)->error()
        == Error{Errc::overloaded, "providers owe deregistrations of "
                                       + std::to_string(client::pending_deregistrations::most)
                                       + " allocations already"});
  CHECK_MESSAGE(keeps("filesd", "a1", {"db"}), "one that is known owes more");
}
