// Capability: what a caller must be able to do for what he asks; the names are those of Nomad's ACL
// policies.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace nomad::access {

/// Of a namespace unless the name says otherwise.
enum class Capability : std::uint8_t {
  none,  ///< Everyone.
  list_jobs,
  parse_job,
  read_job,
  submit_job,
  dispatch_job,
  scale_job,
  read_job_scaling,
  list_scaling_policies,
  read_scaling_policy,
  read_logs,
  read_fs,
  alloc_lifecycle,
  alloc_exec,
  alloc_node_exec,  ///< Of tasks that nothing keeps from their node; besides `alloc_exec`.
  csi_list_volume,
  csi_read_volume,
  csi_mount_volume,
  csi_write_volume,
  csi_register_plugin,
  sentinel_override,  ///< To pass over admission policies that may be passed over.
  submit_recommendation,
  read_services,     ///< Of who has `read_job` there, and of every task of that namespace.
  any_in_namespace,  ///< Whatever else it is that the caller has there.
  variables_list,    ///< Of variables: in a namespace, by path.
  variables_read,
  variables_write,
  variables_destroy,
  node_read,
  node_write,
  node_pool_read,
  node_pool_write,
  node_pool_delete,
  node_pool_use,  ///< To run jobs there: of everybody whom no rule for the pool denies.
  host_volume_mount_readonly,
  host_volume_mount_readwrite,
  plugin_list,
  plugin_read,
  quota_read,
  quota_write,
  agent_read,
  agent_write,
  operator_read,
  operator_write,
  management,
};

/// Whether the capability is one of a namespace: then it can only be judged when it is known of
/// which.
constexpr bool is_namespaced(Capability capability) {
  return capability > Capability::none && capability < Capability::node_read;
}

/// A set of capabilities: a bit each.
using CapabilitySet = std::uint64_t;

constexpr CapabilitySet bit(Capability capability) {
  return CapabilitySet{1} << static_cast<unsigned>(capability);
}

/// The word for it: "submit-job", as in Nomad's policies; for nodes, agents, pools, … "node-read",
/// "operator-write". Empty for `none`.
std::string_view word_of(Capability capability);

/// What the word stands for; nothing for one that is none.
std::optional<Capability> capability_of(std::string_view word);

}  // namespace nomad::access
