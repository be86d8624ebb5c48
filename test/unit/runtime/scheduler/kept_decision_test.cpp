// What is kept of decisions is enough to make them again, and is nothing of their jobs.
#include "runtime/scheduler/kept_decision.hpp"

#include <string_view>

#include "harness.hpp"
#include "test/support/result_text.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

struct KeptHarness : Harness {
  std::map<std::uint64_t, Object<schema::KeptDecision>> kept;
  Reservations under_way;

  FindDecision find() {
    return [this](std::uint64_t number) -> Result<Object<schema::KeptDecision>> {
      const auto found = kept.find(number);
      return found == kept.end() ? Object<schema::KeptDecision>{} : found->second;
    };
  }

  /// Decides, keeps the decision by its bytes, and has its plan under way from then on.
  Step decide(const Object<schema::Evaluation>& eval, const state::Snapshot& snapshot) {
    auto step = make_scheduler(eval)->start({snapshot, now, &under_way});
    REQUIRE(step.inputs);
    const auto number = kept.size() + 1;
    Decided decided{.number = number, .inputs = step.inputs, .lacks_room = step.lacks_room};
    if (step.plan) {
      step.plan->decision = number;
      step.plan->eval_token = "token-" + std::to_string(number);
      decided.plan = std::make_shared<const Plan>(*step.plan);
      under_way.add(decided.plan);
    }
    auto read = Object<schema::KeptDecision>::from_bytes(keep_decision(decided).bytes());
    REQUIRE(read.has_value());
    kept.emplace(number, std::move(*read));
    return step;
  }

  Object<schema::Command> written(const Plan& plan, const state::Snapshot& snapshot) const {
    Random unused{1};
    return make_plan_command({{&plan, {}}}, snapshot, now, unused);
  }

  void check_again(const Step& step, const state::Snapshot& snapshot) {
    const auto inputs = inputs_of_kept(kept.at(step.plan->decision), find());
    REQUIRE(inputs.has_value());
    const auto again = decide_again(*inputs, snapshot);
    REQUIRE((again && again->plan));
    CHECK(again->lacks_room == step.lacks_room);
    CHECK(written(*again->plan, snapshot).equals(written(*step.plan, snapshot)));
  }

  /// With ports and cores, which no two allocations on a node share, and a secret.
  Object<schema::Job> greedy_job(const std::string& id, std::int64_t count) {
    return make_job(count, [&](auto job) {
      job.setId(text(id));
      auto group = job.getTaskGroups()[0];
      group.initNetworks(1)[0].initDynamicPorts(2)[0].setLabel("http");
      group.getNetworks()[0].getDynamicPorts()[1].setLabel("admin");
      auto env = group.getTasks()[0].initEnv(1)[0];
      env.setKey("PASSWORD");
      env.setValue("geheim-7261");
    });
  }
};

std::string_view text_of(const Object<schema::KeptDecision>& kept) {
  return {reinterpret_cast<const char*>(kept.bytes().data()), kept.bytes().size()};
}

}  // namespace

TEST_CASE_FIXTURE(KeptHarness,
                  "decisions that saw others' plans under way are made again as they were") {
  for (int i = 0; i < 4; ++i)
    add_node();
  std::vector<Object<schema::Evaluation>> evals;
  for (int i = 0; i < 6; ++i)
    evals.push_back(register_job(greedy_job("job-" + std::to_string(i), 4 + i)));
  const auto snapshot = state();
  std::vector<Step> steps;
  for (const auto& eval : evals)
    steps.push_back(decide(eval, snapshot));
  CHECK_MESSAGE(steps.back().lacks_room, "the plans under way have taken the room");
  add_node();  // what comes later changes nothing of it
  for (const auto& step : steps)
    check_again(step, snapshot);
  CHECK(kept.at(6)->getUnderWay().size() == 5);

  kept.erase(3);  // the ring has gone on
  const auto lost = inputs_of_kept(kept.at(5), find());
  CHECK(lost.error().code == Errc::not_found);
  CHECK(lost.error().what == "decision 3, whose plan was under way at decision 5, is not kept");
}

TEST_CASE_FIXTURE(KeptHarness, "a kept decision tells what it led to, and nothing of its job") {
  add_node();
  const auto eval = register_job(greedy_job("web", 2));
  decide(eval, state());
  CHECK(kept.at(1)->getHasPlan());
  CHECK(view(kept.at(1)->getEvaluation().getId()) == view(eval->getId()));
  const auto first = *kept.at(1);
  CHECK(first.getPlacements() == 2);
  CHECK(first.getStops() == 0);
  CHECK(first.getReserves().size() == 1);
  CHECK(first.getReserves()[0].getAllocs().size() == 2);
  CHECK_MESSAGE(first.getResources().size() == 2, "each has ports of its own");
  for (const auto& [number, one] : kept) {
    const auto& shown = number;
    CAPTURE(shown);
    CHECK(text_of(one).find("geheim-7261") == std::string_view::npos);
    CHECK(text_of(one).find("PASSWORD") == std::string_view::npos);
  }
}

TEST_CASE_FIXTURE(KeptHarness, "what equal allocations take is kept once") {
  for (int i = 0; i < 8; ++i)
    add_node();
  const auto eval = register_job(make_job(40));
  decide(eval, state());
  CHECK(kept.at(1)->getPlacements() == 40);
  CHECK(kept.at(1)->getResources().size() == 1);
  CHECK(kept.at(1).size_in_bytes() < 5'000);
}

TEST_CASE("the end of a plan that many nodes refuse names the first of them") {
  scheduler::PlanEnded ended{.number = 3};
  ended.result.alloc_index = 57;
  for (int i = 0; i < 40; ++i)
    ended.result.rejected_nodes.emplace("node-" + std::to_string(100 + i), "full");
  const auto kept = scheduler::keep_plan_end(ended);
  CHECK(kept->getIndex() == 57);
  CHECK(kept->getRefused() == 40);
  REQUIRE(kept->getRefusals().size() == 16);
  CHECK(view(kept->getRefusals()[0].getNodeId()) == "node-100");
  CHECK(view(kept->getRefusals()[0].getReason()) == "full");
}
