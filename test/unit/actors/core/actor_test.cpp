// actors/core/actor.hpp: errors through CAF, urgent messages, answers from results.
#include "actors/core/actor.hpp"

#include <doctest/doctest.h>

#include "actors/core/caf_actor.hpp"
#include "test/support/actor_fixture.hpp"

using namespace nomad;

namespace {

struct Note {
  using is_message = void;
  int number;
};

struct Halve {
  using is_message = void;
  int number;
};

struct Half {
  using is_message = void;
  int number;
};

using Halver = actor::Interface<Half(Halve)>;

Halver::behavior_type halver(Halver::pointer) {
  return {[](const Halve& msg) -> actor::Answer<Half> {
    if (msg.number % 2 != 0)
      return actor::answer(Result<Half>{Error{Errc::invalid_argument, "the number is odd"}});
    return actor::answer(Result<Half>{Half{msg.number / 2}});
  }};
}

}  // namespace

TEST_CASE("actor: an error survives the trip through CAF") {
  const Error original{Errc::not_found, "no such job"};
  CHECK(actor::from_caf(actor::to_caf(original)) == original);
  CHECK(actor::from_caf(caf::sec::request_timeout).code == Errc::timeout);
  CHECK(actor::from_caf(caf::sec::request_receiver_down).code == Errc::unavailable);
}

TEST_CASE_FIXTURE(test::ActorFixture, "actor: a result becomes an answer or its error") {
  auto halves = adopt(actor::spawn(system(), halver));

  auto even = ask<Half>(halves, Halve{8});
  auto odd = ask<Half>(halves, Halve{7});

  REQUIRE(even->has_value());
  CHECK((*even)->value().number == 4);
  REQUIRE(odd->has_value());
  CHECK((*odd)->error() == Error{Errc::invalid_argument, "the number is odd"});
}

TEST_CASE_FIXTURE(test::ActorFixture, "actor: urgent messages overtake normal ones") {
  auto notes = record<Note>();

  adopt(actor::spawn(system(), [&notes](actor::Any::pointer self) -> actor::Any::behavior_type {
    for (int number : {1, 2, 3})
      self->send(notes.handle, Note{number});
    actor::send_urgent(self, notes.handle, Note{100});
    return {};
  }));
  settle();

  std::vector<int> order;
  for (auto& seen : *notes.seen)
    order.push_back(seen.number);
  CHECK(order == std::vector<int>{100, 1, 2, 3});
}
