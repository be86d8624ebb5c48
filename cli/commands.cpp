// The list of all commands.
#include "cli/command.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

constexpr Command table[] = {
    {"agent", "Runs an agent: a server, a client or both", run_agent},
    {"agent-info", "Shows what the agent counts of itself", run_agent_info},
    {"alloc fs", "Lists and shows the files of an allocation", run_alloc_fs},
    {"alloc logs", "Shows the output of a task", run_alloc_logs},
    {"alloc restart", "Restarts an allocation or a task", run_alloc_restart},
    {"alloc signal", "Sends a signal to an allocation or a task", run_alloc_signal},
    {"alloc status", "Shows an allocation", run_alloc_status},
    {"alloc stop", "Stops an allocation and has it placed anew", run_alloc_stop},
    {"deployment list", "Lists the deployments", run_deployment_list},
    {"deployment status", "Shows a deployment", run_deployment_status},
    {"eval list", "Lists the evaluations", run_eval_list},
    {"eval status", "Shows an evaluation", run_eval_status},
    {"fmt", "Rewrites job files in canonical layout", run_fmt},
    {"fs", "Alias of alloc fs", run_alloc_fs},
    {"init", "Alias of job init", run_job_init},
    {"inspect", "Alias of job inspect", run_job_inspect},
    {"job allocs", "Lists the allocations of a job", run_job_allocs},
    {"job deployments", "Lists the deployments of a job", run_job_deployments},
    {"job history", "Shows the versions of a job", run_job_history},
    {"job init", "Writes an example job file", run_job_init},
    {"job inspect", "Prints a job as it is stored", run_job_inspect},
    {"job plan", "Shows what registering a job file would change", run_job_plan},
    {"job run", "Registers a job, or updates it", run_job_run},
    {"job status", "Lists the jobs, or shows one", run_job_status},
    {"job stop", "Stops jobs", run_job_stop},
    {"job validate", "Checks a job file", run_job_validate},
    {"logs", "Alias of alloc logs", run_alloc_logs},
    {"monitor", "Shows the agent's log as it is written", run_monitor},
    {"node eligibility", "Allows placements on a node, or not", run_node_eligibility},
    {"node status", "Lists the nodes, or shows one", run_node_status},
    {"operator api", "Sends a request to the API", run_operator_api},
    {"operator autopilot get-config", "Shows what autopilot goes by",
     run_operator_autopilot_get_config},
    {"operator autopilot health", "Shows how the servers are", run_operator_autopilot_health},
    {"operator raft list-peers", "Lists the members of the servers' log",
     run_operator_raft_list_peers},
    {"operator raft remove-peer", "Removes a server from the log's members",
     run_operator_raft_remove_peer},
    {"operator raft transfer-leadership", "Hands leadership to another server",
     run_operator_raft_transfer},
    {"plan", "Alias of job plan", run_job_plan},
    {"run", "Alias of job run", run_job_run},
    {"server force-leave", "Says that a dead server has left", run_server_force_leave},
    {"server join", "Makes servers known to each other", run_server_join},
    {"server members", "Lists the servers", run_server_members},
    {"status", "Shows whatever an identifier means", run_status},
    {"stop", "Alias of job stop", run_job_stop},
    {"system gc", "Collects garbage now", run_system_gc},
    {"tls ca create", "Creates a certificate authority", run_tls_ca_create},
    {"tls ca info", "Shows a certificate authority", run_tls_ca_info},
    {"tls cert create", "Creates a certificate", run_tls_cert_create},
    {"tls cert info", "Shows a certificate", run_tls_cert_info},
    {"validate", "Alias of job validate", run_job_validate},
    {"version", "Prints the version", run_version},
};

}  // namespace

std::span<const Command> commands() {
  return table;
}

}  // namespace nomad::cli
