// What a group says about clients that are away, in whichever of its forms.
#include "runtime/object/disconnect.hpp"

#include <doctest/doctest.h>

using namespace nomad;

namespace {

constexpr std::int64_t minute = 60'000'000'000;

DisconnectRules rules_of(Draft<schema::TaskGroup>& group) {
  return disconnect_rules(group.reader());
}

}  // namespace

TEST_CASE("disconnect: a group that says nothing loses its allocations, and has them replaced") {
  Draft<schema::TaskGroup> group;
  const auto rules = rules_of(group);
  CHECK_FALSE(rules.tolerates_absence());
  CHECK_FALSE(rules.lost_after);
  CHECK_FALSE(rules.stop_on_client_after);
  CHECK(rules.replaces);
  CHECK(rules.reconcile == Reconcile::best_score);
}

TEST_CASE("disconnect: the block and the older fields say the same") {
  Draft<schema::TaskGroup> older;
  Draft<schema::TaskGroup> newer;
  auto block = newer->initDisconnect();
  block.getReplace().setValue(true);
  SUBCASE("for how long it is awaited") {
    older->getMaxClientDisconnect().setValue(minute);
    block.getLostAfter().setValue(minute);
    CHECK(rules_of(newer).tolerates_absence());
  }
  SUBCASE("when its client ends it") {
    older->getStopAfterClientDisconnect().setValue(minute);
    block.getStopOnClientAfter().setValue(minute);
    CHECK_FALSE(rules_of(newer).tolerates_absence());
  }
  SUBCASE("whether it is replaced") {
    older->setPreventRescheduleOnLost(true);
    block.getReplace().setValue(false);
    CHECK(rules_of(newer).tolerates_absence());
  }
  const auto a = rules_of(older);
  const auto b = rules_of(newer);
  CHECK(a.lost_after == b.lost_after);
  CHECK(a.stop_on_client_after == b.stop_on_client_after);
  CHECK(a.replaces == b.replaces);
  CHECK(a.tolerates_absence() == b.tolerates_absence());
}

TEST_CASE("disconnect: a block that awaits nothing is as none") {
  Draft<schema::TaskGroup> group;
  auto block = group->initDisconnect();
  block.getReplace().setValue(true);
  block.setReconcile("keep_original");
  CHECK_FALSE(rules_of(group).tolerates_absence());
  CHECK(rules_of(group).reconcile == Reconcile::keep_original);
}
