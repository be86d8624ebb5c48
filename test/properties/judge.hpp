// Judge: says of rows whether they may be as they are: what allocations take of their node, whether
// a node suits a job, what a job may have where. Worked out anew from the rows each time, by
// nothing of what is tested.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/state/snapshot.hpp"

namespace nomad::properties {

using Rows = std::vector<state::AllocRef>;

/// Neither its client nor the servers have ended it.
bool is_live(AllocView alloc);

/// Ended by its client, or given up with it: it uses nothing any more.
bool has_ended(AllocView alloc);

/// Which amount `rows` take that is more than the node has; empty if none.
std::string excess(schema::Node::Reader node, const Rows& rows);

/// Which port, core or device is given twice, or is none that the node gives out; empty if none.
std::string clash(schema::Node::Reader node, const Rows& rows);

/// Why a node can never run the group; empty if it can.
std::string unsuitable(schema::Node::Reader node,
                       schema::Job::Reader job,
                       schema::TaskGroup::Reader group);

/// Why one more allocation of the group does not fit beside `rows`; empty if it does. Only said of
/// groups that ask for at most one device and no more dynamic ports than the node has.
std::string no_room(schema::Node::Reader node, schema::TaskGroup::Reader group, const Rows& rows);

/// Why a live allocation may not be where it is because of others of its job, `others`: the
/// distinct constraints of its job's version. Empty if it may.
std::string not_distinct(const state::Snapshot& state,
                         const state::AllocRef& row,
                         const Rows& others);

/// Whether one more of the group on the node would break a distinct constraint.
bool would_break_distinct(const state::Snapshot& state,
                          schema::Node::Reader node,
                          schema::Job::Reader job,
                          schema::TaskGroup::Reader group,
                          const Rows& others);

/// What an allocation was given that its group does not ask for, or the reverse; empty if nothing.
std::string wrong_resources(schema::Node::Reader node, const state::AllocRow& row);

/// The group of that name; throws if the job has none.
schema::TaskGroup::Reader group_of(schema::Job::Reader job, std::string_view name);

bool has_group(schema::Job::Reader job, std::string_view name);

}  // namespace nomad::properties
