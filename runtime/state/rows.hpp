// Rows of the state's maps that are more than an object.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/object/alloc_view.hpp"
#include "runtime/state/map/shared.hpp"
#include "runtime/state/usage.hpp"
#include "schema/alloc.capnp.h"
#include "schema/deployment.capnp.h"
#include "schema/eval.capnp.h"
#include "schema/job.capnp.h"

namespace nomad::state {

/// Of a node; the oldest goes when another one comes.
inline constexpr std::size_t kept_node_events = 10;

/// An allocation with what its row refers to, and the columns that the scheduler reads.
struct AllocRow {
  Object<schema::Allocation> alloc;
  Object<schema::Job> job;             ///< The version that it was placed by.
  Object<schema::AllocMetric> metric;  ///< Empty if its plan gave none.
  Demand demand;
  bool client_terminal = false;  ///< complete, failed or lost.
  bool server_terminal = false;  ///< desired: stop or evict.

  bool terminal() const { return client_terminal || server_terminal; }
};

using AllocRef = Shared<AllocRow>;

inline bool is_terminal(schema::EvalStatus status) {
  using Is = schema::EvalStatus;
  return status == Is::COMPLETE || status == Is::FAILED || status == Is::CANCELED;
}

inline bool is_active(schema::DeploymentState state) {
  using Is = schema::DeploymentState;
  return state != Is::SUCCESSFUL && state != Is::FAILED && state != Is::CANCELLED;
}

/// How many allocations and evaluations a job has, and how many of them are not terminal.
struct JobCounts {
  std::uint32_t allocs = 0;
  std::uint32_t live_allocs = 0;
  std::uint32_t evals = 0;
  std::uint32_t live_evals = 0;

  bool empty() const { return allocs == 0 && evals == 0; }

  friend bool operator==(const JobCounts&, const JobCounts&) = default;
};

}  // namespace nomad::state
