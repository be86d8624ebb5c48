// The manager of drivers, with drivers that behave badly.
#include "actors/client/drivers/driver_manager.hpp"

#include <doctest/doctest.h>

#include "test/support/actor_fixture.hpp"
#include "test/support/fake_driver.hpp"

using namespace nomad;
using namespace nomad::test;
using namespace std::chrono_literals;
using client::driver::Answered;
using client::driver_manager::Changed;
using Strings = std::vector<std::string>;

namespace {

using Act = std::optional<actor::Answer<Answered>>;

struct ManagerFixture : ActorFixture {
  client::PluginCatalog plugins;
  std::map<std::string, std::map<std::string, std::string>> configs;
  std::shared_ptr<const client::KnownDrivers> known;
  std::vector<client::DriverOptions> lives;  ///< What each new driver "one" was made with.
  std::vector<client::Driver> drivers;       ///< These drivers.
  client::DriverManager manager;
  int published = 0;

  ~ManagerFixture() {
    actor::kill(manager);
    settle();
  }

  /// Adds a driver that does as `act` says.
  void add(const std::string& name, DriverAct act = {}) {
    plugins.drivers[name] = fake_driver(std::move(act));
  }

  void start(std::function<bool(const std::string&)> is_allowed = {}) {
    if (auto& one = plugins.drivers["one"]; one.spawn)
      one.spawn = [this, real = one.spawn](const actor::Owner& owner,
                                           const client::DriverOptions& options) {
        lives.push_back(options);
        drivers.push_back(real(owner, options));
        return drivers.back();
      };
    else
      plugins.drivers.erase("one");
    const auto parent = adopt(actor::spawn(
        system(),
        [this](client::DriverManagerParent::pointer) -> client::DriverManagerParent::behavior_type {
          return {[this](const Changed& msg) {
            known = msg.drivers;
            ++published;
          }};
        }));
    manager = client::spawn_driver_manager(
        system(), {.plugins = std::make_shared<const client::PluginCatalog>(plugins),
                   .common = {},
                   .configs = configs,
                   .is_allowed = std::move(is_allowed),
                   .parent = parent});
    settle();
  }

  const client::KnownDriver& one() const { return known->at("one"); }

  std::string says() const { return copy(one().feels().getDescription()); }

  /// Ends the newest driver "one" as a bug would.
  void crash() { tell(drivers.back(), client::driver::signal_task({"crash", ""}, "")); }

  /// Of one that `crash` ends.
  static Act crashable(client::Driver::pointer self, DriverRequest::Reader request) {
    if (request.isSignalTask() && view(request.getSignalTask().getId().getAllocId()) == "crash")
      self->quit(Error{Errc::internal, "a bug"});
    return std::nullopt;
  }

  void add_crashable() {
    add("one", [](auto self, const auto&, auto request) { return crashable(self, request); });
  }
};

}  // namespace

TEST_CASE_FIXTURE(ManagerFixture,
                  "driver_manager: nothing is told before all have said how they feel") {
  actor::Promise<Answered> owed;
  add("one");
  add("slow", [&owed](auto self, const auto&, auto request) -> Act {
    if (!request.isFingerprint()) return std::nullopt;
    owed = self->template make_response_promise<Answered>();
    return owed;
  });
  start();
  CHECK(published == 0);

  advance(50s);
  REQUIRE(known);
  CHECK(one().feels().getHealthy());
  CHECK_FALSE(known->at("slow").feels().getHealthy());
  CHECK(known->at("slow").driver);
  CHECK(
      view(known->at("slow").feels().getDescription()).starts_with("failed to fingerprint driver"));
  owed = {};
}

TEST_CASE_FIXTURE(ManagerFixture,
                  "driver_manager: who may run nothing is there, to end what he left running") {
  actor::Promise<Answered> asked;
  Answered description;
  add("one", [&](auto self, const auto&, auto request) -> Act {
    if (request.isSignalTask()) asked.deliver(description);
    if (!request.isDescribe()) return std::nullopt;
    description = good_answer(request);
    asked = self->template make_response_promise<Answered>();
    return asked;
  });
  start([](const std::string&) { return false; });
  CHECK(published == 0);

  tell(drivers.back(), client::driver::signal_task({"", ""}, ""));
  settle();
  REQUIRE(known);
  CHECK(one().driver);
  asked = {};
}

TEST_CASE_FIXTURE(ManagerFixture, "driver_manager: without drivers there is nothing to wait for") {
  start();
  REQUIRE(known);
  CHECK(known->empty());
}

TEST_CASE_FIXTURE(ManagerFixture,
                  "driver_manager: a driver that never says what it is has no tasks") {
  std::vector<actor::Promise<Answered>> owed;
  add("one", [&owed](auto self, const auto&, auto request) -> Act {
    if (!request.isDescribe()) return std::nullopt;
    owed.push_back(self->template make_response_promise<Answered>());
    return owed.back();
  });
  start();
  advance(51s);
  REQUIRE(known);
  CHECK_FALSE(one().driver);
  CHECK_FALSE(one().feels().getHealthy());
  advance(5s);
  CHECK(lives.size() == 2);
  owed.clear();
}

TEST_CASE_FIXTURE(ManagerFixture, "driver_manager: an answer to something else is no description") {
  add("one", [](auto, const auto&, auto request) -> Act {
    if (!request.isDescribe()) return std::nullopt;
    return client::driver::done();
  });
  start();
  REQUIRE(known);
  CHECK_FALSE(one().driver);
  CHECK(says().find("something else") != std::string::npos);
}

TEST_CASE_FIXTURE(ManagerFixture,
                  "driver_manager: a dead one is followed by another, later each time") {
  add_crashable();
  start();
  CHECK(one().driver);
  std::vector<int> waits;
  for (int i = 0; i < 7; ++i) {
    const auto before = lives.size();
    crash();
    CHECK_FALSE(one().driver);
    CHECK_FALSE(one().feels().getHealthy());
    CHECK_MESSAGE(one().feels().getDetected(), "what it is stays known");
    int waited = 0;
    for (; lives.size() == before; ++waited)
      advance(1s);
    waits.push_back(waited);
    CHECK(one().driver);
    CHECK(one().feels().getHealthy());
  }
  CHECK(waits == std::vector<int>{5, 10, 20, 40, 80, 120, 120});

  advance(2min);
  crash();
  advance(5s);
  CHECK_MESSAGE(one().driver, "it had been well");
}

TEST_CASE_FIXTURE(ManagerFixture, "driver_manager: one that throws has died") {
  bool throws = true;
  add("one", [&throws](auto, const auto&, auto request) -> Act {
    if (request.isFingerprint() && std::exchange(throws, false)) throw std::runtime_error{"ouch"};
    return std::nullopt;
  });
  start();
  REQUIRE(known);
  CHECK_FALSE(one().driver);
  CHECK(says().find("ouch") != std::string::npos);
  advance(5s);
  CHECK(one().driver);
  CHECK(one().feels().getHealthy());
}

TEST_CASE_FIXTURE(ManagerFixture, "driver_manager: how one feels is asked, and told by itself") {
  std::string mood = "fine";
  add("one", [&mood](auto, const auto&, auto request) -> Act {
    if (!request.isFingerprint()) return std::nullopt;
    return client::driver::fingerprinted(client::driver::make_fingerprint(true, true, mood));
  });
  start();
  CHECK(says() == "fine");
  mood = "better";
  advance(30s);
  CHECK(says() == "better");

  const auto sick = client::driver::make_fingerprint(true, false, "sick");
  tell(lives[0].agent, client::driver::felt("one", sick));
  CHECK(says() == "sick");
  const auto before = published;
  tell(lives[0].agent, client::driver::felt("one", sick));
  tell(lives[0].agent, client::driver::felt("nobody", sick));
  CHECK(published == before);
}

TEST_CASE_FIXTURE(ManagerFixture,
                  "driver_manager: what is told of a task reaches who looks after it") {
  add("one");
  start();
  const auto web = record<client::plugin_agent::Notice>();
  const client::driver::TaskId id{"alloc", "web"};
  tell(manager, client::driver_manager::Serve{id, web.handle});
  const auto& agent = lives[0].agent;
  tell(agent, client::driver::exited(id, "run", {.code = 3}));
  tell(agent, client::driver::exited({"alloc", "other"}, "run", {}));
  tell(manager, client::driver_manager::Leave{id});
  tell(agent, client::driver::message(id, 1, "too late"));

  REQUIRE(web.seen->size() == 1);
  const auto end = (*web.seen)[0].notice->getExited();
  CHECK(view(end.getRunId()) == "run");
  CHECK(end.getResult().getCode() == 3);
}

TEST_CASE_FIXTURE(ManagerFixture, "driver_manager: a driver that is not allowed ends what it ran") {
  configs["one"] = {{"enabled", "true"}};
  add("one");
  start([](const std::string&) { return false; });
  REQUIRE(known);
  CHECK(one().retired);
  CHECK(one().driver);
  CHECK(lives[0].config == std::map<std::string, std::string>{{"enabled", "false"}});
}

TEST_CASE_FIXTURE(ManagerFixture, "driver_manager: a driver's questions are refused") {
  add("one");
  start();
  Draft<schema::plugin::AgentRequest> draft;
  draft->setReadAlloc();
  const auto answer = ask<client::plugin_agent::Answered>(
      lives[0].agent, client::plugin_agent::Ask{draft.freeze()});
  REQUIRE(answer->has_value());
  CHECK((**answer).error().code == Errc::rejected);
}

TEST_CASE_FIXTURE(ManagerFixture,
                  "driver_manager: with another catalog new drivers begin, and those gone end") {
  add_crashable();
  add("leaves");
  start();
  REQUIRE(known->contains("leaves"));
  const auto leaving = known->at("leaves").driver;
  const auto before = drivers.size();

  plugins.drivers.erase("leaves");
  add("comes");
  tell(manager,
       client::driver_manager::SetCatalog{std::make_shared<const client::PluginCatalog>(plugins)});

  CHECK_FALSE(known->contains("leaves"));
  REQUIRE(known->contains("comes"));
  CHECK(known->at("comes").feels().getHealthy());
  CHECK_MESSAGE(drivers.size() == before, "the others go on");
  const auto asked = ask<Answered>(leaving, client::driver::describe());
  REQUIRE(asked->has_value());
  CHECK_FALSE((*asked)->has_value());
}
