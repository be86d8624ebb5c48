#include "runtime/workload/node_meta.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/hcl/syntax/parser.hpp"

namespace nomad::workload {
namespace {

Error refused(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

Result<> check_key(const std::string& key) {
  if (key.empty()) return refused("metadata keys must not be empty");
  const auto parts = split(key, '.');
  if (std::all_of(parts.begin(), parts.end(), hcl::is_identifier)) return {};
  return refused(
      fmt::format("\"{}\" is invalid; metadata keys must be valid dotted hcl identifiers", key));
}

std::size_t size_of(const DynamicMeta& meta) {
  std::size_t bytes = 0;
  for (const auto& [key, value] : meta)
    bytes += key.size() + (value ? value->size() : 0);
  return bytes;
}

}  // namespace

DynamicMeta pruned_meta(DynamicMeta dynamic, const NodeMeta& fixed) {
  std::erase_if(dynamic, [&fixed](const auto& entry) {
    return !entry.second && !fixed.contains(entry.first);
  });
  return dynamic;
}

DynamicMeta changed_meta(DynamicMeta dynamic, const NodeMeta& fixed, const DynamicMeta& change) {
  for (const auto& [key, value] : change)
    dynamic[key] = value;
  return pruned_meta(std::move(dynamic), fixed);
}

Result<> check_meta(const DynamicMeta& dynamic, const NodeMeta& fixed, const DynamicMeta& change) {
  if (change.empty()) return refused("missing required Meta object");
  for (const auto& [key, value] : change)
    NOMAD_TRY(check_key(key));
  const auto bytes = size_of(changed_meta(dynamic, fixed, change));
  if (bytes <= most_meta_bytes) return {};
  return refused(
      fmt::format("the node would have {} bytes of dynamic metadata; at most {}: unset "
                  "some",
                  bytes, most_meta_bytes));
}

NodeMeta merged_meta(NodeMeta fixed, const DynamicMeta& dynamic) {
  for (const auto& [key, value] : dynamic)
    if (value)
      fixed[key] = *value;
    else
      fixed.erase(key);
  return fixed;
}

}  // namespace nomad::workload
