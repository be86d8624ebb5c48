// Schedulers that decide at the same time, on states that get old, for jobs of two namespaces that
// share a quota, while their plans are on the way into the log, limits change, and namespaces come
// under the quota and leave it.
#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <string>

#include "runtime/base/ids.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/plan/node_facts.hpp"
#include "runtime/scheduler/plan/plan_command.hpp"
#include "runtime/scheduler/plan/plans_ahead.hpp"
#include "runtime/scheduler/scheduler.hpp"
#include "test/properties/case.hpp"
#include "test/properties/violation.hpp"
#include "test/support/sample_job.hpp"

namespace nomad::properties {
namespace {

constexpr std::int64_t race_steps = 120;
constexpr std::int64_t race_start = 1'700'000'000 * second;

class QuotaRace {
public:
  explicit QuotaRace(std::uint64_t seed) : draw_{seed} {
    for (int i = 0; i < 4; ++i)
      add_node();
    set_limits();
    for (const char* name : {"default", "side"})
      put_namespace(name, true);
  }

  void run() {
    for (std::int64_t i = 0; i < race_steps; ++i) {
      step();
      check();
    }
  }

private:
  struct Proposed {
    std::uint64_t number = 0;
    Object<schema::Command> command;
  };

  template <class Fill>
  void write(Fill fill) {
    Draft<schema::Command> draft;
    fill(*draft);
    apply(draft.freeze());
  }

  void apply(const Object<schema::Command>& command) {
    const auto outcome = store_.apply(++index_, *command);
    store_.publish();
    require(!outcome.error, property::commands_accepted, outcome.error ? outcome.error->what : "");
  }

  void add_node() {
    write([this](schema::Command::Builder command) {
      auto node = command.initNodeRegister().initNode();
      node.setId(text(make_uuid(draw_)));
      node.setDatacenter("dc1");
      node.setNodePool("default");
      node.setStatus(schema::NodeStatus::READY);
      auto resources = node.initNodeResources();
      resources.initCpu().setCpuShares(4'000);
      resources.initMemory().setMemoryMb(10'000);
      resources.initDisk().setDiskMb(10'000);
      auto driver = node.initAttributes(1)[0];
      driver.setKey("driver.mock_driver");
      driver.setValue("1");
      node.setComputedClass(text(scheduler::computed_class(node.asReader())));
    });
  }

  void set_limits() {
    limit_cpu_ = 1'500 + static_cast<std::int64_t>(draw_.below(2'000));
    limit_allocations_ = 4 + static_cast<std::int64_t>(draw_.below(6));
    write([this](schema::Command::Builder command) {
      auto quota = command.initQuotaUpsert();
      quota.setName("shared");
      auto limit = quota.initLimits(1)[0];
      limit.setRegion("north");  // the jobs say another
      limit.initRegionLimit().setCpu(limit_cpu_);
      limit.getRegionLimit().setAllocations(limit_allocations_);
    });
    allow_what_is_there();
  }

  void put_namespace(const std::string& name, bool is_bound) {
    write([&](schema::Command::Builder command) {
      auto ns = command.initNamespaceUpsert();
      ns.setName(text(name));
      if (is_bound) ns.setQuota("shared");
    });
    if (is_bound)
      bound_.insert(name);
    else
      bound_.erase(name);
    allow_what_is_there();
  }

  /// Who is beyond the limits when these change may stay, with what is on its way, as far as that
  /// is written.
  void allow_what_is_there() {
    most_cpu_ = limit_cpu_;
    most_allocations_ = limit_allocations_;
    state::Store later{store_.snapshot()};
    auto index = std::uint64_t{1} << 62;
    const auto allow = [&] {
      const auto use = later.snapshot().quota_use("shared");
      most_cpu_ = std::max(most_cpu_, use.demand.cpu_mhz);
      most_allocations_ = std::max(most_allocations_, use.allocations);
    };
    allow();
    for (const auto& proposed : under_way_) {
      later.apply(++index, *proposed.command);
      later.publish();
      allow();
    }
  }

  void change_quota() {
    if (draw_.chance(0.5)) return set_limits();
    put_namespace(draw_.chance(0.5) ? "default" : "side", draw_.chance(0.7));
  }

  void step() {
    switch (draw_.below(9)) {
      case 0:
      case 1:
        return decide();
      case 2:
      case 3:
        return submit();
      case 4:
        return end_some();
      case 5:
      case 6:
        return write_next();
      case 7:
        return change_quota();
      default:
        return lose_last();
    }
  }

  /// A job comes or changes, and a worker makes its plan, of which the applier hears later.
  void decide() {
    const auto eval_id = make_uuid(draw_);
    const std::string ns = draw_.chance(0.5) ? "default" : "side";
    const auto id = "job" + std::to_string(draw_.below(2));
    write([&](schema::Command::Builder command) {
      auto job = command.initJobRegister().initJob();
      test::fill_job(job, {.id = id,
                           .count = static_cast<std::int64_t>(draw_.below(7)),
                           .cpu = draw_.chance(0.5) ? 300 : 700});
      job.setNamespace(text(ns));
      auto eval = command.getJobRegister().initEvaluation();
      eval.setId(text(eval_id));
      eval.setNamespace(text(ns));
      eval.setPriority(50);
      eval.setType("service");
      eval.setTriggeredBy(schema::EvalTrigger::JOB_REGISTER);
      eval.setJobId(text(id));
      eval.setStatus(schema::EvalStatus::PENDING);
    });
    const auto state = store_.snapshot();
    const auto made = scheduler::make_scheduler(state.eval(eval_id), draw_.next())
                          ->start({state, race_start, nullptr, "north"});
    if (made.plan) plans_.push_back(std::make_shared<scheduler::Plan>(*made.plan));
  }

  void submit() {
    if (plans_.empty()) return;
    std::swap(plans_[draw_.below(plans_.size())], plans_.back());
    const auto plan = plans_.back();
    plans_.pop_back();
    const scheduler::PlanParts parts{plan};
    const auto judged = ahead_.judge(parts, store_.snapshot());
    if (judged.is_open || !judged.verdict || judged.verdict->accepts_nothing) return;
    const auto command = scheduler::make_plan_command({{plan.get(), *judged.verdict}}, judged.basis,
                                                      race_start, draw_);
    under_way_.push_back({ahead_.add(command), command});
  }

  void end_some() {
    const auto state = store_.snapshot();
    for (const auto& entry : state.allocs()) {
      if (entry.value()->client_terminal || !draw_.chance(0.3)) continue;
      write([&entry](schema::Command::Builder command) {
        auto alloc = command.initAllocClientUpdate().initAllocations(1)[0];
        alloc.setId(text(entry.value()->alloc->id()));
        alloc.setClientStatus(schema::ClientStatus::COMPLETE);
      });
    }
  }

  void write_next() {
    if (under_way_.empty()) return;
    const auto next = under_way_.front();
    under_way_.pop_front();
    apply(next.command);
    ahead_.settle(next.number, true);
  }

  /// As when the leader could not write it.
  void lose_last() {
    if (under_way_.empty() || !draw_.chance(0.3)) return;
    ahead_.settle(under_way_.back().number, false);
    under_way_.pop_back();
  }

  void check() const {
    const auto state = store_.snapshot();
    state::QuotaUse sum;
    for (const auto& entry : state.allocs())
      if (!entry.value()->terminal() && bound_.contains(std::string{entry.value()->alloc->ns()}))
        sum += state::quota_use_of(entry.value()->demand, entry.value()->alloc->resources());
    require(state.quota_use("shared") == sum, property::quota_is_counted,
            std::to_string(state.quota_use("shared").allocations) + " allocations are counted of "
                + std::to_string(sum.allocations));
    require(sum.demand.cpu_mhz <= most_cpu_ && sum.allocations <= most_allocations_,
            property::quota_holds,
            std::to_string(sum.allocations) + " allocations take "
                + std::to_string(sum.demand.cpu_mhz) + " MHz of " + std::to_string(most_cpu_));
  }

  Random draw_;
  state::Store store_;
  std::uint64_t index_ = 10;
  std::int64_t limit_cpu_ = 0;
  std::int64_t limit_allocations_ = 0;
  std::int64_t most_cpu_ = 0;  ///< The limit, or what was in use beyond it when it was set.
  std::int64_t most_allocations_ = 0;
  std::set<std::string> bound_;  ///< Namespaces that have the quota.
  std::vector<std::shared_ptr<const scheduler::Plan>> plans_;
  std::deque<Proposed> under_way_;
  scheduler::PlansAhead ahead_{"north"};
};

}  // namespace

std::optional<Failure> run_quota_race(std::uint64_t seed) {
  return run_world<QuotaRace>(seed);
}

}  // namespace nomad::properties
