#include "runtime/scheduler/scheduler.hpp"

#include "runtime/object/draft.hpp"
#include "runtime/scheduler/generic.hpp"
#include "runtime/scheduler/system.hpp"

namespace nomad::scheduler {

std::unique_ptr<Scheduler> make_scheduler(Object<schema::Evaluation> eval, std::uint64_t seed) {
  const auto type = view(eval->getType());
  if (type == "service") return make_generic_scheduler(std::move(eval), seed, false);
  if (type == "batch") return make_generic_scheduler(std::move(eval), seed, true);
  if (type == "system") return make_system_scheduler(std::move(eval), seed, false);
  if (type == "sysbatch") return make_system_scheduler(std::move(eval), seed, true);
  return nullptr;
}

}  // namespace nomad::scheduler
