#include "runtime/state/tables.hpp"

#include <cassert>

namespace nomad::state {

std::string_view to_string(Table table) {
  switch (table) {
    case Table::jobs:
      return "jobs";
    case Table::job_versions:
      return "job_versions";
    case Table::retained_jobs:
      return "retained_jobs";
    case Table::job_summaries:
      return "job_summaries";
    case Table::nodes:
      return "nodes";
    case Table::node_pools:
      return "node_pools";
    case Table::namespaces:
      return "namespaces";
    case Table::allocs:
      return "allocs";
    case Table::alloc_metrics:
      return "alloc_metrics";
    case Table::evals:
      return "evals";
    case Table::deployments:
      return "deployments";
    case Table::services:
      return "services";
    case Table::scheduler_config:
      return "scheduler_config";
    case Table::variables:
      return "variables";
    case Table::root_keys:
      return "root_keys";
    case Table::key_holders:
      return "key_holders";
    case Table::restore_rows:
      return "restore_rows";
    case Table::autopilot_config:
      return "autopilot_config";
    case Table::allocs_by_node:
    case Table::allocs_for_node:
    case Table::allocs_by_job:
    case Table::allocs_by_eval:
    case Table::allocs_by_deployment:
    case Table::evals_by_job:
    case Table::deployments_by_job:
    case Table::services_by_name:
    case Table::services_by_alloc:
    case Table::applied:
      break;
  }
  return "";  // not stored
}

std::string join_key(std::string_view first, std::string_view second) {
  std::string key;
  key.reserve(first.size() + 1 + second.size());
  key.append(first).push_back('\0');
  key.append(second);
  return key;
}

std::string join_key(std::string_view first, std::string_view second, std::string_view third) {
  std::string key;
  key.reserve(first.size() + second.size() + third.size() + 2);
  key.append(first).push_back('\0');
  key.append(second).push_back('\0');
  key.append(third);
  return key;
}

std::string number_key(std::uint64_t number) {
  std::string key(8, '\0');
  for (int i = 7; i >= 0; --i, number >>= 8)
    key[static_cast<std::size_t>(i)] = static_cast<char>(number & 0xff);
  return key;
}

bool is_client_terminal(schema::ClientStatus status) {
  switch (status) {
    case schema::ClientStatus::COMPLETE:
    case schema::ClientStatus::FAILED:
    case schema::ClientStatus::LOST:
      return true;
    case schema::ClientStatus::PENDING:
    case schema::ClientStatus::RUNNING:
    case schema::ClientStatus::UNKNOWN:
      return false;
  }
  return false;  // from a newer server
}

bool is_terminal(schema::EvalStatus status) {
  switch (status) {
    case schema::EvalStatus::COMPLETE:
    case schema::EvalStatus::FAILED:
    case schema::EvalStatus::CANCELED:
      return true;
    case schema::EvalStatus::BLOCKED:
    case schema::EvalStatus::PENDING:
      return false;
  }
  return false;
}

bool is_active(schema::DeploymentState state) {
  switch (state) {
    case schema::DeploymentState::SUCCESSFUL:
    case schema::DeploymentState::FAILED:
    case schema::DeploymentState::CANCELLED:
      return false;
    case schema::DeploymentState::INITIALIZING:
    case schema::DeploymentState::PENDING:
    case schema::DeploymentState::RUNNING:
    case schema::DeploymentState::PAUSED:
    case schema::DeploymentState::BLOCKED:
    case schema::DeploymentState::UNBLOCKING:
      return true;
  }
  return true;
}

}  // namespace nomad::state
