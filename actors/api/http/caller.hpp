// Who asks (runtime/net/caller.hpp) and Capability: what a route needs of him. Every operation of
// the API declares its capability in the route tables, and nothing runs before `authorize` has
// agreed. As long as there are no ACLs it agrees to everything, as Nomad does with ACLs off.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/net/caller.hpp"
#include "runtime/net/http/http_message.hpp"

namespace nomad::api {

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
  read_logs,
  read_fs,
  alloc_lifecycle,
  alloc_exec,
  any_in_namespace,  ///< Results are filtered by what the caller may see.
  node_read,
  node_write,
  node_pool_read,
  agent_read,
  agent_write,
  variables_list,  ///< Of variables: by path; results are filtered.
  variables_read,
  variables_write,
  variables_destroy,
  operator_read,
  operator_write,
  management,
};

using net::Caller;

/// Who sent `request`: what the RPC layer established of one that another agent passed on, and the
/// token in X-Nomad-Token or a bearer authorization.
Caller caller_of(const net::Request& request);

/// Whether `caller` has `needed` in `ns`; `permission_denied` "Permission denied" if not.
Result<> authorize(const Caller& caller, Capability needed, std::string_view ns);

}  // namespace nomad::api
