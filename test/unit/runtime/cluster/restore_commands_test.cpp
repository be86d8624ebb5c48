#include "runtime/cluster/restore_commands.hpp"

#include <doctest/doctest.h>

#include "runtime/state/store.hpp"

using namespace nomad;

namespace {

struct RestoreFixture {
  state::Store store;
  state::Index index = 0;

  state::Outcome apply(const Object<schema::Command>& command) {
    auto outcome = store.apply(++index, *command);
    store.publish();
    return outcome;
  }

  /// Begins a restore of two nodes that cannot be read; its last command is returned.
  Object<schema::Command> begin(const std::string& id) {
    cluster::RestoreCommands commands{id};
    const std::vector<std::byte> value(8);
    commands.add("nodes", "a", value);
    commands.add("nodes", "b", value);
    auto all = commands.finish(1);
    REQUIRE(all.size() == 3);
    CHECK_FALSE(apply(all[0]).error);
    CHECK_FALSE(apply(all[1]).error);
    return all[2];
  }

  std::string under_way() { return cluster::restore_under_way(store.snapshot()); }
};

}  // namespace

TEST_CASE("restore commands: what nobody goes on with is dropped") {
  RestoreFixture state;
  CHECK(state.under_way().empty());
  const auto last = state.begin("r1");
  CHECK(state.under_way() == "r1");

  const auto dropped = state.apply(cluster::abandon_restore("r1"));

  CHECK(cluster::is_abandoned(*dropped.error));
  CHECK_FALSE(cluster::is_abandoned({Errc::unavailable, "node is not the leader"}));
  CHECK_FALSE(dropped.replaced);
  CHECK(state.under_way().empty());
  CHECK(state.apply(last).error->code == Errc::conflict);
}

TEST_CASE("restore commands: who gives up leaves another's restore alone") {
  RestoreFixture state;
  state.begin("r1");
  state.begin("r2");

  CHECK(state.apply(cluster::abandon_restore("r1")).error);

  CHECK(state.under_way() == "r2");
}
