// Having identities signed: what is one question, and what is refused.
#include "actors/client/tools/identity_signer.hpp"

#include "test/unit/actors/client/client_fixture.hpp"

using namespace nomad;
using namespace nomad::test;
using client::identity_signer::Sign;
using client::identity_signer::Signed;

namespace {

/// Servers that answer when the test says so, and a signer alone.
struct SignerFixture : ClientFixture {
  struct Held {
    std::vector<door::Ask> questions{};
    std::vector<actor::Promise<door::Reply>> promises{};
    std::optional<door::Reply> reply{};  ///< To the newest.
  };

  std::shared_ptr<Held> held_questions = std::make_shared<Held>();
  FakeServers silent;
  client::IdentitySigner signer;

  SignerFixture() {
    silent = adopt(actor::spawn(
        system(), [kept = held_questions](FakeServers::pointer self) -> FakeServers::behavior_type {
          return {[kept, self](const door::Ask& msg) -> actor::Answer<door::Reply> {
                    kept->questions.push_back(msg);
                    kept->promises.push_back(self->make_response_promise<door::Reply>());
                    return kept->promises.back();
                  },
                  [kept](Push) { kept->promises.back().deliver(*std::exchange(kept->reply, {})); }};
        }));
    signer = adopt(client::spawn_identity_signer(system(), {.node_id = "n1", .servers = silent}));
  }

  ~SignerFixture() {
    actor::kill(signer);
    settle();
    held_questions->promises.clear();
  }

  Answer<Signed> sign(const std::string& task, std::vector<std::string> names) {
    std::vector<client::identity_signer::Wanted> wanted;
    for (auto& name : names)
      wanted.push_back({.workload = task, .is_service = task == "front", .name = std::move(name)});
    return ask<Signed>(signer, Sign{alloc_id(1), std::move(wanted)});
  }

  /// Answers the newest question, by so many identities more than were asked for.
  void answer(unsigned more = 0) {
    const auto wanted = held_questions->questions.back()->getSignIdentities();
    held_questions->reply = door::make_reply(1, [&](auto& reply) {
      auto list = reply.initIdentities(wanted.size() + more);
      for (unsigned i = 0; i < wanted.size(); ++i) {
        if (view(wanted[i].getName()) == "none") {
          list[i].setRefused("identity not found");
          continue;
        }
        list[i].setToken(wanted[i].getTask());
        list[i].setIssuedAt(5);
        list[i].setExpiresAt(12);
      }
    });
    tell(silent, Push{});
    settle();
  }

  std::size_t asked(std::size_t question) const {
    return held_questions->questions.at(question)->getSignIdentities().size();
  }
};

}  // namespace

TEST_CASE_FIXTURE(SignerFixture,
                  "identity_signer: what comes while a question is open is the next one") {
  const auto first = sign("a", {"db"});
  const auto second = sign("b", {"db", "none"});
  const auto third = sign("c", {""});
  CHECK(held_questions->questions.size() == 1);
  CHECK(asked(0) == 1);
  answer();
  REQUIRE(first->has_value());
  CHECK((**first)->identities.at(0).token.reveal() == "a");
  CHECK((**first)->identities.at(0).life == 7ns);
  CHECK(held_questions->questions.size() == 2);
  CHECK(asked(1) == 3);
  answer();
  CHECK((**second)->identities.at(0).token.reveal() == "b");
  CHECK((**second)->identities.at(1).token.empty());
  CHECK((**second)->identities.at(1).refused == "identity not found");
  CHECK((**third)->identities.at(0).token.reveal() == "c");
  CHECK(held_questions->questions.size() == 2);
}

TEST_CASE_FIXTURE(SignerFixture, "identity_signer: many tasks are asked for in several questions") {
  sign("first", {"db"});
  for (int i = 0; i < 400; ++i)
    sign("a", {"db"});
  sign("b", std::vector<std::string>(300, "db"));
  CHECK(asked(0) == 1);
  for (const std::size_t next : {256, 144, 300}) {
    answer();
    CHECK(asked(held_questions->questions.size() - 1) == next);
  }
  answer();
  CHECK(held_questions->questions.size() == 4);
}

TEST_CASE_FIXTURE(SignerFixture, "identity_signer: a service's is asked for as such") {
  const auto made = sign("front", {"consul"});
  const auto wanted = held_questions->questions.back()->getSignIdentities()[0];
  CHECK(wanted.getService());
  CHECK(view(wanted.getTask()) == "front");
  CHECK(view(wanted.getName()) == "consul");
  answer();
  CHECK((**made)->identities.at(0).token.reveal() == "front");
}

TEST_CASE_FIXTURE(SignerFixture, "identity_signer: an answer about something else is none") {
  const auto made = sign("a", {"db"});
  answer(1);
  REQUIRE(made->has_value());
  CHECK((*made)->error().what == "the servers' answer is not about what was asked");
}

TEST_CASE_FIXTURE(SignerFixture,
                  "identity_signer: there is a bound to what waits for the servers") {
  const auto many = sign("a", std::vector<std::string>(1001, "x"));
  REQUIRE(many->has_value());
  CHECK((*many)->error().what == "a task wants more than 1000 identities");

  for (std::size_t i = 0; i <= client::most_identity_orders; ++i) {
    tell(signer, Sign{"a", {{.workload = "web", .name = "db"}}});
    settle();
  }
  const auto refused = sign("a", {"db"});
  REQUIRE(refused->has_value());
  CHECK((*refused)->error().what == "too many tasks wait for their identities");
  CHECK(held_questions->questions.size() == 1);
}
