#include "runtime/access/caller.hpp"

namespace nomad::access {

std::string Caller::describe() const {
  if (node) return "client:" + node->id;
  if (workload) return "alloc:" + workload->alloc_id;
  if (token) return "token of " + remote;
  if (is_server()) return "server:" + remote;
  return "anonymous:" + remote;
}

}  // namespace nomad::access
