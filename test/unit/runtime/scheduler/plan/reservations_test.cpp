#include "runtime/scheduler/plan/reservations.hpp"

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

std::shared_ptr<const Plan> plan_with(const char* token, std::int64_t mhz, bool is_new = true) {
  Plan plan;
  plan.eval_token = token;
  plan.nodes["n"].placements.push_back(
      {Draft<schema::Allocation>{}.freeze(), {.cpu_mhz = mhz}, is_new});
  return std::make_shared<const Plan>(std::move(plan));
}

std::int64_t reserved(const Reservations& reservations, const char* node = "n") {
  state::NodeUsage usage;
  reservations.apply(node, state::Store{}.snapshot(), usage);
  return usage.total().cpu_mhz;
}

}  // namespace

TEST_CASE("reservations: of new allocations, by token, until they are removed") {
  Reservations reservations;
  CHECK(reservations.empty());
  reservations.add(plan_with("a", 100));
  reservations.add(plan_with("b", 20));
  reservations.add(plan_with("c", 3, false));  // it uses no more than before
  CHECK(reserved(reservations) == 120);
  CHECK(reserved(reservations, "other") == 0);
  reservations.add(plan_with("a", 500));  // the next plan of that delivery
  CHECK(reserved(reservations) == 520);
  CHECK(reservations.tokens() == std::set<std::string>{"a", "b", "c"});
  const auto before = reservations;
  reservations.remove("a");
  CHECK(reserved(reservations) == 20);
  CHECK(reserved(before) == 520);
}

TEST_CASE_FIXTURE(Harness, "reservations: what is written already counts once") {
  const auto node = add_node();
  process(register_job(make_job(1)));
  const auto row = live().at(0);
  Plan plan;
  plan.eval_token = "a";
  plan.nodes[node].placements.push_back({row->alloc, row->demand, true});
  Reservations reservations;
  reservations.add(std::make_shared<const Plan>(std::move(plan)));

  state::NodeUsage usage;
  reservations.apply(node, state(), usage);
  CHECK(usage.empty());
  reservations.apply(node, state::Store{}.snapshot(), usage);
  CHECK(usage.total().cpu_mhz == 500);
}
