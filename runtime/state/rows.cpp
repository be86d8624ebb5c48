#include "runtime/state/rows.hpp"

namespace nomad::state {

bool is_client_terminal(schema::ClientStatus status) {
  using Is = schema::ClientStatus;
  return status == Is::COMPLETE || status == Is::FAILED || status == Is::LOST;
}

bool is_terminal(schema::EvalStatus status) {
  using Is = schema::EvalStatus;
  return status == Is::COMPLETE || status == Is::FAILED || status == Is::CANCELED;
}

bool is_active(schema::DeploymentState state) {
  using Is = schema::DeploymentState;
  return state != Is::SUCCESSFUL && state != Is::FAILED && state != Is::CANCELLED;
}

}  // namespace nomad::state
