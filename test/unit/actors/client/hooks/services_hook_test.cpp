// Services of a provider that a plugin brings. (Those of Nomad's own are seen by test_services.py.)
#include "actors/client/hooks/services_hook.hpp"

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"
#include "test/support/actor_fixture.hpp"
#include "test/unit/actors/client/hooks/hook_environments.hpp"

using namespace nomad;
using namespace std::chrono_literals;
using client::HookPhase;
using client::service_provider::Began;
using client::service_provider::ChecksChanged;
using client::service_provider::Deregister;
using client::service_provider::Done;
using client::service_provider::Register;

namespace {

struct ProvidedFixture : test::ActorFixture {
  std::shared_ptr<client::ServiceProviders> providers
      = std::make_shared<client::ServiceProviders>();
  std::vector<std::string> asked;  ///< "+ id…" and "- id…", without what ids begin with.
  std::optional<Error> refuses;    ///< What is asked.
  bool is_silent = false;
  std::vector<actor::Promise<Done>> unanswered;
  std::vector<std::string> names{"web"};
  std::string provider = "filesd";
  std::vector<client::PendingDeregistration> pending,
      withdrawn;                                 ///< That were handed over, and taken back.
  client::PendingDeregistrations pending_actor;  ///< Empty: there is none.
  client::Hook hook;

  ~ProvidedFixture() {
    actor::kill(hook);
    settle();
  }

  static std::string short_id(std::string_view id) {
    return std::string{id.substr(std::string_view{"_nomad-task-a1-group-g-"}.size())};
  }

  actor::Answer<Done> answer(client::ServiceProvider::pointer self) {
    if (refuses) return *refuses;
    if (is_silent) {
      unanswered.push_back(self->make_response_promise<Done>());
      return unanswered.back();
    }
    return Done{};
  }

  void bring(const std::string& name = "filesd") {
    const auto brought = adopt(actor::spawn(
        system(),
        [this](client::ServiceProvider::pointer self) -> client::ServiceProvider::behavior_type {
          return {[this, self](const Register& order) {
                    std::string line = "+";
                    for (const auto& one : order.services)
                      line += ' ' + short_id(view(one->getId()));
                    asked.push_back(line);
                    return answer(self);
                  },
                  [this, self](const Deregister& order) {
                    std::string line = "-";
                    for (const auto& id : order.ids)
                      line += ' ' + short_id(id);
                    asked.push_back(line);
                    return answer(self);
                  },
                  [](const ChecksChanged&) {}};
        }));
    REQUIRE(providers->enter(name, {.plugin = name, .provider = brought}));
  }

  void keep_pending() {
    pending_actor = adopt(
        actor::spawn(system(),
                     [this](client::PendingDeregistrations::pointer)
                         -> client::PendingDeregistrations::behavior_type {
                       return {[this](const client::pending_deregistrations::Keep& msg) {
                                 pending.push_back(msg.pending);
                                 return client::pending_deregistrations::Kept{};
                               },
                               [this](const client::pending_deregistrations::Withdraw& msg) {
                                 withdrawn.push_back(msg.pending);
                                 return client::pending_deregistrations::Withdrawn{};
                               },
                               [](const Began&) {}};
                     }));
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
    Draft<schema::plugin::HookTarget> target;
    target->setAllocId("a1");
    return {alloc.freeze(), job.freeze(), target.freeze()};
  }

  Answer<client::hook::Answered> run(schema::plugin::Phase phase) {
    const auto whom = scope();
    if (!hook)
      hook = client::group_services_hook({providers, pending_actor}).spawn(system(), {}, whom);
    Draft<schema::plugin::HookRequest> request;
    request->setPhase(phase);
    return ask<client::hook::Answered>(
        hook, client::hook::Run{request.freeze(), whom.alloc, whom.job, test::environments_of({})});
  }

  std::vector<std::string> take_asked() { return std::exchange(asked, {}); }

  std::vector<std::string> take_pending() {
    std::vector<std::string> lines;
    for (const auto& one : std::exchange(pending, {})) {
      lines.push_back(one.provider + ' ' + one.alloc_id);
      for (const auto& id : one.ids)
        lines.back() += ' ' + short_id(id);
    }
    return lines;
  }
};

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE_FIXTURE(ProvidedFixture,
                  "services: a plugin is asked for all services of a group at once, and for what "
                  "changes of them") {
  bring();
  names = {"web", "db"};
  CHECK(client::group_services_hook({}).wanted(scope()));
  CHECK(run(HookPhase::PRERUN)->has_value());
  CHECK(take_asked() == Lines{"+ web- db-"});

  names = {"web", "api"};
  CHECK(run(HookPhase::UPDATE)->has_value());
  CHECK(take_asked() == Lines{"- db-", "+ api-"});

  CHECK(run(HookPhase::PRE_KILL)->has_value());
  CHECK(take_asked() == Lines{"- api- web-"});
  CHECK(run(HookPhase::POSTRUN)->has_value());
  CHECK(take_asked().empty());
}

TEST_CASE_FIXTURE(ProvidedFixture, "services: a provider that begins anew is told again") {
  bring();
  run(HookPhase::PRERUN);
  take_asked();

  providers->began("other");
  settle();
  CHECK(take_asked().empty());
  providers->began("filesd");
  settle();
  CHECK(take_asked() == Lines{"+ web-"});

  run(HookPhase::PRE_KILL);
  take_asked();
  providers->began("filesd");
  settle();
  CHECK_MESSAGE(take_asked().empty(), "what has ended is not registered again");
}

TEST_CASE_FIXTURE(ProvidedFixture,
                  "services: what could not be deregistered is when the provider begins anew") {
  bring();
  run(HookPhase::PRERUN);
  take_asked();
  refuses = Error{Errc::unavailable, "not now"};
  run(HookPhase::PRE_KILL);
  CHECK(take_asked() == Lines{"- web-"});

  refuses.reset();
  providers->began("filesd");
  settle();
  CHECK(take_asked() == Lines{"- web-"});
}

TEST_CASE_FIXTURE(ProvidedFixture,
                  "services: what a provider still owes is kept before the end goes on") {
  bring();
  keep_pending();
  run(HookPhase::PRERUN);
  refuses = Error{Errc::unavailable, "not now"};
  const auto killed = run(HookPhase::PRE_KILL);
  advance(4s);
  CHECK_FALSE(killed->has_value());
  CHECK(pending.empty());
  advance(1s);
  CHECK(killed->has_value());
  CHECK(take_pending() == Lines{"filesd a1 web-"});
  CHECK_MESSAGE(run(HookPhase::POSTRUN)->has_value(), "it is nothing of the hook's any more");
  take_asked();
  advance(1min);
  CHECK(take_asked().empty());
}

TEST_CASE_FIXTURE(ProvidedFixture, "services: what an update drops is kept, and the rest goes on") {
  names = {"web", "db"};
  bring();
  keep_pending();
  run(HookPhase::PRERUN);
  withdrawn.clear();
  take_asked();
  refuses = Error{Errc::unavailable, "not now"};
  names = {"web", "api"};
  const auto updated = run(HookPhase::UPDATE);
  CHECK(take_asked() == Lines{"- db-"});
  advance(5s);
  CHECK(updated->has_value());
  CHECK(take_pending() == Lines{"filesd a1 db-"});
  CHECK_MESSAGE(asked.back() == "+ api-", "it waits for none of these");
  REQUIRE(withdrawn.size() == 1);
  CHECK(short_id(withdrawn[0].ids[0]) == "api-");

  names = {};
  run(HookPhase::UPDATE);
  advance(5s);
  CHECK_MESSAGE(take_pending() == Lines{"filesd a1 api- web-"}, "api may be there: who knows");
}

TEST_CASE_FIXTURE(ProvidedFixture, "services: a provider that is silent is left to others") {
  bring();
  keep_pending();
  run(HookPhase::PRERUN);
  is_silent = true;
  const auto killed = run(HookPhase::PRE_KILL);
  advance(5s);
  CHECK(killed->has_value());
  CHECK(take_pending() == Lines{"filesd a1 web-"});
  CHECK(run(HookPhase::POSTRUN)->has_value());
}

TEST_CASE_FIXTURE(ProvidedFixture, "services: those that move wait for no provider that is gone") {
  bring();
  bring("second");
  keep_pending();
  run(HookPhase::PRERUN);
  take_asked();
  is_silent = true;
  provider = "second";
  const auto updated = run(HookPhase::UPDATE);
  advance(5s);
  CHECK(updated->has_value());
  CHECK(take_pending() == Lines{"filesd a1 web-"});
  CHECK(take_asked() == Lines{"- web-", "+ web-"});
}

TEST_CASE_FIXTURE(ProvidedFixture, "services: who was never asked owes nothing") {
  keep_pending();
  run(HookPhase::PRERUN);
  CHECK(run(HookPhase::PRE_KILL)->has_value());
  CHECK(run(HookPhase::POSTRUN)->has_value());
  CHECK(pending.empty());
}

TEST_CASE_FIXTURE(ProvidedFixture, "services: what may be registered is deregistered") {
  bring();
  refuses = Error{Errc::io, "it is written, perhaps"};
  run(HookPhase::PRERUN);
  CHECK(take_asked() == Lines{"+ web-"});
  refuses.reset();
  run(HookPhase::PRE_KILL);
  CHECK(take_asked() == Lines{"- web-"});
}

TEST_CASE_FIXTURE(ProvidedFixture,
                  "services: what an earlier hook or agent registered is deregistered there") {
  bring();
  keep_pending();
  refuses = Error{Errc::unavailable, "not now"};
  const auto over = run(HookPhase::POSTRUN);
  CHECK(take_asked() == Lines{"- web-"});
  advance(5s);
  REQUIRE(over->has_value());
  CHECK(pending.size() == 1);
}

TEST_CASE_FIXTURE(ProvidedFixture, "services: what was deregistered is not pending") {
  bring();
  keep_pending();
  run(HookPhase::PRERUN);
  run(HookPhase::PRE_KILL);
  run(HookPhase::POSTRUN);
  advance(1min);
  CHECK(pending.empty());
}

TEST_CASE_FIXTURE(ProvidedFixture,
                  "services: one whose plugin is not there holds nothing up for long, and is "
                  "registered when it comes") {
  const auto answer = run(HookPhase::PRERUN);
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
  run(HookPhase::PRERUN);
  take_asked();
  providers->forget("filesd");
  bring();
  bring("second");
  provider = "second";
  run(HookPhase::UPDATE);
  CHECK(take_asked() == Lines{"- web-", "+ web-"});
}

TEST_CASE_FIXTURE(ProvidedFixture, "services: Consul's are nobody's here") {
  provider = "consul";
  CHECK_FALSE(client::group_services_hook({}).wanted(scope()));
}
