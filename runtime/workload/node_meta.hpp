// Metadata of a node: what its configuration says, and what `node meta apply` has put over it while
// the node runs. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "runtime/base/result.hpp"

namespace nomad::workload {

/// By key.
using NodeMeta = std::map<std::string, std::string>;

/// By key; without a value, the key of the configuration is hidden.
using DynamicMeta = std::map<std::string, std::optional<std::string>>;

/// Keys and values of a node's dynamic metadata in sum: they travel with every registration.
inline constexpr std::size_t most_meta_bytes = 256 * 1024;

/// What `change` makes of `dynamic`, on a node whose configuration has `fixed`. A key that is unset
/// goes, or hides that of the configuration.
DynamicMeta changed_meta(DynamicMeta dynamic, const NodeMeta& fixed, const DynamicMeta& change);

/// Whether that may be asked for. `invalid_argument`, in Nomad's words: an empty change, a key that
/// is no dotted identifier (constraints could not name it), more than `most_meta_bytes` in the end.
Result<> check_meta(const DynamicMeta& dynamic, const NodeMeta& fixed, const DynamicMeta& change);

/// `dynamic` without what hides nothing: the configuration may be another than when it was set.
DynamicMeta pruned_meta(DynamicMeta dynamic, const NodeMeta& fixed);

/// What the node shows and constraints see.
NodeMeta merged_meta(NodeMeta fixed, const DynamicMeta& dynamic);

}  // namespace nomad::workload
