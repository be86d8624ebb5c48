// The entry points of all commands; each is in the file of its name or its group's.
#pragma once

#include <string>
#include <vector>

namespace nomad::cli {

int run_agent(const std::vector<std::string>& arguments);
int run_agent_info(const std::vector<std::string>& arguments);
int run_alloc_checks(const std::vector<std::string>& arguments);
int run_alloc_exec(const std::vector<std::string>& arguments);
int run_alloc_fs(const std::vector<std::string>& arguments);
int run_alloc_logs(const std::vector<std::string>& arguments);
int run_alloc_restart(const std::vector<std::string>& arguments);
int run_alloc_signal(const std::vector<std::string>& arguments);
int run_alloc_status(const std::vector<std::string>& arguments);
int run_alloc_stop(const std::vector<std::string>& arguments);
int run_deployment_fail(const std::vector<std::string>& arguments);
int run_deployment_list(const std::vector<std::string>& arguments);
int run_deployment_pause(const std::vector<std::string>& arguments);
int run_deployment_promote(const std::vector<std::string>& arguments);
int run_deployment_resume(const std::vector<std::string>& arguments);
int run_deployment_status(const std::vector<std::string>& arguments);
int run_eval_list(const std::vector<std::string>& arguments);
int run_eval_status(const std::vector<std::string>& arguments);
int run_fmt(const std::vector<std::string>& arguments);
int run_job_allocs(const std::vector<std::string>& arguments);
int run_job_deployments(const std::vector<std::string>& arguments);
int run_job_dispatch(const std::vector<std::string>& arguments);
int run_job_eval(const std::vector<std::string>& arguments);
int run_job_history(const std::vector<std::string>& arguments);
int run_job_init(const std::vector<std::string>& arguments);
int run_job_inspect(const std::vector<std::string>& arguments);
int run_job_periodic_force(const std::vector<std::string>& arguments);
int run_job_plan(const std::vector<std::string>& arguments);
int run_job_promote(const std::vector<std::string>& arguments);
int run_job_revert(const std::vector<std::string>& arguments);
int run_job_run(const std::vector<std::string>& arguments);
int run_job_scale(const std::vector<std::string>& arguments);
int run_job_scaling_events(const std::vector<std::string>& arguments);
int run_job_status(const std::vector<std::string>& arguments);
int run_job_stop(const std::vector<std::string>& arguments);
int run_job_validate(const std::vector<std::string>& arguments);
int run_keyring_list(const std::vector<std::string>& arguments);
int run_keyring_remove(const std::vector<std::string>& arguments);
int run_keyring_rotate(const std::vector<std::string>& arguments);
int run_monitor(const std::vector<std::string>& arguments);
int run_namespace_list(const std::vector<std::string>& arguments);
int run_node_eligibility(const std::vector<std::string>& arguments);
int run_node_sim(const std::vector<std::string>& arguments);
int run_node_status(const std::vector<std::string>& arguments);
int run_operator_api(const std::vector<std::string>& arguments);
int run_operator_autopilot_get_config(const std::vector<std::string>& arguments);
int run_operator_autopilot_set_config(const std::vector<std::string>& arguments);
int run_operator_autopilot_health(const std::vector<std::string>& arguments);
int run_operator_debug(const std::vector<std::string>& arguments);
int run_operator_raft_list_peers(const std::vector<std::string>& arguments);
int run_operator_raft_remove_peer(const std::vector<std::string>& arguments);
int run_operator_raft_transfer(const std::vector<std::string>& arguments);
int run_server_force_leave(const std::vector<std::string>& arguments);
int run_server_join(const std::vector<std::string>& arguments);
int run_scheduler_get_config(const std::vector<std::string>& arguments);
int run_scheduler_set_config(const std::vector<std::string>& arguments);
int run_server_members(const std::vector<std::string>& arguments);
int run_service_info(const std::vector<std::string>& arguments);
int run_service_list(const std::vector<std::string>& arguments);
int run_snapshot_inspect(const std::vector<std::string>& arguments);
int run_snapshot_restore(const std::vector<std::string>& arguments);
int run_snapshot_save(const std::vector<std::string>& arguments);
int run_snapshot_state(const std::vector<std::string>& arguments);
int run_status(const std::vector<std::string>& arguments);
int run_system_gc(const std::vector<std::string>& arguments);
int run_system_reconcile_summaries(const std::vector<std::string>& arguments);
int run_tls_ca_create(const std::vector<std::string>& arguments);
int run_tls_ca_info(const std::vector<std::string>& arguments);
int run_tls_cert_create(const std::vector<std::string>& arguments);
int run_tls_cert_info(const std::vector<std::string>& arguments);
int run_var_get(const std::vector<std::string>& arguments);
int run_var_init(const std::vector<std::string>& arguments);
int run_var_list(const std::vector<std::string>& arguments);
int run_var_purge(const std::vector<std::string>& arguments);
int run_var_put(const std::vector<std::string>& arguments);
int run_version(const std::vector<std::string>& arguments);

}  // namespace nomad::cli
