#include "runtime/cluster/variables/lock_commands.hpp"

#include "runtime/object/draft.hpp"
#include "test/support/anybody.hpp"
#include "test/unit/runtime/state/fixture.hpp"

using namespace nomad;
using namespace nomad::cluster;
using namespace std::chrono_literals;

TEST_CASE("check_lock: times and ids within bounds") {
  const auto says = [](const Result<>& checked) { return checked ? "" : checked.error().what; };
  const auto of = [&](std::chrono::nanoseconds ttl, std::chrono::nanoseconds delay) {
    return says(check_lock("id", ttl, delay));
  };

  CHECK(of(10s, 0s).empty());
  CHECK(of(24h, 24h).empty());
  CHECK(of(10s - 1ns, 0s) == "TTL must be between 10 seconds and 24 hours");
  CHECK(of(24h + 1ns, 0s) == "TTL must be between 10 seconds and 24 hours");
  CHECK(of(-1s, 0s) == "Lock delay and TTL must be positive");
  CHECK(of(10s, -1s) == "Lock delay and TTL must be positive");
  CHECK(of(10s, std::chrono::nanoseconds::max()) == "Lock delay must not be more than 24 hours");
  CHECK(says(check_lock(std::string(129, 'x'), 10s, 0s)) == "a lock's ID has at most 128 bytes");
}

TEST_CASE("check_locked_variable: it may be empty, and is else as any variable") {
  CHECK(check_locked_variable("default", "a", 0));
  CHECK(check_locked_variable("default", "nomad", 0).error().code == Errc::rejected);
  CHECK(check_locked_variable("default", "a", most_variable_bytes + 1).error().what
        == "variables are limited to 64KiB in total size");
}

TEST_CASE("check_renewal: of the lock that the variable has") {
  state::StateFixture state;
  state.run([](auto command) {
    auto key = command.initRootKeyUpsert().initKey();
    key.setKeyId("k1");
    key.setState(schema::RootKeyState::ACTIVE);
  });
  const auto asking = access::Asking::of_cluster("test");
  const auto check = [&](std::string_view path, std::string_view id) {
    const auto checked = check_renewal(state.now(), asking, "default", path, id);
    return checked ? std::string{} : checked.error().what;
  };
  CHECK(check("a", "id") == "variable doesn't exist");
  Draft<schema::Variable> variable;
  variable->setNamespace("default");
  variable->setPath("a");
  variable->setKeyId("k1");
  const auto plain = variable.freeze();
  state.run([&](auto command) { command.initVariableApply().setVariable(*plain); });
  CHECK(check("a", "id") == "variable doesn't hold a lock");
  variable->initLock().setId("id");
  const auto taken = decide_lock_variable(state.now(), asking, "global", variable.freeze(), true);
  REQUIRE(taken.has_value());
  state.run(
      [&](auto command) { command.setVariableLocking(taken->command->getVariableLocking()); });

  CHECK(check("a", "id").empty());
  CHECK(check("a", "other") == "attempting to modify locked variable");
  CHECK(decide_lock_variable(
            state.now(), asking, "global",
            [&] {
              variable->setNamespace("none");
              return variable.freeze();
            }(),
            true)
            .error()
            .what
        == "variable is in nonexistent namespace \"none\"");
}
