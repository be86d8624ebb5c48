// runtime/docker/engine_machine: what the machines over a container engine have in common.
#include "runtime/docker/engine_machine.hpp"

#include <variant>

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::docker;

namespace {

struct Asker : EngineMachine<std::variant<engine_action::Ask, engine_action::Wait>> {
  void begin() {
    ask(inspection_of("a/b"));
    wait(std::chrono::seconds{1});
  }

  bool hears(Round round) { return is_current(round); }
};

}  // namespace

TEST_CASE("engine_machine: an answer counts once, and only to the newest question") {
  Asker asker;
  asker.begin();

  const auto actions = asker.take();

  REQUIRE(actions.size() == 2);
  const auto& asked = std::get<engine_action::Ask>(actions[0]);
  const auto& waits = std::get<engine_action::Wait>(actions[1]);
  CHECK(asked.request.target == "/containers/a%2Fb/json");
  CHECK(asked.round < waits.round);
  CHECK_FALSE(asker.hears(0));
  CHECK_FALSE(asker.hears(asked.round));
  CHECK(asker.hears(waits.round));
  CHECK_FALSE(asker.hears(waits.round));
  CHECK(asker.take().empty());
}

TEST_CASE("engine_machine: an awaited round ends once, and none is awaited before it began") {
  engine_action::Round awaited = 0;
  CHECK_FALSE(ends_wait(awaited, 0));
  awaited = 7;
  CHECK_FALSE(ends_wait(awaited, 6));
  CHECK_FALSE(ends_wait(awaited, 0));
  CHECK(awaited == 7);
  CHECK(ends_wait(awaited, 7));
  CHECK_FALSE(ends_wait(awaited, 7));
}

TEST_CASE("engine_machine: an engine is away that does not answer, not one that refuses") {
  CHECK(is_away({Errc::unavailable, "cannot connect"}));
  CHECK(is_away({Errc::timeout, "no answer in time"}));
  CHECK(is_away({Errc::io, "the connection broke off"}));
  CHECK(is_away({Errc::corrupt, "no HTTP"}));
  CHECK_FALSE(is_away({Errc::not_found, "no such container"}));
  CHECK_FALSE(is_away({Errc::rejected, "API error (500)"}));
}
