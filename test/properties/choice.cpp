// A fresh cluster of equal nodes in which preferences alone decide.
#include <algorithm>
#include <map>

#include "runtime/base/ids.hpp"
#include "runtime/cluster/eval_factory.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/plan/node_facts.hpp"
#include "test/properties/case.hpp"
#include "test/properties/checks.hpp"
#include "test/properties/rules.hpp"
#include "test/properties/violation.hpp"
#include "test/support/sample_job.hpp"

namespace nomad::properties {
namespace {

class Choice {
public:
  explicit Choice(std::uint64_t seed)
      : draw_{seed}, cluster_{seed, Features::all(), checks_, counts_} {}

  void run() {
    racks_ = 2 + draw_.below(3);
    per_rack_ = 1 + draw_.below(3);
    for (std::size_t rack = 0; rack < racks_; ++rack)
      for (std::size_t i = 0; i < per_rack_; ++i)
        add_node("r" + std::to_string(rack));
    switch (draw_.below(4)) {
      case 0:
        return spread_evenly();
      case 1:
        return spread_by_targets();
      case 2:
        return follow_affinity();
      default:
        return leave_where_it_failed();
    }
  }

private:
  void add_node(const std::string& rack) {
    cluster_.write([&](schema::Command::Builder command) {
      auto node = command.initNodeRegister().initNode();
      const auto id = make_uuid(draw_);
      node.setId(text(id));
      node.setName(text("node-" + id.substr(0, 8)));
      node.setDatacenter("dc1");
      node.setNodePool("default");
      node.setStatus(schema::NodeStatus::READY);
      auto resources = node.initNodeResources();
      resources.initCpu().setCpuShares(10'000);
      resources.initMemory().setMemoryMb(10'000);
      resources.initDisk().setDiskMb(10'000);
      auto driver = node.initAttributes(1)[0];
      driver.setKey("driver.mock_driver");
      driver.setValue("1");
      auto meta = node.initMeta(1)[0];
      meta.setKey("rack");
      meta.setValue(text(rack));
      node.setComputedClass(text(scheduler::computed_class(node.asReader())));
    });
  }

  template <class Edit>
  void run_job(std::int64_t count, Edit edit) {
    Draft<schema::Job> draft;
    auto group = test::fill_job(
        *draft, {.count = count, .group = "g0", .task = "t0", .cpu = 100, .memory_mb = 100});
    group.initReschedulePolicy().setUnlimited(true);
    group.getReschedulePolicy().setDelayFunction("constant");
    edit(group);
    const auto object = draft.freeze();
    const auto eval = cluster::eval_for_job(*object, schema::EvalTrigger::JOB_REGISTER,
                                            {cluster_.now, &cluster_.random});
    cluster_.write([&](schema::Command::Builder command) {
      command.initJobRegister().setJob(*object);
      command.getJobRegister().setEvaluation(*eval);
    });
    finish(static_cast<std::size_t>(count));
  }

  void finish(std::size_t count) {
    require(cluster_.work_off(200), property::evaluations_bounded, "of a fresh job");
    require(live().size() == count, property::counts_converge, "of a fresh job with room for all");
  }

  std::vector<state::AllocRef> live() const {
    std::vector<state::AllocRef> rows;
    const auto state = cluster_.state();
    for (const auto& entry : state.allocs())
      if (!entry.value()->terminal()) rows.push_back(entry.value());
    return rows;
  }

  std::map<std::string, std::int64_t> by_rack() const {
    std::map<std::string, std::int64_t> counts;
    for (std::size_t rack = 0; rack < racks_; ++rack)
      counts["r" + std::to_string(rack)] = 0;
    for (const auto& row : live())
      ++counts[rack_of(*row)];
    return counts;
  }

  std::string rack_of(const state::AllocRow& row) const {
    const auto node = cluster_.state().node(row.alloc->node_id());
    return std::string{*fact(*node, "meta.rack")};
  }

  static std::string show(const std::map<std::string, std::int64_t>& counts) {
    std::string all;
    for (const auto& [rack, count] : counts)
      all += rack + ": " + std::to_string(count) + " ";
    return all;
  }

  void spread_evenly() {
    run_job(1 + static_cast<std::int64_t>(draw_.below(12)), [](schema::TaskGroup::Builder group) {
      auto spread = group.initSpreads(1)[0];
      spread.setAttribute("${meta.rack}");
      spread.setWeight(100);
    });
    const auto counts = by_rack();
    std::int64_t least = INT64_MAX;
    std::int64_t most = 0;
    for (const auto& [rack, count] : counts) {
      least = std::min(least, count);
      most = std::max(most, count);
    }
    require(most - least <= 1, property::spread_holds, show(counts));
  }

  void spread_by_targets() {
    const auto count = static_cast<std::int64_t>(4 * (1 + draw_.below(4)));
    run_job(count, [](schema::TaskGroup::Builder group) {
      auto spread = group.initSpreads(1)[0];
      spread.setAttribute("${meta.rack}");
      spread.setWeight(100);
      auto targets = spread.initSpreadTarget(2);
      targets[0].setValue("r0");
      targets[0].setPercent(75);
      targets[1].setValue("r1");
      targets[1].setPercent(25);
    });
    auto counts = by_rack();
    require(std::abs(counts["r0"] - count * 3 / 4) <= 1 && std::abs(counts["r1"] - count / 4) <= 1,
            property::spread_holds, show(counts) + "of " + std::to_string(count));
  }

  void follow_affinity() {
    const bool avoids = draw_.chance(0.5);
    run_job(1, [&](schema::TaskGroup::Builder group) {
      auto affinity = group.initAffinities(1)[0];
      affinity.setLTarget("${meta.rack}");
      affinity.setOperand("=");
      affinity.setRTarget("r1");
      affinity.setWeight(avoids ? -100 : 100);
    });
    require((rack_of(*live().front()) == "r1") != avoids, property::affinity_holds,
            rack_of(*live().front()));
  }

  void leave_where_it_failed() {
    run_job(1, [](schema::TaskGroup::Builder) {});
    const auto failed = live().front();
    cluster_.report(
        {{.alloc_id = std::string{failed->alloc->id()}, .status = schema::ClientStatus::FAILED}});
    finish(1);
    require(live().front()->alloc->node_id() != failed->alloc->node_id(),
            property::failed_go_elsewhere, std::string{failed->alloc->node_id()});
  }

  PlanChecks checks_;
  Counts counts_;
  Random draw_;
  Cluster cluster_;
  std::size_t racks_ = 0;
  std::size_t per_rack_ = 0;
};

}  // namespace

std::optional<Failure> run_choice(std::uint64_t seed) {
  return run_world<Choice>(seed);
}

}  // namespace nomad::properties
