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

boost::json::object server(const Server& from) {
  return {{"Enabled", from.enabled},
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

boost::json::object client(const Client& from) {
  boost::json::array volumes;
  for (const auto& [name, volume] : from.host_volumes)
    volumes.push_back(
        boost::json::object{{"Name", name}, {"Path", volume.path}, {"ReadOnly", volume.read_only}});
  return {{"Enabled", from.enabled},
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
          {"HostVolumes", std::move(volumes)}};
}

boost::json::array strings(const std::vector<std::string>& from) {
  boost::json::array list;
  for (const auto& item : from)
    list.emplace_back(item);
  return list;
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
      {"ACL", {{"Enabled", false}}},
      {"Telemetry",
       {{"PrometheusMetrics", config.telemetry.prometheus_metrics},
        {"DisableHostname", config.telemetry.disable_hostname}}},
      {"Limits", {{"HTTPMaxConnsPerClient", config.limits.http_max_conns_per_client}}},
      {"HTTPAPIResponseHeaders", texts(config.http_api_response_headers)},
      {"UI", {{"Enabled", false}, {"Label", nullptr}}},
      {"Consul", nullptr},
      {"Vault", nullptr},
      {"TLSConfig", {{"EnableHTTP", config.tls.http}, {"EnableRPC", config.tls.rpc}}},
      {"Version",
       {{"Version", "1.6.5"},
        {"VersionPrerelease", ""},
        {"VersionMetadata", "nomadctl-" NOMADCTL_VERSION},
        {"Revision", ""}}}};
  return boost::json::serialize(object);
}

}  // namespace nomad::config
