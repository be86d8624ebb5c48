// Services of a provider that a plugin brings. (Those of Nomad's own are seen by test_services.py.)
#include "actors/client/hooks/services_hook.hpp"

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"
#include "test/support/actor_fixture.hpp"

using namespace nomad;
using namespace std::chrono_literals;
using client::service_provider::Began;
using client::service_provider::ChecksChanged;
using client::service_provider::Deregister;
using client::service_provider::Done;
using client::service_provider::Register;
using enum schema::plugin::Phase;

namespace {

struct ProvidedFixture : test::ActorFixture {
  std::shared_ptr<client::ServiceProviders> providers
      = std::make_shared<client::ServiceProviders>();
  std::vector<std::string> asked;  ///< "+ id…" and "- id…", without what ids begin with.
  std::optional<Error> refuses;    ///< What is asked.
  std::vector<std::string> names{"web"};
  std::string provider = "filesd";
  client::Hook hook;

  ~ProvidedFixture() {
    actor::kill(hook);
    settle();
  }

  static std::string short_id(std::string_view id) {
    return std::string{id.substr(std::string_view{"_nomad-task-a1-group-g-"}.size())};
  }

  actor::Answer<Done> answer() const {
    if (refuses) return *refuses;
    return Done{};
  }

  void bring(const std::string& name = "filesd") {
    const auto brought = adopt(actor::spawn(
        system(),
        [this](client::ServiceProvider::pointer) -> client::ServiceProvider::behavior_type {
          return {[this](const Register& order) {
                    std::string line = "+";
                    for (const auto& one : order.services)
                      line += ' ' + short_id(view(one->getId()));
                    asked.push_back(line);
                    return answer();
                  },
                  [this](const Deregister& order) {
                    std::string line = "-";
                    for (const auto& id : order.ids)
                      line += ' ' + short_id(id);
                    asked.push_back(line);
                    return answer();
                  },
                  [](const ChecksChanged&) {}};
        }));
    REQUIRE(providers->enter(name, {.plugin = name, .provider = brought}));
  }

  client::HookScope scope() const {
    Draft<schema::Allocation> alloc;
    alloc->setId("a1");
    alloc->setTaskGroup("g");
    Draft<schema::Job> job;
    auto group = job->initTaskGroups(1)[0];
    group.setName("g");
    auto services = group.initServices(static_cast<unsigned>(names.size()));
    for (unsigned i = 0; i < services.size(); ++i) {
      services[i].setName(names[i]);
      services[i].setProvider(provider);
    }
    Draft<schema::plugin::HookPlace> place;
    place->setAllocId("a1");
    return {alloc.freeze(), job.freeze(), place.freeze()};
  }

  Answer<client::hook::Answered> run(schema::plugin::Phase phase) {
    const auto whom = scope();
    if (!hook) {
      client::HookTools tools{.host = {}, .steps = {}, .checks = {}, .unix_now = [] { return 0; }};
      tools.providers = providers;
      hook = client::group_services_hook().spawn(system(), tools, whom);
    }
    Draft<schema::plugin::HookRequest> request;
    request->setPhase(phase);
    return ask<client::hook::Answered>(hook,
                                       client::hook::Run{request.freeze(), whom.alloc, whom.job});
  }

  std::vector<std::string> take_asked() { return std::exchange(asked, {}); }
};

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE_FIXTURE(ProvidedFixture,
                  "services: a plugin is asked for all services of a group at once, and for what "
                  "changes of them") {
  bring();
  names = {"web", "db"};
  CHECK(client::group_services_hook().wanted(scope()));
  CHECK(run(PRERUN)->has_value());
  CHECK(take_asked() == Lines{"+ web- db-"});

  names = {"web", "api"};
  CHECK(run(UPDATE)->has_value());
  CHECK(take_asked() == Lines{"- db-", "+ api-"});

  CHECK(run(PRE_KILL)->has_value());
  CHECK(take_asked() == Lines{"- api- web-"});
  CHECK(run(POSTRUN)->has_value());
  CHECK(take_asked().empty());
}

TEST_CASE_FIXTURE(ProvidedFixture, "services: a provider that begins anew is told again") {
  bring();
  run(PRERUN);
  take_asked();

  providers->began("other");
  settle();
  CHECK(take_asked().empty());
  providers->began("filesd");
  settle();
  CHECK(take_asked() == Lines{"+ web-"});

  run(PRE_KILL);
  take_asked();
  providers->began("filesd");
  settle();
  CHECK_MESSAGE(take_asked().empty(), "what has ended is not registered again");
}

TEST_CASE_FIXTURE(ProvidedFixture,
                  "services: what could not be deregistered is when the provider begins anew") {
  bring();
  run(PRERUN);
  take_asked();
  refuses = Error{Errc::unavailable, "not now"};
  run(PRE_KILL);
  CHECK(take_asked() == Lines{"- web-"});

  refuses.reset();
  providers->began("filesd");
  settle();
  CHECK(take_asked() == Lines{"- web-"});
}

TEST_CASE_FIXTURE(ProvidedFixture,
                  "services: what an earlier hook or agent registered is deregistered there") {
  bring();
  run(POSTRUN);
  CHECK(take_asked() == Lines{"- web-"});
}

TEST_CASE_FIXTURE(ProvidedFixture,
                  "services: one whose plugin is not there holds nothing up for long, and is "
                  "registered when it comes") {
  const auto answer = run(PRERUN);
  CHECK_FALSE(answer->has_value());
  advance(5s);
  REQUIRE(answer->has_value());
  CHECK((*answer)->has_value());

  bring();
  providers->began("filesd");
  settle();
  CHECK(take_asked() == Lines{"+ web-"});
}

TEST_CASE_FIXTURE(ProvidedFixture, "services: an update may move them to another provider") {
  bring();
  run(PRERUN);
  take_asked();
  providers->forget("filesd");
  bring();
  bring("second");
  provider = "second";
  run(UPDATE);
  CHECK(take_asked() == Lines{"- web-", "+ web-"});
}

TEST_CASE_FIXTURE(ProvidedFixture, "services: Consul's are nobody's here") {
  provider = "consul";
  CHECK_FALSE(client::group_services_hook().wanted(scope()));
}
