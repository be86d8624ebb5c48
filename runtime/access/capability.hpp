// Capability: what a caller must be able to do for what he asks; the names are those of Nomad's ACL
// policies.
#pragma once

#include <cstdint>

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

}  // namespace nomad::access
