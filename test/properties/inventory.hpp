// Inventory: the random nodes and jobs of a case. Small numbers everywhere, so that everything runs
// short soon: cores, ports, device instances, memory, values of properties.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/random.hpp"
#include "runtime/object/object.hpp"
#include "schema/job.capnp.h"
#include "schema/node.capnp.h"
#include "test/properties/features.hpp"

namespace nomad::properties {

/// A ready node. What constraints look at is drawn from `facts`, what it has from `parts`: of a
/// node that changes, only the former does.
void fill_node(schema::Node::Builder node,
               const std::string& id,
               std::size_t number,
               Random parts,
               Random facts,
               const Features& features);

/// How many jobs a case has. Of each the type is always the same.
inline constexpr std::size_t job_numbers = 6;

std::string job_id(std::size_t number);

/// How often jobs of a case have what only some have.
struct JobTaste {
  double updates = 0.6;   ///< Services with an update strategy.
  double canaries = 0.5;  ///< Of them, those with canaries.
};

/// Job `number`. `structure` decides what its tasks are and want, `version` what a new version
/// changes: counts, the configuration of a task, the update strategy.
Object<schema::Job> make_job(std::size_t number,
                             Random structure,
                             Random version,
                             const JobTaste& taste,
                             const Features& features);

}  // namespace nomad::properties
