#include "actors/client/alloc_facts.hpp"

#include "runtime/object/draft.hpp"

namespace nomad::client {

HookScope AllocFacts::scope(std::string_view root, bool mounts) const {
  Draft<schema::plugin::HookTarget> target;
  target->setAllocId(text(id));
  target->setAllocRoot(text(root));
  target->setHealthKnown(health.has_value());
  target->setBegun(begun);
  target->initDriver().setMounts(mounts);
  return {.alloc = alloc, .job = job, .target = target.freeze()};
}

}  // namespace nomad::client
