#include "runtime/scheduler/reconcile/deployment_draft.hpp"

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

DeploymentGroupDraft group_with(std::int64_t canaries, bool promoted, bool automatic) {
  DeploymentGroupDraft group;
  group.desired_canaries = canaries;
  group.promoted = promoted;
  group.auto_promote = automatic;
  return group;
}

}  // namespace

TEST_CASE_FIXTURE(Harness, "a deployment is read as it was written") {
  DeploymentDraft draft;
  draft.id = "d";
  draft.groups["api"].placed_canaries = {"a", "b"};
  draft.groups["api"].desired_total = 3;
  draft.groups["db"].desired_total = 4;
  draft.groups["web"].healthy_allocs = 5;
  const auto object = draft.freeze(*make_job(1), 50);
  const auto again = DeploymentDraft::read(*object);
  REQUIRE(again.groups.size() == 3);
  CHECK(again.groups.at("api").placed_canaries == std::vector<std::string>{"a", "b"});
  CHECK(again.groups.at("api").desired_total == 3);
  CHECK(again.groups.at("db").desired_total == 4);
  CHECK(again.groups.at("web").healthy_allocs == 5);
}

TEST_CASE("a deployment waits for its promotion while some group's canaries are not promoted") {
  DeploymentDraft draft;
  draft.groups["api"] = group_with(0, false, false);
  CHECK_FALSE(draft.requires_promotion());
  draft.groups["db"] = group_with(1, true, false);
  CHECK_FALSE(draft.requires_promotion());
  draft.groups["web"] = group_with(1, false, false);
  CHECK(draft.requires_promotion());
}

TEST_CASE("a deployment promotes itself when every group with canaries does") {
  DeploymentDraft draft;
  draft.groups["api"] = group_with(0, false, false);
  CHECK_FALSE(draft.promotes_automatically());
  draft.groups["web"] = group_with(1, false, true);
  CHECK(draft.promotes_automatically());
  draft.groups["db"] = group_with(1, false, false);
  CHECK_FALSE(draft.promotes_automatically());
}
