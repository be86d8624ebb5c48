#include "runtime/scheduler/scheduler.hpp"

#include "runtime/object/draft.hpp"
#include "runtime/scheduler/asking.hpp"
#include "runtime/scheduler/generic.hpp"
#include "runtime/scheduler/system.hpp"

namespace nomad::scheduler {

namespace {

std::unique_ptr<Scheduler> scheduler_for(Object<schema::Evaluation> eval,
                                         std::uint64_t salt,
                                         const Progress& before) {
  const auto type = view(eval->getType());
  if (type == "service") return make_generic_scheduler(std::move(eval), salt, false, before);
  if (type == "batch") return make_generic_scheduler(std::move(eval), salt, true, before);
  if (type == "system") return make_system_scheduler(std::move(eval), salt, false, before);
  if (type == "sysbatch") return make_system_scheduler(std::move(eval), salt, true, before);
  if (type.empty() || type.starts_with('_')) return nullptr;
  return make_asking_scheduler(std::move(eval), salt, before);
}

/// Stirs `value` into `seed` (splitmix64).
std::uint64_t stir(std::uint64_t seed, std::uint64_t value) {
  seed ^= value + 0x9e3779b97f4a7c15;
  seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9;
  seed = (seed ^ (seed >> 27)) * 0x94d049bb133111eb;
  return seed ^ (seed >> 31);
}

}  // namespace

std::unique_ptr<Scheduler> make_scheduler(Object<schema::Evaluation> eval, std::uint64_t salt) {
  return scheduler_for(std::move(eval), salt, {});
}

std::optional<Step> decide_again(const DecisionInputs& inputs, const state::Snapshot& state) {
  const auto scheduler = scheduler_for(inputs.eval, inputs.salt, inputs.before);
  if (scheduler == nullptr) return std::nullopt;
  return scheduler->start({state, inputs.now, &inputs.under_way, inputs.region});
}

std::uint64_t decision_seed(const DecisionInputs& inputs) {
  std::uint64_t seed = 0;
  for (const auto character : view(inputs.eval->getId()))
    seed = stir(seed, static_cast<unsigned char>(character));
  return stir(stir(stir(seed, inputs.snapshot_index), inputs.before.attempts), inputs.salt);
}

std::shared_ptr<const DecisionInputs> inputs_of(const Object<schema::Evaluation>& eval,
                                                const Moment& moment,
                                                const Progress& before,
                                                std::uint64_t salt) {
  return std::make_shared<const DecisionInputs>(DecisionInputs{
      .eval = eval,
      .snapshot_index = moment.state.index(),
      .now = moment.now,
      .before = before,
      .salt = salt,
      .under_way = moment.reservations != nullptr ? *moment.reservations : Reservations{},
      .region = std::string{moment.region}});
}

}  // namespace nomad::scheduler
