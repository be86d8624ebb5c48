// The derived maps of allocations: put into and taken out of by applying commands, and rebuilt by
// a restore. Private to the store.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "runtime/state/map/indexed_rows.hpp"
#include "runtime/state/tables.hpp"

namespace nomad::state {

/// What may have lost its last allocation: looked at again when a command is done, because a later
/// allocation of the command may use it. And the quotas that are used otherwise.
struct Released {
  std::set<std::string> versions;     ///< Keys of `retained_jobs`.
  std::set<std::string> evals;        ///< Ids of evaluations that may have metrics.
  std::set<std::string> quotas;       ///< Of which an allocation has left its place.
  std::set<std::string> used_quotas;  ///< Of which more or less is used.
};

/// Enters `row` everywhere but in `allocs`; `before` is what it replaces, or null.
void index_alloc(Tables& tables, const AllocRef* before, const AllocRef& row, Released& released);

/// Takes `row` out of everything but `allocs`.
void unindex_alloc(Tables& tables, const AllocRef& row, Released& released);

/// The indexes with the rows that their keys name.
IndexedRows<AllocRef> allocs_by_create(const Tables& tables);
IndexedRows<AllocRef> allocs_by_node(const Tables& tables);

/// Removes the retained jobs and metrics that nothing refers to any more.
void drop_unused(Tables& tables, const Released& released);

/// How many allocations that have not ended have identities by a root key that is not there any
/// more.
std::uint64_t identities_of_lost_keys(const Tables& tables);

/// Fills the columns of a row from its allocation.
AllocRow make_row(Object<schema::Allocation> alloc,
                  Object<schema::Job> job,
                  Object<schema::AllocMetric> metric);

/// The keys by which an allocation finds its job's version when that is no longer tracked, and its
/// metrics.
std::string retained_job_key(AllocView alloc);
std::string metric_key(std::string_view eval_id, std::uint32_t number);

/// The stored version of its job that an allocation was placed by; null if it is gone.
const Object<schema::Job>* find_job_version(const Tables& tables, AllocView alloc);

inline constexpr std::uint32_t no_metric = 0xffffffff;

}  // namespace nomad::state
