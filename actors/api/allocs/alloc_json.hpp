// Allocations as the API shows them: whole, with job and metrics joined and the legacy resources
// that the CLI still reads, and as stubs of lists. The stub is written field by field rather than
// by the generic codec, because lists of a thousand of them are asked for all the time; a test
// holds it against the generic one.
#pragma once

#include <string>
#include <string_view>

#include "runtime/state/rows.hpp"
#include "runtime/state/snapshot.hpp"

namespace nomad::api {

struct StubOptions {
  bool resources = false;   ///< Adds AllocatedResources.
  bool task_states = true;  ///< null without.
};

void append_alloc_stub(std::string& out,
                       const state::AllocRow& row,
                       const StubOptions& options = {});

/// Id of the root key that signs an allocation's identities; "" without one.
std::string signing_key_of(const state::Snapshot& state, AllocView alloc);

/// The whole allocation.
void append_alloc(std::string& out, const state::AllocRow& row, std::string_view signing_key);

/// Without Job, as events show it; `metric` may be empty.
void append_event_alloc(std::string& out,
                        schema::Allocation::Reader alloc,
                        const Object<schema::AllocMetric>& metric,
                        std::string_view signing_key);

}  // namespace nomad::api
