// The configuration as the API shows it.
#include <boost/json.hpp>

#include "runtime/config/agent_config.hpp"

namespace nomad::config {
namespace {

boost::json::object texts(const TextMap& map) {
  boost::json::object object;
  for (const auto& [key, value] : map)
    object[key] = value;
  return object;
}

boost::json::object addresses(const Addresses& from) {
  return {{"HTTP", from.http}, {"RPC", from.rpc}, {"Serf", from.serf}};
}

boost::json::array strings(const std::vector<std::string>& from) {
  boost::json::array list;
  for (const auto& item : from)
    list.emplace_back(item);
  return list;
}

boost::json::object join(const Join& from) {
  return {{"RetryInterval", from.retry_interval.count()},
          {"RetryJoin", strings(from.retry_join)},
          {"RetryMaxAttempts", from.retry_max},
          {"StartJoin", strings(from.start_join)}};
}

boost::json::object scheduler_defaults(const SchedulerDefaults& from) {
  const auto& preemption = from.preemption_config;
  return {{"MemoryOversubscriptionEnabled", from.memory_oversubscription_enabled},
          {"PauseEvalBroker", from.pause_eval_broker},
          {"PreemptionConfig",
           {{"BatchSchedulerEnabled", preemption.batch_scheduler_enabled},
            {"ServiceSchedulerEnabled", preemption.service_scheduler_enabled},
            {"SysBatchSchedulerEnabled", preemption.sysbatch_scheduler_enabled},
            {"SystemSchedulerEnabled", preemption.system_scheduler_enabled}}},
          {"RejectJobRegistration", from.reject_job_registration},
          {"SchedulerAlgorithm", from.scheduler_algorithm}};
}

boost::json::object server(const Server& from) {
  return {{"ACLTokenGCThreshold", format_duration(from.acl_token_gc_threshold)},
          {"AuthoritativeRegion", from.authoritative_region},
          {"OIDCIssuer", from.oidc_issuer},
          {"DataDir", ""},
          {"DefaultSchedulerConfig", scheduler_defaults(from.default_scheduler_config)},
          {"EnabledSchedulers", nullptr},
          {"NonVotingServer", from.non_voting_server},
          {"PlanRejectionTracker",
           {{"Enabled", from.plan_rejection_tracker.enabled},
            {"NodeThreshold", from.plan_rejection_tracker.node_threshold},
            {"NodeWindow", from.plan_rejection_tracker.node_window.count()}}},
          {"RaftMultiplier", from.raft_multiplier},
          {"RaftProtocol", 3},
          {"RaftSnapshotInterval", from.raft_snapshot_interval.count()},
          {"RaftSnapshotThreshold", from.raft_snapshot_threshold},
          {"RaftTrailingLogs", from.raft_trailing_logs},
          {"RedundancyZone", ""},
          {"RetryInterval", from.join.retry_interval.count()},
          {"RetryJoin", strings(from.join.retry_join)},
          {"RetryMaxAttempts", from.join.retry_max},
          {"Search",
           {{"FuzzyEnabled", from.search.fuzzy_enabled},
            {"LimitQuery", from.search.limit_query},
            {"LimitResults", from.search.limit_results},
            {"MinTermLength", from.search.min_term_length}}},
          {"ServerJoin", join(from.join)},
          {"StartJoin", strings(from.join.start_join)},
          {"UpgradeVersion", ""},
          {"Enabled", from.enabled},
          {"BootstrapExpect", from.bootstrap_expect},
          {"NumSchedulers", from.num_schedulers},
          {"NodeGCThreshold", format_duration(from.node_gc_threshold)},
          {"JobGCInterval", format_duration(from.job_gc_interval)},
          {"JobGCThreshold", format_duration(from.job_gc_threshold)},
          {"EvalGCThreshold", format_duration(from.eval_gc_threshold)},
          {"BatchEvalGCThreshold", format_duration(from.batch_eval_gc_threshold)},
          {"DeploymentGCThreshold", format_duration(from.deployment_gc_threshold)},
          {"HeartbeatGrace", from.heartbeat_grace.count()},
          {"MinHeartbeatTTL", from.min_heartbeat_ttl.count()},
          {"FailoverHeartbeatTTL", from.failover_heartbeat_ttl.count()},
          {"MaxHeartbeatsPerSecond", from.max_heartbeats_per_second},
          {"EventBufferSize", from.event_buffer_size},
          {"EnableEventBroker", true},
          {"JobDefaultPriority", from.job_default_priority},
          {"JobMaxPriority", from.job_max_priority},
          {"JobMaxSourceSize", from.job_max_source_size},
          {"JobTrackedVersions", 6}};
}

boost::json::object artifact(const Artifact& from) {
  return {{"HTTPReadTimeout", format_duration(from.http_read_timeout)},
          {"HTTPMaxSize", from.http_max_size},
          {"GCSTimeout", format_duration(from.gcs_timeout)},
          {"GitTimeout", format_duration(from.git_timeout)},
          {"HgTimeout", format_duration(from.hg_timeout)},
          {"S3Timeout", format_duration(from.s3_timeout)},
          {"DecompressionFileCountLimit", from.decompression_file_count_limit},
          {"DecompressionSizeLimit", from.decompression_size_limit},
          {"DisableFilesystemIsolation", from.disable_filesystem_isolation},
          {"AllowLoopback", from.allow_loopback},
          {"AllowLinkLocal", from.allow_link_local},
          {"AllowAgentAPI", from.allow_agent_api},
          {"SetEnvironmentVariables", from.set_environment_variables}};
}

boost::json::value host_volumes(const std::map<std::string, HostVolume>& from) {
  if (from.empty()) return nullptr;
  boost::json::array list;
  for (const auto& [name, volume] : from)
    list.push_back(
        boost::json::object{{"Name", name}, {"Path", volume.path}, {"ReadOnly", volume.read_only}});
  return list;
}

boost::json::value host_networks(const std::map<std::string, HostNetwork>& from) {
  if (from.empty()) return nullptr;
  boost::json::array list;
  for (const auto& [name, network] : from)
    list.push_back(boost::json::object{{"CIDR", network.cidr},
                                       {"Interface", network.interface},
                                       {"Name", name},
                                       {"ReservedPorts", network.reserved_ports}});
  return list;
}

boost::json::value drain(const DrainOnShutdown& from) {
  if (!from.wanted) return nullptr;
  return boost::json::object{{"Deadline", format_duration(from.deadline)},
                             {"Force", from.force},
                             {"IgnoreSystemJobs", from.ignore_system_jobs}};
}

boost::json::object templates(const Templates& from) {
  return {{"BlockQueryWaitTime", from.block_query_wait.count()},
          {"DisableSandbox", from.disable_file_sandbox},
          {"FunctionDenylist", strings(from.function_denylist)},
          {"MaxStale", from.max_stale.count()},
          {"NomadRetry",
           {{"Attempts", from.retry_attempts},
            {"Backoff", from.retry_backoff.count()},
            {"MaxBackoff", from.retry_max_backoff.count()}}}};
}

boost::json::object client(const Client& from) {
  return {{"BindWildcardDefaultHostNetwork", from.bind_wildcard_default_host_network},
          {"BridgeNetworkHairpinMode", from.bridge_network_hairpin_mode},
          {"BridgeNetworkName", from.bridge_network_name},
          {"BridgeNetworkSubnet", from.bridge_network_subnet},
          {"CNIConfigDir", from.cni_config_dir},
          {"CNIPath", from.cni_path},
          {"CgroupParent", from.cgroup_parent},
          {"ChrootEnv", texts(from.chroot_env)},
          {"DiskFreeMB", from.disk_free_mb},
          {"DiskTotalMB", from.disk_total_mb},
          {"Drain", drain(from.drain_on_shutdown)},
          {"GCParallelDestroys", from.gc_parallel_destroys},
          {"HostNetworks", host_networks(from.host_networks)},
          {"NomadServiceDiscovery", from.nomad_service_discovery},
          {"ReserveableCores", from.reservable_cores},
          {"Reserved",
           {{"CPU", from.reserved.cpu},
            {"Cores", from.reserved.cores},
            {"DiskMB", from.reserved.disk},
            {"MemoryMB", from.reserved.memory},
            {"ReservedPorts", from.reserved.ports}}},
          {"ServerJoin", join(from.join)},
          {"Servers", strings(from.servers)},
          {"TemplateConfig", templates(from.templates)},
          {"Enabled", from.enabled},
          {"StateDir", from.state_dir},
          {"AllocDir", from.alloc_dir},
          {"NodeClass", from.node_class},
          {"NodePool", from.node_pool},
          {"Options", texts(from.options)},
          {"Meta", texts(from.meta)},
          {"NetworkInterface", from.network_interface},
          {"NetworkSpeed", from.network_speed},
          {"CpuCompute", from.cpu_total_compute},
          {"MemoryMB", from.memory_total_mb},
          {"MaxKillTimeout", format_duration(from.max_kill_timeout)},
          {"MinDynamicPort", from.min_dynamic_port},
          {"MaxDynamicPort", from.max_dynamic_port},
          {"GCInterval", from.gc_interval.count()},
          {"GCDiskUsageThreshold", from.gc_disk_usage_threshold},
          {"GCInodeUsageThreshold", from.gc_inode_usage_threshold},
          {"GCMaxAllocs", from.gc_max_allocs},
          {"DisableRemoteExec", from.disable_remote_exec},
          {"Artifact", artifact(from.artifact)},
          {"HostVolumes", host_volumes(from.host_volumes)}};
}

boost::json::object autopilot(const Autopilot& from) {
  return {{"CleanupDeadServers", from.cleanup_dead_servers},
          {"DisableUpgradeMigration", nullptr},
          {"EnableCustomUpgrades", nullptr},
          {"EnableRedundancyZones", nullptr},
          {"LastContactThreshold", from.last_contact_threshold.count()},
          {"MaxTrailingLogs", from.max_trailing_logs},
          {"MinQuorum", from.min_quorum},
          {"ServerStabilizationTime", from.server_stabilization_time.count()}};
}

/// In the order of their names. Their own settings may be secrets, and say nothing.
boost::json::array plugins(const AgentConfig& config) {
  std::map<std::string, boost::json::value> args;
  for (const auto& [name, settings] : config.plugins)
    args.emplace(name, nullptr);
  for (const auto& [name, block] : config.plugin_blocks)
    args.insert_or_assign(name, strings(block.args));
  boost::json::array list;
  for (auto& [name, value] : args)
    list.push_back(
        boost::json::object{{"Args", std::move(value)}, {"Config", nullptr}, {"Name", name}});
  return list;
}

boost::json::object telemetry(const Telemetry& from) {
  return {{"CollectionInterval", format_duration(from.collection_interval)},
          {"DataDogAddr", ""},
          {"DataDogTags", nullptr},
          {"DisableDispatchedJobSummaryMetrics", false},
          {"DisableHostname", from.disable_hostname},
          {"DisableRPCRateMetricsLabels", from.disable_rpc_rate_metrics_labels},
          {"FilterDefault", nullptr},
          {"PrefixFilter", nullptr},
          {"PrometheusMetrics", from.prometheus_metrics},
          {"PublishAllocationMetrics", from.publish_allocation_metrics},
          {"PublishNodeMetrics", true},
          {"StatsdAddr", ""},
          {"StatsiteAddr", ""},
          {"UseNodeName", false}};
}

boost::json::object limits(const Limits& from) {
  return {{"HTTPMaxConnsPerClient", from.http_max_conns_per_client},
          {"HTTPSHandshakeTimeout", format_duration(from.http_read_timeout)},
          {"RPCHandshakeTimeout", format_duration(from.rpc_handshake_timeout)},
          {"RPCMaxConnsPerClient", from.rpc_max_conns_per_client}};
}

boost::json::object tls(const Tls& from) {
  return {{"CAFile", from.ca_file},
          {"CertFile", from.cert_file},
          {"EnableHTTP", from.http},
          {"EnableRPC", from.rpc},
          {"KeyFile", from.key_file},
          {"RPCUpgradeMode", false},
          {"TLSCipherSuites", ""},
          {"TLSMinVersion", from.min_version},
          {"TLSPreferServerCipherSuites", from.prefer_server_cipher_suites},
          {"VerifyHTTPSClient", from.verify_https_client},
          {"VerifyServerHostname", from.verify_server_hostname}};
}

boost::json::object audit(const Audit& from) {
  if (!from.enabled && from.sinks.empty() && from.filters.empty())
    return {{"Enabled", nullptr}, {"Filters", nullptr}, {"Sinks", nullptr}};
  boost::json::array sinks;
  for (const auto& [name, sink] : from.sinks)
    sinks.push_back({{"Name", name},
                     {"Type", sink.type},
                     {"DeliveryGuarantee", sink.delivery_guarantee},
                     {"Format", sink.format},
                     {"Path", sink.path},
                     {"Mode", sink.mode},
                     {"RotateBytes", sink.rotate_bytes},
                     {"RotateDuration", format_duration(sink.rotate_duration)},
                     {"RotateMaxFiles", sink.rotate_max_files}});
  boost::json::array filters;
  for (const auto& [name, filter] : from.filters)
    filters.push_back({{"Name", name},
                       {"Type", filter.type},
                       {"Endpoints", strings(filter.endpoints)},
                       {"Stages", strings(filter.stages)},
                       {"Operations", strings(filter.operations)}});
  return {{"Enabled", from.enabled}, {"Filters", filters}, {"Sinks", sinks}};
}

boost::json::object acl(const Acl& from) {
  return {{"Enabled", from.enabled},
          {"PolicyTTL", from.policy_ttl.count()},
          {"ReplicationToken", from.replication_token.empty() ? "" : "<redacted>"},
          {"RoleTTL", from.role_ttl.count()},
          {"TokenMaxExpirationTTL", from.token_max_expiration_ttl.count()},
          {"TokenMinExpirationTTL", from.token_min_expiration_ttl.count()},
          {"TokenTTL", from.token_ttl.count()}};
}

/// What there is not yet, with the members that programs look for: none is asked.
boost::json::object no_consul() {
  return {{"Addr", ""},
          {"AllowUnauthenticated", nullptr},
          {"Auth", ""},
          {"AutoAdvertise", false},
          {"CAFile", ""},
          {"CertFile", ""},
          {"ChecksUseAdvertise", false},
          {"ClientAutoJoin", false},
          {"ClientHTTPCheckName", ""},
          {"ClientServiceName", ""},
          {"EnableSSL", false},
          {"GRPCAddr", ""},
          {"GRPCCAFile", ""},
          {"KeyFile", ""},
          {"Namespace", ""},
          {"ServerAutoJoin", false},
          {"ServerHTTPCheckName", ""},
          {"ServerRPCCheckName", ""},
          {"ServerSerfCheckName", ""},
          {"ServerServiceName", ""},
          {"ShareSSL", nullptr},
          {"Tags", nullptr},
          {"Timeout", 0},
          {"Token", ""},
          {"VerifySSL", false}};
}

boost::json::object no_vault() {
  return {{"Addr", ""},
          {"AllowUnauthenticated", nullptr},
          {"ConnectionRetryIntv", 0},
          {"Enabled", false},
          {"Namespace", ""},
          {"Role", ""},
          {"TLSCaFile", ""},
          {"TLSCaPath", ""},
          {"TLSCertFile", ""},
          {"TLSKeyFile", ""},
          {"TLSServerName", ""},
          {"TLSSkipVerify", nullptr},
          {"TaskTokenTTL", ""},
          {"Token", ""}};
}

}  // namespace

std::string to_json(const AgentConfig& config) {
  const boost::json::object object{
      {"Region", config.region},
      {"Datacenter", config.datacenter},
      {"NodeName", config.name},
      {"DataDir", config.data_dir},
      {"PluginDir", config.plugin_dir},
      {"BindAddr", config.bind_addr},
      {"LogLevel", config.log_level},
      {"LogJson", config.log_json},
      {"LogFile", config.log_file},
      {"EnableDebug", false},
      {"DevMode", config.dev_mode},
      {"LeaveOnInt", config.leave_on_interrupt},
      {"LeaveOnTerm", config.leave_on_terminate},
      {"Files", strings(config.files)},
      {"Ports",
       {{"HTTP", config.ports.http}, {"RPC", config.ports.rpc}, {"Serf", config.ports.serf}}},
      {"Addresses", addresses(config.addresses)},
      {"AdvertiseAddrs", addresses(config.advertise)},
      {"Server", server(config.server)},
      {"Client", client(config.client)},
      {"ACL", acl(config.acl)},
      {"Audit", audit(config.audit)},
      {"Autopilot", autopilot(config.autopilot)},
      {"DisableAnonymousSignature", true},
      {"DisableUpdateCheck", true},
      {"EnableSyslog", false},
      {"SyslogFacility", ""},
      {"LogIncludeLocation", false},
      {"LogRotateBytes", config.log_rotate_bytes},
      {"LogRotateDuration", format_duration(config.log_rotate_duration)},
      {"LogRotateMaxFiles", config.log_rotate_max_files},
      {"Plugins", plugins(config)},
      {"Sentinel", {{"Imports", nullptr}}},
      {"Telemetry", telemetry(config.telemetry)},
      {"Limits", limits(config.limits)},
      {"HTTPAPIResponseHeaders", texts(config.http_api_response_headers)},
      {"UI",
       {{"Consul", {{"BaseUIURL", ""}}},
        {"Enabled", config.ui.enabled},
        {"Label",
         {{"BackgroundColor", config.ui.label.background_color},
          {"Text", config.ui.label.text},
          {"TextColor", config.ui.label.text_color}}},
        {"Vault", {{"BaseUIURL", ""}}}}},
      {"Consul", no_consul()},
      {"Vault", no_vault()},
      {"TLSConfig", tls(config.tls)},
      {"Version",
       {{"Version", "1.6.5"},
        {"VersionPrerelease", ""},
        {"VersionMetadata", "nomadctl-" NOMADCTL_VERSION},
        {"Revision", ""}}}};
  return boost::json::serialize(object);
}

}  // namespace nomad::config
