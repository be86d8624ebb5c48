// The workers of a Cluster: they do with evaluations and steps what the actor of that name does.
#include <algorithm>

#include "runtime/scheduler/kept_decision.hpp"
#include "test/properties/cluster.hpp"
#include "test/properties/violation.hpp"

namespace nomad::properties {
namespace {

constexpr std::size_t most_works = 3;  ///< Of one worker at once.
constexpr std::size_t most_plans = 40;

const std::vector<std::string>& all_types() {
  static const std::vector<std::string> types{"service", "batch", "system", "sysbatch"};
  return types;
}

/// The bytes that a step comes to, whatever made it.
std::string essence(const scheduler::Step& step, const state::Snapshot& state, std::int64_t now) {
  std::string all;
  const auto add = [&all](std::span<const std::byte> bytes) {
    all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  for (const auto& eval : step.evaluations)
    add(eval.bytes());
  if (!step.plan) return all;
  Random fixed{1};
  const std::vector<scheduler::VerifiedPlan> plans{{.plan = &*step.plan, .verdict = {}}};
  add(scheduler::make_plan_command(plans, state, now, fixed).bytes());
  return all;
}

}  // namespace

bool Cluster::dequeue() {
  const auto worker = random.below(workers_.size());
  const auto busy = std::ranges::count_if(
      works_, [worker](const auto& entry) { return entry.second.worker == worker; });
  if (static_cast<std::size_t>(busy) >= most_works) return false;
  const auto delivery = queue_.dequeue(all_types(), time(), random);
  if (!delivery) return false;
  reap_is_due_ = true;
  released_.erase(delivery->eval.id);
  const auto eval = state().eval(delivery->eval.id);
  if (!eval || state::is_terminal(eval->getStatus())) {  // nothing to decide any more
    static_cast<void>(queue_.ack(delivery->eval.id, delivery->token, time()));
    return true;
  }
  Work work;
  work.eval = eval;
  work.token = delivery->token;
  work.worker = worker;
  start(std::move(work));
  return true;
}

void Cluster::start(Work work) {
  work.scheduler = scheduler::make_scheduler(work.eval);
  work.result.reset();
  work.seen = state();
  const scheduler::Moment moment{work.seen, now, &workers_[work.worker]};
  auto step = work.scheduler->start(moment);
  if (step.inputs && random.chance(0.2)) decide_again(work, step);
  proceed(std::move(work), std::move(step));
}

/// A decision is kept, read back and made again: it is the same to the bit.
void Cluster::decide_again(const Work& work, const scheduler::Step& step) {
  ++counts_.decided_again;
  const auto read_back = [](const scheduler::Decided& decided) {
    return Object<schema::KeptDecision>::from_bytes(scheduler::keep_decision(decided).bytes());
  };
  // What others have under way, as it was kept with their decisions.
  const auto find = [&](std::uint64_t number) -> Result<Object<schema::KeptDecision>> {
    const auto other = decided_.find(number);
    if (other == decided_.end()) return Object<schema::KeptDecision>{};
    return read_back({.number = number, .inputs = step.inputs, .plan = other->second});
  };
  const auto kept = read_back({.number = 1, .inputs = step.inputs});
  const auto inputs = kept ? scheduler::inputs_of_kept(*kept, find) : kept.error();
  require(inputs.has_value(), property::equal_plans,
          "what a decision was made from was not read back");
  const auto again = scheduler::decide_again(*inputs, work.seen);
  require(again && essence(step, work.seen, now) == essence(*again, work.seen, now),
          property::equal_plans, "evaluation of " + copy(work.eval->getJobId()));
}

void Cluster::proceed(Work work, scheduler::Step step) {
  if (step.plan) {
    step.plan->eval_token = work.token;
    step.plan->decision = ++decisions_;
    checks_.on_plan(work, *step.plan);
    auto evals = step.plan->evaluations;
    if (step.plan->completion) evals.push_back(step.plan->completion);
    checks_.on_evaluations(work, evals);
  } else {
    checks_.on_evaluations(work, step.evaluations);
  }
  auto& reservations = workers_[work.worker];
  if (!step.lacks_room || reservations.empty()) return carry_out(std::move(work), std::move(step));
  ++counts_.held_back;
  held_.hold(work.token, reservations.tokens());
  if (step.plan) reserve(work, std::make_shared<const scheduler::Plan>(*step.plan));
  work.held = std::move(step);
  const auto token = work.token;
  const auto id = copy(work.eval->getId());
  works_.insert_or_assign(token, std::move(work));
  if (!queue_.pause_nack(id, token)) fail(token);
}

void Cluster::reserve(const Work& work, const std::shared_ptr<const scheduler::Plan>& plan) {
  workers_[work.worker].add(plan);
  decided_.insert_or_assign(plan->decision, plan);
}

void Cluster::carry_out(Work work, scheduler::Step step) {
  const auto token = work.token;
  const auto id = copy(work.eval->getId());
  if (step.plan) return submit(std::move(work), std::move(*step.plan));
  works_.insert_or_assign(token, std::move(work));
  if (!step.evaluations.empty()) {
    if (!queue_.pause_nack(id, token)) return fail(token);
    write_evaluations(step.evaluations);
  }
  static_cast<void>(queue_.ack(id, token, time()));
  ++done_;
  reap_is_due_ = true;
  const auto worker = works_.at(token).worker;
  workers_[worker].remove(token);
  works_.erase(token);
}

void Cluster::submit(Work work, scheduler::Plan plan) {
  require(++work.plans <= most_plans, property::evaluations_bounded,
          "an evaluation of " + copy(work.eval->getJobId()) + " makes plan after plan");
  const auto token = work.token;
  const auto id = copy(work.eval->getId());
  auto shared = std::make_shared<const scheduler::Plan>(std::move(plan));
  reserve(work, shared);
  works_.insert_or_assign(token, std::move(work));
  if (!queue_.pause_nack(id, token)) return fail(token);
  enqueue(std::make_shared<Waiting>(Waiting{shared, scheduler::PlanParts{shared, part_limits_}}));
}

bool Cluster::resume() {
  const auto ready = std::ranges::find_if(
      works_, [](const auto& entry) { return entry.second.result.has_value(); });
  if (ready == works_.end()) return false;
  const auto token = ready->first;
  auto work = std::move(works_.extract(ready).mapped());
  const auto result = *std::exchange(work.result, std::nullopt);
  static_cast<void>(queue_.resume_nack(copy(work.eval->getId()), token, time()));
  workers_[work.worker].remove(token);
  work.seen = state();
  auto step = work.scheduler->resume({work.seen, now, &workers_[work.worker]}, result);
  if (step.inputs) decide_again(work, step);
  proceed(std::move(work), std::move(step));
  let_go(token, result.is_full());
  return true;
}

/// The plan under way of `settled` is over, and written in full or not.
void Cluster::let_go(const std::string& settled, bool is_full) {
  held_.settle(settled, is_full);
  while (const auto ready = held_.take_ready()) {
    const auto found = works_.find(ready->token);
    if (found == works_.end() || !found->second.held) continue;
    if (!ready->holds_true) {
      decide_anew(ready->token);
      continue;
    }
    auto work = std::move(works_.extract(found).mapped());
    auto step = *std::exchange(work.held, std::nullopt);
    carry_out(std::move(work), std::move(step));
  }
}

void Cluster::decide_anew(const std::string& first) {
  auto tokens = held_.take_dependents(first);
  tokens.insert(tokens.begin(), first);
  for (const auto& token : tokens)
    if (const auto found = works_.find(token); found != works_.end())
      workers_[found->second.worker].remove(token);
  for (const auto& token : tokens) {
    const auto found = works_.find(token);
    if (found == works_.end()) continue;
    auto work = std::move(works_.extract(found).mapped());
    work.held.reset();
    static_cast<void>(queue_.resume_nack(copy(work.eval->getId()), token, time()));
    start(std::move(work));
  }
}

/// What the work of the token wanted is not written.
void Cluster::fail(const std::string& token) {
  const auto found = works_.find(token);
  if (found == works_.end()) return;
  ++counts_.failed_works;
  const auto work = std::move(works_.extract(found).mapped());
  workers_[work.worker].remove(token);
  held_.erase(token);
  released_.insert(copy(work.eval->getId()));
  static_cast<void>(queue_.nack(copy(work.eval->getId()), token, time()));
  reap_is_due_ = true;
  let_go(token, false);
}

void Cluster::lose_work() {
  if (works_.empty()) return;
  auto chosen = works_.begin();
  std::advance(chosen, static_cast<std::ptrdiff_t>(random.below(works_.size())));
  ++counts_.lost_works;
  fail(std::string{chosen->first});
}

}  // namespace nomad::properties
