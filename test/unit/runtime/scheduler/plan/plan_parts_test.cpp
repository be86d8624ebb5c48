// Plans that are too long for a log entry.
#include "runtime/scheduler/plan/plan_parts.hpp"

#include <set>

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

PlannedAlloc placement(const std::string& id) {
  Draft<schema::Allocation> row;
  row->setId(text(id));
  return {row.freeze(), {}, true};
}

/// `nodes` nodes with `each` placements, and all that a plan has only once.
std::shared_ptr<const Plan> long_plan(int nodes, int each) {
  Plan plan;
  plan.eval_id = "eval";
  plan.snapshot_index = 7;
  for (int n = 0; n < nodes; ++n)
    for (int i = 0; i < each; ++i)
      plan.nodes["node-" + std::to_string(n)].placements.push_back(
          placement(std::to_string(n) + "-" + std::to_string(i)));
  plan.deployment = Draft<schema::Deployment>{}.freeze();
  plan.evaluations.push_back(Draft<schema::Evaluation>{}.freeze());
  plan.completion = Draft<schema::Evaluation>{}.freeze();
  return std::make_shared<const Plan>(std::move(plan));
}

/// Room for so many rows beside what a long plan has once.
PartLimits room_for(int rows) {
  const auto plan = long_plan(0, 0);
  return {.part_bytes = static_cast<std::size_t>(rows) * placement("0-0").row.size_in_bytes()
                        + plan->deployment.size_in_bytes()
                        + plan->evaluations.front().size_in_bytes()
                        + plan->completion.size_in_bytes()};
}

PlanResult written(std::uint64_t index) {
  PlanResult result;
  result.alloc_index = index;
  result.made_progress = true;
  return result;
}

PlanResult refused(const Plan& part, std::uint64_t refresh) {
  PlanResult result;
  result.refresh_index = refresh;
  for (const auto& [node, changes] : part.nodes)
    result.rejected_nodes.emplace(node, "full");
  return result;
}

}  // namespace

TEST_CASE("plan parts: a short plan is one part") {
  const auto plan = long_plan(2, 2);
  PlanParts parts{plan};
  CHECK(&parts.next() == plan.get());
  CHECK_FALSE(parts.is_cut());
  auto result = written(9);
  result.completion_written = true;
  parts.settle(result);
  CHECK(parts.is_done());
  CHECK(parts.result().is_full());
  CHECK(parts.result().completion_written);
}

TEST_CASE("plan parts: each node is in one part, and what there is once is written once") {
  const auto plan = long_plan(10, 3);
  PlanParts parts{plan, room_for(10)};
  REQUIRE(parts.is_cut());
  std::multiset<std::string> nodes;
  std::size_t placed = 0;
  int deployments = 0, completions = 0, evaluations = 0, count = 0;
  for (std::uint64_t index = 20; !parts.is_done(); ++index, ++count) {
    const auto& part = parts.next();
    CHECK(part.is_part);
    CHECK(part.eval_id == "eval");
    for (const auto& [node, changes] : part.nodes)
      nodes.insert(node);
    placed += part.placement_count();
    if (part.deployment) CHECK(count == 0);
    deployments += part.deployment ? 1 : 0;
    evaluations += static_cast<int>(part.evaluations.size());
    completions += part.completion ? 1 : 0;
    CHECK(parts.known_index() == (count == 0 ? 7 : index - 1));
    auto result = written(index);
    result.completion_written = static_cast<bool>(part.completion);
    parts.settle(result);
  }
  CHECK(count > 2);
  CHECK(nodes.size() == 10);
  CHECK(placed == 30);
  CHECK(deployments == 1);
  CHECK(evaluations == 1);
  CHECK(completions == 1);
  CHECK(parts.result().is_full());
  CHECK(parts.result().completion_written);
  CHECK(parts.result().alloc_index == 20 + static_cast<std::uint64_t>(count) - 1);
}

TEST_CASE("plan parts: what the first part could not bring comes with the first that is written") {
  PlanParts parts{long_plan(10, 3), room_for(10)};
  parts.settle(refused(parts.next(), 30));
  REQUIRE_FALSE(parts.is_done());
  CHECK(parts.next().deployment);
  CHECK(parts.next().evaluations.size() == 1);
  parts.settle(written(31));
  while (!parts.is_done()) {
    CHECK_FALSE(parts.next().deployment);
    CHECK_FALSE(parts.next().completion);  // something was refused
    parts.settle(written(32));
  }
  CHECK(parts.result().made_progress);
  CHECK_FALSE(parts.result().is_full());
  CHECK(parts.result().refresh_index == 30);
  CHECK_FALSE(parts.result().completion_written);
}

TEST_CASE("plan parts: nothing is written of a plan whose parts are all refused") {
  PlanParts parts{long_plan(10, 3), room_for(10)};
  while (!parts.is_done())
    parts.settle(refused(parts.next(), 30));
  CHECK_FALSE(parts.result().made_progress);
  CHECK(parts.result().rejected_nodes.size() == 10);
}

TEST_CASE("plan parts: all or nothing ends at the first refusal") {
  auto plan = *long_plan(10, 3);
  plan.all_at_once = true;
  auto limits = room_for(10);
  limits.entry_bytes = limits.part_bytes;
  PlanParts parts{std::make_shared<const Plan>(plan), limits};
  REQUIRE(parts.is_cut());
  parts.settle(refused(parts.next(), 30));
  CHECK(parts.is_done());
  CHECK_FALSE(PlanParts{std::make_shared<const Plan>(plan), room_for(10)}.is_cut());
}

TEST_CASE_FIXTURE(Harness, "plan parts: a node alone too long ends allocations before it places") {
  const auto node = add_node();
  process(register_job(make_job(8)));
  Plan plan;
  for (const auto& row : live()) {
    plan.nodes[node].placements.push_back(placement(std::string{row->alloc->id()}.substr(0, 4)));
    plan.nodes[node].stops.push_back({row, schema::DesiredStatus::STOP, "", {}, {}, {}});
  }
  PlanParts parts{std::make_shared<const Plan>(plan), room_for(3)};
  REQUIRE(parts.is_cut());
  std::size_t stopped = 0, placed = 0;
  while (!parts.is_done()) {
    const auto& changes = parts.next().nodes.at(node);
    stopped += changes.stops.size();
    if (!changes.placements.empty()) CHECK(stopped == 8);
    placed += changes.placements.size();
    parts.settle(written(9));
  }
  CHECK(placed == 8);
}

TEST_CASE_FIXTURE(Harness, "plan parts: what a node's earlier parts end makes room for the later") {
  const auto node = add_node();
  process(register_job(make_job(8)));
  Plan plan;
  for (const auto& row : live()) {
    plan.nodes[node].placements.push_back(placement(std::string{row->alloc->id()}.substr(0, 4)));
    plan.nodes[node].stops.push_back({row, schema::DesiredStatus::STOP, "", {}, {}, {}});
  }
  plan.nodes["zz"].placements.push_back(placement("other"));
  PlanParts parts{std::make_shared<const Plan>(plan), room_for(3)};
  REQUIRE(parts.is_cut());
  std::size_t stopped = 0;
  while (parts.next().nodes.at(node).placements.empty()) {
    const auto& changes = parts.next().nodes.at(node);
    CHECK(changes.ended_before.size() == stopped);
    stopped += changes.stops.size();
    parts.settle(written(9));
  }
  const auto& changes = parts.next().nodes.at(node);
  CHECK(changes.ended_before.size() + changes.stops.size() == 8);

  // Once it refuses one, it is asked for no more.
  parts.settle(refused(parts.next(), 30));
  REQUIRE_FALSE(parts.is_done());
  CHECK_FALSE(parts.next().nodes.contains(node));
  CHECK(parts.next().nodes.contains("zz"));
  parts.settle(written(31));
  CHECK(parts.is_done());
  CHECK(parts.result().rejected_nodes.size() == 1);
}
