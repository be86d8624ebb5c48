// What operators, and nodes that leave, ask of a node's drain.
#include "runtime/cluster/drain/drain_commands.hpp"

#include <limits>

#include "runtime/object/entries.hpp"
#include "test/unit/runtime/cluster/drain/drain_harness.hpp"

using namespace nomad;
using namespace nomad::test;
using namespace nomad::cluster;
using schema::SchedulingEligibility;

namespace {

struct DrainCommandHarness : DrainHarness {
  std::string said(const std::string& node, const DrainRequest& request) {
    const auto decision = decide_drain(state(), anybody(), node, request, {now, &random});
    return decision ? "done" : decision.error().what;
  }

  schema::DrainMetadata::Reader last(const std::string& node) {
    kept = state().node(node);
    return kept->getLastDrain();
  }

  Object<schema::Node> kept;
};

}  // namespace

TEST_CASE_FIXTURE(DrainCommandHarness,
                  "drain: a node is ineligible from then on, and says since when") {
  const auto node = add_node();
  now += 7;
  update(node, {.spec = DrainSpec{60 * second, true}, .mark_eligible = true, .meta = {{"k", "v"}}});
  const auto drains = state().node(node);
  CHECK(drains->getSchedulingEligibility() == SchedulingEligibility::INELIGIBLE);
  const auto strategy = drains->getDrainStrategy();
  CHECK(strategy.getDeadline() == 60 * second);
  CHECK(strategy.getIgnoreSystemJobs());
  CHECK(strategy.getStartedAt() == now);
  CHECK(strategy.getForceDeadline() == now + 60 * second);
  CHECK(last_event(node) == "Drain: Node drain strategy set");
  CHECK(view(last(node).getStatus()) == "draining");
  CHECK(last(node).getStartedAt() == now - 7);  // in seconds
  CHECK(find_text(last(node).getMeta(), "k") == "v");
}

TEST_CASE_FIXTURE(DrainCommandHarness,
                  "drain: an update keeps the beginning, and counts from now") {
  const auto node = add_node();
  drain(node, {.deadline = 60 * second});
  const auto began = now;
  now += 30 * second;
  drain(node, {.deadline = 40 * second});
  const auto strategy = state().node(node)->getDrainStrategy();
  CHECK(state().node(node)->getDrainStrategy().getStartedAt() == began);
  CHECK(strategy.getForceDeadline() == now + 40 * second);
  CHECK(last(node).getStartedAt() == began);
  CHECK(last(node).getUpdatedAt() == now);
  CHECK(last_event(node) == "Drain: Node drain strategy updated");
  drain(node, {.deadline = -1});
  CHECK(state().node(node)->getDrainStrategy().getForceDeadline() == 0);
}

TEST_CASE_FIXTURE(DrainCommandHarness,
                  "drain: who cancels says whether the node is eligible again") {
  const auto node = add_node();
  run_service(1, 1);
  update(node, {.spec = DrainSpec{}, .meta = {{"message", "why"}}});
  update(node, {.mark_eligible = false});
  CHECK(view(last(node).getStatus()) == "canceled");
  CHECK(find_text(last(node).getMeta(), "message") == "why");  // nothing new was said
  CHECK(last_event(node) == "Drain: Node drain disabled");
  CHECK(state().node(node)->getSchedulingEligibility() == SchedulingEligibility::INELIGIBLE);

  const auto events = state().node(node)->getEvents().size();
  const auto opened
      = decide_drain(state(), anybody(), node, {.mark_eligible = true}, {now, &random});
  REQUIRE(opened.has_value());
  CHECK(opened->eval_ids.size() == 1);
  write_command(opened->command);
  CHECK(state().node(node)->getSchedulingEligibility() == SchedulingEligibility::ELIGIBLE);
  CHECK(state().node(node)->getEvents().size() == events);  // there was no drain
  CHECK(view(last(node).getStatus()) == "canceled");
}

TEST_CASE_FIXTURE(DrainCommandHarness, "drain: what is refused") {
  const auto node = add_node();
  CHECK(said("none", {.spec = DrainSpec{}}) == "node not found");
  CHECK(said(node, {.spec = DrainSpec{std::numeric_limits<std::int64_t>::max(), false}})
        == "the deadline of a drain is in nanoseconds from now, and this one is too far away");
  CHECK(said(node, {.spec = DrainSpec{std::numeric_limits<std::int64_t>::min(), false}}) == "done");
}

TEST_CASE_FIXTURE(DrainCommandHarness, "drain: a node that leaves drains itself and says so") {
  const auto node = add_node();
  CHECK_FALSE(decide_own_drain(state(), "none", {}, {now, &random}).has_value());
  write_command(decide_own_drain(state(), node, {.deadline = -1}, {now, &random})->command);
  CHECK(state().node(node)->getDrainStrategy().getDeadline() == -1);
  CHECK(view(last(node).getAccessorId()) == node);
  CHECK(find_text(last(node).getMeta(), "message") == "shutting down");
}
