#include "actors/client/alloc_facts.hpp"

#include "runtime/object/draft.hpp"

namespace nomad::client {

HookScope AllocFacts::scope(std::string_view root) const {
  Draft<schema::plugin::HookPlace> place;
  place->setAllocId(text(id));
  place->setAllocRoot(text(root));
  place->setHealthKnown(health.has_value());
  place->setBegun(begun);
  return {.alloc = alloc, .job = job, .place = place.freeze()};
}

}  // namespace nomad::client
