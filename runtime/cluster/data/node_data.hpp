// What client nodes may read of the state for the templates of their tasks, and how they hear that
// it has changed: every answer has a digest, and a node that has it is told when there is another.
// So a node is right again after any change of leaders or restored state, whatever the indexes.
//
// Pure: a snapshot in, an answer out. Nothing here opens variables.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/access/rights.hpp"
#include "runtime/base/result.hpp"
#include "runtime/cluster/data/service_choice.hpp"
#include "runtime/state/store.hpp"
#include "runtime/template/cluster_query.hpp"

namespace nomad::cluster {

/// The rows of one answer; more are `too_large`.
inline constexpr std::size_t most_data_rows = 50'000;

struct NodeData {
  std::vector<ServiceRef> services;                 ///< Of Kind::services: name and tags alone.
  std::vector<Object<schema::Variable>> variables;  ///< As they are stored; one for Kind::variable.
};

/// `invalid_argument` for a choice that is none.
Result<NodeData> read_node_data(const state::Snapshot& snapshot,
                                const templates::ClusterQuery& query);

/// The same for somebody with these rights: of lists what he may see. `permission_denied` where he
/// may not read what he names.
Result<NodeData> for_rights(NodeData data,
                            const templates::ClusterQuery& query,
                            const access::Rights& rights);

/// Never 0.
std::uint64_t digest_of(const NodeData& data);

/// What to watch for changes of the answer.
state::WatchKey node_data_watch(const templates::ClusterQuery& query);

/// Whether many rows are read for the answer: then changes are looked at together.
bool reads_many(const templates::ClusterQuery& query);

}  // namespace nomad::cluster
