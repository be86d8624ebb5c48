// Random commands: whatever comes, the derived maps are what the rows imply, equal logs give equal
// states, and nothing that is refused leaves a trace.
#include <map>

#include "fixture.hpp"
#include "random_commands.hpp"

using namespace nomad;
using namespace nomad::state;

namespace {

/// The lines of one that the other lacks; the indexes of tables aside if not wanted.
std::string first_difference(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (a[i] != b[i]) return a[i].substr(0, 300) + " <> " + b[i].substr(0, 300);
  return a.size() == b.size() ? "" : "one has more lines";
}

/// How often each command was drawn, by its number.
using Drawn = std::vector<int>;

void run_seed(std::uint64_t seed, int steps, Drawn& drawn) {
  CAPTURE(seed);
  StateFixture fixture;
  Store twin;
  Drawer drawer{seed, fixture};
  int refused = 0;
  for (int step = 0; step < steps; ++step) {
    Draft<schema::Command> command;
    drawer.draw(*command);
    ++drawn.at(command->which());
    auto wanted = command.freeze();
    if (step % 8 == 0) wanted = drawer.guarded(wanted);
    if (wanted->isGuarded()) ++drawn.at(schema::Command::GUARDED);
    const bool watched = step % 10 == 0;
    const auto before = watched ? describe(fixture.now()) : std::vector<std::string>{};

    const Outcome outcome = fixture.store.apply(++fixture.index, *wanted);
    fixture.store.publish();
    const Outcome again = twin.apply(fixture.index, *wanted);

    REQUIRE(outcome.error == again.error);
    REQUIRE(outcome.stale == again.stale);
    REQUIRE(outcome.plans == again.plans);
    if (!outcome.error) continue;
    ++refused;
    if (watched) REQUIRE(first_difference(before, describe(fixture.now())) == "");
  }
  twin.publish();
  const auto state = describe(fixture.now());
  CHECK(first_difference(state, describe(twin.snapshot())) == "");
  CHECK(refused > 0);

  Store restored;
  const auto result = restore_into(restored, fixture.now());
  REQUIRE_MESSAGE(result.has_value(), (result ? "" : result.error().what));
  CHECK(first_difference(state, describe(restored.snapshot())) == "");
}

}  // namespace

TEST_CASE("Store: under random commands derived data equals what the rows imply") {
  const std::uint64_t first_seed = Random::from_system().next() >> 16;
  MESSAGE("first seed " << first_seed);
  Drawn drawn(known_commands());
  for (std::uint64_t seed = first_seed; seed < first_seed + 8; ++seed)
    run_seed(seed, 800, drawn);
  for (std::uint32_t command = 0; command < drawn.size(); ++command) {
    CAPTURE(command);
    const bool is_restore = command >= schema::Command::RESTORE_BEGIN
                            && command <= schema::Command::RESTORE_FINISH;  // restore_test.cpp
    CHECK((is_restore || drawn[command] > 0));
  }
}

TEST_CASE("Store: a fork goes its own way, and its base does not see it") {
  StateFixture fixture;
  Drawer drawer{5, fixture};
  for (int step = 0; step < 300; ++step)
    fixture.run([&](auto command) { drawer.draw(command); });
  const Snapshot base = fixture.now();
  const auto before = describe(base);

  Store fork{base};
  Store other{base};
  for (int step = 0; step < 200; ++step) {
    Draft<schema::Command> command;
    drawer.draw(*command);
    fork.apply(++fixture.index, command.reader());
    fork.publish();
    other.apply(fixture.index, command.reader());
  }
  other.publish();

  CHECK(first_difference(before, describe(base)) == "");
  CHECK(first_difference(before, describe(fixture.now())) == "");
  CHECK(first_difference(describe(fork.snapshot()), describe(other.snapshot())) == "");
  CHECK(first_difference(describe(fork.snapshot()), before) != "");
}
