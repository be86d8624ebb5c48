// AgentConfig: everything an agent is told, as values. Defaults, then files in order, then flags;
// each step changes a copy, and what runs holds the final one unchanged.
//
// Sizes are MiB, CPU is MHz, durations are nanoseconds. Names follow Nomad's configuration.
// May depend on: runtime/base, runtime/hcl.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/duration.hpp"
#include "runtime/base/result.hpp"
#include "runtime/base/secret.hpp"

namespace nomad::config {

using namespace std::chrono_literals;

using TextMap = std::map<std::string, std::string>;

struct Ports {
  std::int64_t http = 4646;
  std::int64_t rpc = 4647;
  std::int64_t serf = 4648;
};

/// Addresses as texts; empty means "derived": listening from bind_addr, advertised from listening.
struct Addresses {
  std::string http;
  std::string rpc;
  std::string serf;
};

struct Join {
  std::vector<std::string> start_join;
  std::vector<std::string> retry_join;
  std::int64_t retry_max = 0;
  Nanoseconds retry_interval = 30s;
};

/// Which schedulers may stop allocations of lower priority.
struct Preemption {
  bool system_scheduler_enabled = true;
  bool sysbatch_scheduler_enabled = false;
  bool batch_scheduler_enabled = false;
  bool service_scheduler_enabled = false;

  bool operator==(const Preemption&) const = default;
};

/// Of a cluster whose operators have not set theirs.
struct SchedulerDefaults {
  std::string scheduler_algorithm = "binpack";  ///< Or "spread".
  bool memory_oversubscription_enabled = false;
  bool reject_job_registration = false;
  bool pause_eval_broker = false;
  Preemption preemption_config;

  bool operator==(const SchedulerDefaults&) const = default;
};

/// Nodes on which plans are refused again and again become ineligible.
struct PlanRejections {
  bool enabled = false;
  std::int64_t node_threshold = 100;  ///< Refusals within the window.
  Nanoseconds node_window = 5min;
};

/// Of /v1/search/fuzzy.
struct Search {
  bool fuzzy_enabled = true;
  std::int64_t limit_query = 20;     ///< Objects of a kind that are looked at.
  std::int64_t limit_results = 100;  ///< Matches of a kind that are told.
  std::int64_t min_term_length = 2;  ///< Bytes of what is searched for.
};

struct Server {
  bool enabled = false;
  std::int64_t bootstrap_expect = 0;
  std::int64_t num_schedulers = -1;             ///< -1: as many as make sense on this machine.
  std::vector<std::string> enabled_schedulers;  ///< Empty: all that there are.
  Nanoseconds node_gc_threshold = 24h;
  Nanoseconds job_gc_interval = 5min;
  Nanoseconds job_gc_threshold = 4h;
  Nanoseconds eval_gc_threshold = 1h;
  Nanoseconds batch_eval_gc_threshold = 24h;
  Nanoseconds deployment_gc_threshold = 1h;
  Nanoseconds acl_token_gc_threshold = 1h;  ///< Tokens that have ended go after it.
  std::string oidc_issuer;                  ///< Where third parties find the keys of identities.
  std::string authoritative_region;         ///< Whose policies hold in all; empty: its own.
  Nanoseconds heartbeat_grace = 10s;
  Nanoseconds min_heartbeat_ttl = 10s;
  Nanoseconds failover_heartbeat_ttl = 5min;
  double max_heartbeats_per_second = 50;
  std::int64_t event_buffer_size = 100;
  std::int64_t job_default_priority = 50;
  std::int64_t job_max_priority = 100;
  std::string job_max_source_size = "1M";  ///< Larger job files are not kept; "0": none is.
  std::int64_t job_max_count = 50'000;     ///< Most allocations of one job, all groups together.
  bool allow_unsupported_blocks
      = false;  ///< Ours: jobs with what can't be done are only warned of.
  std::int64_t raft_snapshot_threshold = 8192;  ///< Entries since the last snapshot.
  Nanoseconds raft_snapshot_interval = 2min;
  std::int64_t raft_trailing_logs = 10'240;
  std::int64_t raft_multiplier = 1;  ///< Times the log's heartbeat and election timeouts.
  bool non_voting_server = false;
  std::string encrypt;  ///< Secret; never shown.
  Join join;
  SchedulerDefaults default_scheduler_config;
  PlanRejections plan_rejection_tracker;
  Search search;
};

/// Ours, after later releases of Nomad: what wraps root keys. Its label is the provider's name.
struct KeyringBlock {
  bool active = false;  ///< Wraps from now on; one block at most.
  /// What the provider is told, by the names of its keys (keys.def), such as where a service is.
  /// Some are secret: none is ever shown.
  std::map<std::string, std::string> settings = {};
  std::vector<std::string> older = {};  ///< Of "file": keys that have wrapped before.
  bool create = false;                  ///< Of "file": the key is made if there is none.

  bool operator==(const KeyringBlock&) const = default;
};

/// What the leader does about the log's members by itself; operators change it at run time.
struct Autopilot {
  bool cleanup_dead_servers = true;
  Nanoseconds last_contact_threshold = 200ms;
  std::int64_t max_trailing_logs = 250;
  std::int64_t min_quorum = 0;
  Nanoseconds server_stabilization_time = 10s;
};

struct HostVolume {
  std::string path;
  bool read_only = false;

  bool operator==(const HostVolume&) const = default;
};

struct HostNetwork {
  std::string cidr;
  std::string interface;
  std::string reserved_ports;

  bool operator==(const HostNetwork&) const = default;
};

/// Kept from the scheduler.
struct Reserved {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  std::int64_t disk = 0;
  std::string ports;
  std::string cores;  ///< "0-3,7"
};

/// What becomes of a node's allocations when its agent leaves for good.
struct DrainOnShutdown {
  bool wanted = false;        ///< The block is there, maybe an empty one.
  Nanoseconds deadline = 1h;  ///< 0: none.
  bool force = false;         ///< At once.
  bool ignore_system_jobs = false;
};

/// `client { template { … } }`
struct Templates {
  std::vector<std::string> function_denylist;
  bool lists_denied = false;  ///< `function_denylist` was given, though it may be empty.
  bool disable_file_sandbox = false;
  Nanoseconds block_query_wait = 5min;
  Nanoseconds max_stale = std::chrono::hours{87'600};
  Nanoseconds wait_min = 5s;
  Nanoseconds wait_max = 4min;
  Nanoseconds wait_bounds_min{0};  ///< 0: none.
  Nanoseconds wait_bounds_max{0};
  std::int64_t retry_attempts = 0;  ///< 0: for ever.
  Nanoseconds retry_backoff = 250ms;
  Nanoseconds retry_max_backoff = 1min;
};

/// How artifacts are fetched. Sizes are texts, "100GB".
struct Artifact {
  Nanoseconds http_read_timeout = 30min;
  std::string http_max_size = "100GB";
  Nanoseconds gcs_timeout = 30min;
  Nanoseconds git_timeout = 30min;
  Nanoseconds hg_timeout = 30min;
  Nanoseconds s3_timeout = 30min;
  std::int64_t decompression_file_count_limit = 4096;
  std::string decompression_size_limit = "100GB";
  bool disable_filesystem_isolation = false;
  bool allow_loopback = true;     ///< Of the addresses that artifacts are fetched from.
  bool allow_link_local = false;  ///< The same; with them where clouds tell machines their keys.
  bool allow_agent_api = false;   ///< The same: this agent's own ports.
  std::string set_environment_variables;
};

struct Client {
  bool enabled = false;
  std::string state_dir;  ///< Empty: <data_dir>/client.
  std::string alloc_dir;  ///< Empty: <data_dir>/alloc.
  std::vector<std::string> servers;
  std::string node_class;
  std::string node_pool = "default";
  TextMap options;
  TextMap chroot_env;  ///< Host path to task path; empty: the usual ones.
  TextMap meta;
  std::string network_interface;
  std::int64_t network_speed = 0;  ///< Mbit/s; 0: as fingerprinted.
  std::int64_t cpu_total_compute = 0;
  std::int64_t memory_total_mb = 0;
  std::int64_t disk_total_mb = 0;
  std::int64_t disk_free_mb = 0;
  Nanoseconds max_kill_timeout = 30s;
  std::int64_t min_dynamic_port = 20'000;
  std::int64_t max_dynamic_port = 32'000;
  Nanoseconds gc_interval = 1min;
  std::int64_t gc_parallel_destroys = 2;
  double gc_disk_usage_threshold = 80;
  double gc_inode_usage_threshold = 70;
  std::int64_t gc_max_allocs = 50;
  Nanoseconds ephemeral_disk_interval = 1min;  ///< How often disks are looked at; 0: never.
  bool ephemeral_disk_enforce = false;
  bool usage_history = true;  ///< What tasks and the machine have used is kept.
  bool disable_remote_exec = false;
  bool nomad_service_discovery = true;  ///< Only what the node says of itself.
  std::string cgroup_parent;
  std::string reservable_cores;  ///< "0-3,7"; empty: those that the agent may use.
  std::string cni_config_dir = "/opt/cni/config";
  std::string cni_path;  ///< Empty: $CNI_PATH, or where systems have CNI plugins.
  std::string bridge_network_name = "nomad";
  std::string bridge_network_subnet = "172.26.64.0/20";
  bool bridge_network_hairpin_mode = false;
  bool bind_wildcard_default_host_network = true;
  Reserved reserved;
  DrainOnShutdown drain_on_shutdown;
  Templates templates;
  Artifact artifact;
  std::map<std::string, HostVolume> host_volumes;
  std::map<std::string, HostNetwork> host_networks;
  Join join;
};

struct Telemetry {
  bool prometheus_metrics = false;
  bool disable_hostname = false;
  bool publish_allocation_metrics = false;
  Nanoseconds collection_interval = 1s;  ///< Of what tasks use.
  bool disable_rpc_rate_metrics_labels = false;
};

/// `limits { rpc_rate { … } }`, ours: how often one identity may use the API.
struct RpcRate {
  std::string mode = "enforcing";  ///< Or "permissive": who asks too often is counted alone.
  double read_rate = 0;            ///< Requests per second; 0: no limit.
  double read_burst = 0;           ///< At once after a pause; 0: twice the rate.
  double write_rate = 0;
  double write_burst = 0;
};

struct Limits {
  std::int64_t http_max_conns_per_client = 100;
  std::int64_t http_max_conns = 16'384;        ///< Ours: from all clients together.
  std::int64_t http_max_body_mb = 16;          ///< Ours: of one request.
  std::int64_t snapshot_max_mb = 4'096;        ///< Ours: of the archive that a restore sends.
  std::int64_t job_max_kb = 4'096;             ///< Ours: of all texts of a job; 0: no bound.
  std::int64_t job_env_max_kb = 1'024;         ///< Ours: of a block of env or meta; 0: no bound.
  std::int64_t namespace_jobs_max_mb = 1'024;  ///< Ours: of the jobs of a namespace; likewise.
  std::int64_t text_max_kb = 64;         ///< Ours: of messages and meta of requests; likewise.
  Nanoseconds http_read_timeout = 10s;   ///< Ours: for a header, and between body parts.
  Nanoseconds http_idle_timeout = 2min;  ///< Ours: between requests of a connection.
  Nanoseconds rpc_handshake_timeout = 5s;
  std::int64_t rpc_max_conns_per_client = 100;
  RpcRate rpc_rate;
};

/// Certificates of this node and what is asked of others. Files are PEM.
struct Tls {
  bool http = false;
  bool rpc = false;
  std::string ca_file;
  std::string cert_file;
  std::string key_file;
  bool verify_server_hostname = false;  ///< Certificates must name the role and region.
  bool verify_https_client = false;
  std::string min_version = "tls12";
  bool prefer_server_cipher_suites = false;
};

/// Whether callers need tokens, and how long what is known of one counts where it is not kept.
struct Acl {
  bool enabled = false;
  Nanoseconds token_ttl = 30s;
  Nanoseconds policy_ttl = 30s;
  Nanoseconds role_ttl = 30s;
  Nanoseconds token_min_expiration_ttl = 1min;  ///< Of a token that ends: the shortest life.
  Nanoseconds token_max_expiration_ttl = 24h;   ///< And the longest.
  std::string replication_token;                ///< Secret; never shown.
};

/// `audit { sink "<name>" { … } }`
struct AuditSink {
  std::string type = "file";
  std::string delivery_guarantee = "enforced";
  std::string format = "json";
  std::string path;  ///< Empty: <data_dir>/audit/audit.log.
  std::string mode = "0600";
  std::int64_t rotate_bytes = 0;  ///< 0: no bound.
  Nanoseconds rotate_duration = 24h;
  std::int64_t rotate_max_files = 0;  ///< 0: all are kept.

  bool operator==(const AuditSink&) const = default;
};

/// `audit { filter "<name>" { … } }`: what is not audited. All three must fit.
struct AuditFilter {
  std::string type = "HTTPEvent";
  std::vector<std::string> endpoints;
  std::vector<std::string> stages;
  std::vector<std::string> operations;

  bool operator==(const AuditFilter&) const = default;
};

struct Audit {
  bool enabled = false;
  std::map<std::string, AuditSink> sinks;  ///< None: one with the defaults.
  std::map<std::string, AuditFilter> filters;
};

/// Of the web UI.
struct Ui {
  /// A word in the head of each page that says which cluster this is.
  struct Label {
    std::string text;
    std::string background_color;
    std::string text_color;
  };

  bool enabled = true;
  Label label;
  std::vector<std::string> frame_ancestors;  ///< Whose pages may frame it: words of a CSP.
};

/// `plugin "<name>" { … }` of a plugin in plugin_dir.
struct PluginBlock {
  bool isolated = true;              ///< In a process of its own.
  std::vector<std::string> args{};   ///< Of a plugin that is a program.
  std::string user{};                ///< Whose its process is; empty: the agent's.
  bool confined = false;             ///< Its process reaches few files and system calls.
  std::vector<std::string> paths{};  ///< Which a confined one may read and write.
  std::string api{};                 ///< What of the API it may use: words of access::Limits.
  SecretText token{};                ///< Whose rights its requests have within that; empty: none's.
  std::string token_file{};          ///< Where that is to be read, instead.
  std::string config = "{}";         ///< What stands in `config`, as a JSON object.
  /// Where its keys stand, "start.hcl:7", by their paths below `config`; "" is the block itself.
  std::map<std::string, std::string> locations{};
  std::string unknown{};  ///< What is said of it where there is no plugin_dir.

  /// Where it stands is no part of what it says.
  friend bool operator==(const PluginBlock& a, const PluginBlock& b) {
    return a.isolated == b.isolated && a.args == b.args && a.user == b.user
           && a.confined == b.confined && a.paths == b.paths && a.api == b.api && a.token == b.token
           && a.token_file == b.token_file && a.config == b.config;
  }
};

struct AgentConfig {
  std::string region = "global";
  std::string datacenter = "dc1";
  std::string name;  ///< Empty: the host's name.
  std::string data_dir;
  std::string bind_addr;  ///< Empty: with_addresses chooses.
  std::string log_level = "INFO";
  bool log_json = false;
  std::string log_file;  ///< A folder, if it ends in "/".
  Nanoseconds log_rotate_duration = 24h;
  std::int64_t log_rotate_bytes = 0;      ///< 0: no bound.
  std::int64_t log_rotate_max_files = 0;  ///< 0: all are kept.
  bool leave_on_interrupt = false;
  bool leave_on_terminate = false;
  bool dev_mode = false;
  bool enable_debug = false;       ///< Shows /v1/agent/host without ACLs.
  bool allow_core_files = false;   ///< Ours: of the agent, which hold secrets.
  bool allow_unsafe_bind = false;  ///< Ours: listen beyond loopback without TLS.
  Ports ports;
  Addresses addresses;
  Addresses advertise;
  Server server;
  Autopilot autopilot;
  std::map<std::string, KeyringBlock> keyrings;  ///< By the providers' names.
  Client client;
  Telemetry telemetry;
  Limits limits;
  Tls tls;
  Acl acl;
  Audit audit;
  Ui ui;
  TextMap http_api_response_headers;
  /// Ours: names that requests may give as Host, and whose pages may act: of a proxy before the
  /// agent, say. Without any, an agent on loopback is known by IP addresses, as localhost and as
  /// what it advertises; elsewhere every name is taken.
  std::vector<std::string> http_allowed_hosts;
  std::map<std::string, TextMap> plugins;  ///< The settings of drivers.
  std::string plugin_dir;                  ///< Empty: no plugins are loaded.
  std::map<std::string, PluginBlock> plugin_blocks;
  std::vector<std::string> files;     ///< What was read, for the start-up banner.
  std::vector<std::string> warnings;  ///< What of it has no effect, to be told at the start.
};

/// The defaults of `agent -dev`: server and client on loopback, raw_exec enabled.
AgentConfig dev_defaults();

/// `base` changed by the text of one file, HCL or JSON by its first byte. The error lists every
/// mistake, a line each, with file, line and a suggestion for a misspelt name.
Result<AgentConfig> with_file_text(AgentConfig base, const std::string& file, std::string text);

/// `base` changed by a file, or by a folder's *.hcl and *.json files in lexical order.
Result<AgentConfig> with_path(AgentConfig base, const std::string& path);

/// What must hold before an agent starts; the error is one line that says what to do.
Result<> validate(const AgentConfig& config);

/// What a valid configuration means and whoever wrote it may not know, to be told at the start.
std::vector<std::string> remarks(const AgentConfig& config);

/// The servers that a client is told of: `client.servers`, then those of `server_join`, each with a
/// port.
std::vector<std::string> client_servers(const AgentConfig& config);

/// What a plugin's requests show: its token, or what stands in `token_file` now; empty: nothing.
Result<SecretText> token_of(const PluginBlock& plugin);

/// The configuration as /v1/agent/self shows it: PascalCase JSON without secrets.
std::string to_json(const AgentConfig& config);

}  // namespace nomad::config
