#include "runtime/scheduler/kept_decision.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "runtime/object/draft.hpp"
#include "runtime/state/usage.hpp"

namespace nomad::scheduler {
namespace {

constexpr std::size_t most_refusals = 16;

/// Resources of allocations, equal ones once.
class KnownResources {
public:
  std::uint32_t add(schema::AllocatedResources::Reader resources) {
    auto object = Object<schema::AllocatedResources>::freeze(resources);
    const auto bytes = object.bytes();
    const std::string_view key{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    const auto [known, is_new] = positions_.emplace(key, static_cast<std::uint32_t>(all_.size()));
    if (is_new) all_.push_back(std::move(object));  // the key's bytes stay where they are
    return known->second;
  }

  const std::vector<Object<schema::AllocatedResources>>& all() const { return all_; }

private:
  std::vector<Object<schema::AllocatedResources>> all_;
  std::unordered_map<std::string_view, std::uint32_t> positions_;
};

std::uint32_t count_new(const NodeChanges& changes) {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(changes.placements, [](const auto& placed) { return placed.is_new; }));
}

void keep_reserves(schema::KeptDecision::Builder to, const Plan& plan) {
  KnownResources known;
  std::vector<std::pair<std::string_view, const NodeChanges*>> nodes;
  std::uint32_t placements = 0;
  std::uint32_t updates = 0;
  std::uint32_t stops = 0;
  std::uint32_t preemptions = 0;
  for (const auto& [id, changes] : plan.nodes) {
    const auto fresh = count_new(changes);
    if (fresh > 0) nodes.emplace_back(id, &changes);
    placements += fresh;
    updates += static_cast<std::uint32_t>(changes.placements.size()) - fresh;
    stops += static_cast<std::uint32_t>(changes.stops.size());
    preemptions += static_cast<std::uint32_t>(changes.preemptions.size());
  }
  to.setPlacements(placements);
  to.setUpdates(updates);
  to.setStops(stops);
  to.setPreemptions(preemptions);
  auto reserves = to.initReserves(static_cast<unsigned>(nodes.size()));
  for (unsigned i = 0; i < reserves.size(); ++i) {
    const auto& [id, changes] = nodes[i];
    reserves[i].setNodeId(text(id));
    auto allocs = reserves[i].initAllocs(count_new(*changes));
    unsigned next = 0;
    for (const auto& placed : changes->placements) {
      if (!placed.is_new) continue;
      allocs[next].setId(text(placed.row->id()));
      allocs[next].setResources(known.add(placed.row->resources()));
      ++next;
    }
  }
  auto resources = to.initResources(static_cast<unsigned>(known.all().size()));
  for (unsigned i = 0; i < resources.size(); ++i)
    resources.setWithCaveats(i, *known.all()[i]);
}

/// As much of the plan of `kept` as others see while it is under way.
Result<std::shared_ptr<const Plan>> plan_of(const Object<schema::KeptDecision>& kept) {
  auto plan = std::make_shared<Plan>();
  plan->decision = kept->getNumber();
  plan->eval_token = fmt::format("decision {}", kept->getNumber());
  const auto resources = kept->getResources();
  for (const auto reserve : kept->getReserves()) {
    auto& changes = plan->nodes[copy(reserve.getNodeId())];
    for (const auto alloc : reserve.getAllocs()) {
      if (alloc.getResources() >= resources.size())
        return Error{Errc::corrupt,
                     fmt::format("decision {} names resources that it has not", kept->getNumber())};
      Draft<schema::Allocation> row;
      row->setId(alloc.getId());
      row->setNamespace(kept->getEvaluation().getNamespace());
      row->setNodeId(reserve.getNodeId());
      row->setAllocatedResources(resources[alloc.getResources()]);
      PlannedAlloc placed{.row = row.freeze(), .demand = {}, .is_new = true};
      placed.demand = state::demand_of(placed.row->resources());
      changes.placements.push_back(std::move(placed));
    }
  }
  return std::shared_ptr<const Plan>{std::move(plan)};
}

}  // namespace

Object<schema::KeptDecision> keep_decision(const Decided& decided) {
  const auto& inputs = *decided.inputs;
  Draft<schema::KeptDecision> draft;
  draft->setNumber(decided.number);
  draft->setEvaluation(*inputs.eval);
  draft->setSnapshotIndex(inputs.snapshot_index);
  draft->setTime(inputs.now);
  draft->setAttempts(inputs.before.attempts);
  draft->setFruitless(static_cast<std::uint32_t>(inputs.before.fruitless));
  draft->setBlockedEval(text(inputs.before.blocked_id));
  draft->setSalt(inputs.salt);
  draft->setRegion(text(inputs.region));
  const auto under_way = inputs.under_way.decisions();
  auto numbers = draft->initUnderWay(static_cast<unsigned>(under_way.size()));
  for (unsigned i = 0; i < numbers.size(); ++i)
    numbers.set(i, under_way[i]);
  if (decided.answer) draft->setAnswer(*decided.answer);
  draft->setHasPlan(decided.plan != nullptr);
  if (decided.plan) keep_reserves(*draft, *decided.plan);
  draft->setLacksRoom(decided.lacks_room);
  draft->setFailure(text(decided.failure));
  return draft.freeze();
}

Object<schema::PlanEnd> keep_plan_end(const PlanEnded& ended) {
  Draft<schema::PlanEnd> draft;
  draft->setIndex(ended.result.alloc_index);
  const auto& refused = ended.result.rejected_nodes;
  draft->setRefused(static_cast<std::uint32_t>(refused.size()));
  auto refusals
      = draft->initRefusals(static_cast<unsigned>(std::min(refused.size(), most_refusals)));
  auto from = refused.begin();
  for (unsigned i = 0; i < refusals.size(); ++i, ++from) {
    refusals[i].setNodeId(text(from->first));
    refusals[i].setReason(text(from->second));
  }
  draft->setFailure(text(ended.failure));
  return draft.freeze();
}

Result<DecisionInputs> inputs_of_kept(const Object<schema::KeptDecision>& kept,
                                      const FindDecision& find) {
  DecisionInputs inputs{.eval = Object<schema::Evaluation>::freeze(kept->getEvaluation()),
                        .snapshot_index = kept->getSnapshotIndex(),
                        .now = kept->getTime(),
                        .before = {.attempts = kept->getAttempts(),
                                   .fruitless = static_cast<int>(kept->getFruitless()),
                                   .blocked_id = copy(kept->getBlockedEval())},
                        .salt = kept->getSalt(),
                        .under_way = {},
                        .region = copy(kept->getRegion())};
  for (const auto number : kept->getUnderWay()) {
    const auto other = NOMAD_TRY(find(number));
    if (!other)
      return Error{Errc::not_found,
                   fmt::format("decision {}, whose plan was under way at decision {}, is not kept",
                               number, kept->getNumber())};
    auto plan = NOMAD_TRY(plan_of(other));
    inputs.under_way.add(std::move(plan));
  }
  return inputs;
}

}  // namespace nomad::scheduler
