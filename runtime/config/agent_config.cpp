// What the keys of a configuration file mean.
#include "runtime/config/agent_config.hpp"

#include <algorithm>

#include <arpa/inet.h>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/log.hpp"
#include "runtime/config/config_file.hpp"
#include "runtime/config/section.hpp"

namespace nomad::config {
namespace {

void read_addresses(Section& block, Addresses& target) {
  block.text("http", target.http);
  block.text("rpc", target.rpc);
  block.text("serf", target.serf);
}

void read_join(Section& block, Join& target) {
  block.list("start_join", target.start_join);
  block.list("retry_join", target.retry_join);
  block.integer("retry_max", target.retry_max);
  block.duration("retry_interval", target.retry_interval);
}

void read_autopilot(Section& block, Autopilot& target) {
  block.boolean("cleanup_dead_servers", target.cleanup_dead_servers);
  block.duration("last_contact_threshold", target.last_contact_threshold);
  block.integer("max_trailing_logs", target.max_trailing_logs);
  block.integer("min_quorum", target.min_quorum);
  block.duration("server_stabilization_time", target.server_stabilization_time);
  block.accept({"enable_redundancy_zones", "disable_upgrade_migration", "enable_custom_upgrades"});
}

void read_server(Section& block, Server& target) {
  block.boolean("enabled", target.enabled);
  block.integer("bootstrap_expect", target.bootstrap_expect);
  block.integer("num_schedulers", target.num_schedulers);
  block.list("enabled_schedulers", target.enabled_schedulers);
  block.duration("node_gc_threshold", target.node_gc_threshold);
  block.duration("job_gc_interval", target.job_gc_interval);
  block.duration("job_gc_threshold", target.job_gc_threshold);
  block.duration("eval_gc_threshold", target.eval_gc_threshold);
  block.duration("batch_eval_gc_threshold", target.batch_eval_gc_threshold);
  block.duration("deployment_gc_threshold", target.deployment_gc_threshold);
  block.duration("heartbeat_grace", target.heartbeat_grace);
  block.duration("min_heartbeat_ttl", target.min_heartbeat_ttl);
  block.duration("failover_heartbeat_ttl", target.failover_heartbeat_ttl);
  block.real("max_heartbeats_per_second", target.max_heartbeats_per_second);
  block.integer("event_buffer_size", target.event_buffer_size);
  block.boolean("enable_event_broker", target.enable_event_broker);
  block.integer("job_default_priority", target.job_default_priority);
  block.integer("job_max_priority", target.job_max_priority);
  block.integer("job_max_count", target.job_max_count);
  block.integer("job_tracked_versions", target.job_tracked_versions);
  block.integer("raft_snapshot_threshold", target.raft_snapshot_threshold);
  block.duration("raft_snapshot_interval", target.raft_snapshot_interval);
  block.integer("raft_trailing_logs", target.raft_trailing_logs);
  block.integer("raft_multiplier", target.raft_multiplier);
  block.boolean("non_voting_server", target.non_voting_server);
  block.text("encrypt", target.encrypt);
  block.list("start_join", target.join.start_join);
  block.list("retry_join", target.join.retry_join);
  block.section("server_join", [&](Section& inner) { read_join(inner, target.join); });
  block.section("default_scheduler_config", [&](Section& inner) {
    inner.text("scheduler_algorithm", target.scheduler_algorithm);
    inner.accept({"memory_oversubscription_enabled", "reject_job_registration", "pause_eval_broker",
                  "preemption_config"});
  });
  block.accept({"authoritative_region",
                "data_dir",
                "raft_protocol",
                "csi_volume_claim_gc_interval",
                "csi_volume_claim_gc_threshold",
                "csi_plugin_gc_threshold",
                "acl_token_gc_threshold",
                "root_key_gc_interval",
                "root_key_gc_threshold",
                "root_key_rotation_threshold",
                "retry_max",
                "retry_interval",
                "rejoin_after_leave",
                "non_voting_server",
                "redundancy_zone",
                "upgrade_version",
                "deploy_query_rate_limit",
                "job_max_source_size",
                "license_path",
                "plan_rejection_tracker",
                "search",
                "raft_boltdb"});
}

void read_client(Section& block, Client& target) {
  block.boolean("enabled", target.enabled);
  block.text("state_dir", target.state_dir);
  block.text("alloc_dir", target.alloc_dir);
  block.list("servers", target.servers);
  block.text("node_class", target.node_class);
  block.text("node_pool", target.node_pool);
  block.map("options", target.options);
  block.map("meta", target.meta);
  block.text("network_interface", target.network_interface);
  block.integer("network_speed", target.network_speed);
  block.integer("cpu_total_compute", target.cpu_total_compute);
  block.integer("memory_total_mb", target.memory_total_mb);
  block.integer("disk_total_mb", target.disk_total_mb);
  block.integer("disk_free_mb", target.disk_free_mb);
  block.duration("max_kill_timeout", target.max_kill_timeout);
  block.integer("min_dynamic_port", target.min_dynamic_port);
  block.integer("max_dynamic_port", target.max_dynamic_port);
  block.duration("gc_interval", target.gc_interval);
  block.integer("gc_parallel_destroys", target.gc_parallel_destroys);
  block.real("gc_disk_usage_threshold", target.gc_disk_usage_threshold);
  block.real("gc_inode_usage_threshold", target.gc_inode_usage_threshold);
  block.integer("gc_max_allocs", target.gc_max_allocs);
  block.boolean("disable_remote_exec", target.disable_remote_exec);
  block.text("cgroup_parent", target.cgroup_parent);
  block.section("reserved", [&](Section& inner) {
    inner.integer("cpu", target.reserved.cpu);
    inner.integer("memory", target.reserved.memory);
    inner.integer("disk", target.reserved.disk);
    inner.text("reserved_ports", target.reserved.ports);
    inner.text("cores", target.reserved.cores);
  });
  block.labelled("host_volume", [&](const std::string& label, Section& inner) {
    inner.text("path", target.host_volumes[label].path);
    inner.boolean("read_only", target.host_volumes[label].read_only);
  });
  block.labelled("host_network", [&](const std::string& label, Section& inner) {
    inner.text("cidr", target.host_networks[label].cidr);
    inner.text("interface", target.host_networks[label].interface);
    inner.text("reserved_ports", target.host_networks[label].reserved_ports);
  });
  block.section("server_join", [&](Section& inner) { read_join(inner, target.join); });
  block.accept({"chroot_env", "reservable_cores", "client_min_port", "client_max_port",
                "no_host_uuid", "cni_path", "cni_config_dir", "bridge_network_name",
                "bridge_network_subnet", "bridge_network_hairpin_mode",
                "bind_wildcard_default_host_network", "nomad_service_discovery", "template",
                "artifact", "drain_on_shutdown"});
}

void read_telemetry(Section& block, Telemetry& target) {
  block.duration("collection_interval", target.collection_interval);
  block.boolean("prometheus_metrics", target.prometheus_metrics);
  block.boolean("publish_allocation_metrics", target.publish_allocation_metrics);
  block.boolean("publish_node_metrics", target.publish_node_metrics);
  block.boolean("disable_hostname", target.disable_hostname);
  block.accept({"use_node_name", "prefix_filter", "filter_default",
                "disable_dispatched_job_summary_metrics", "disable_rpc_rate_metrics_labels",
                "statsd_address", "statsite_address", "datadog_address", "datadog_tags"});
}

void read_limits(Section& block, Limits& target) {
  block.integer("http_max_conns_per_client", target.http_max_conns_per_client);
  block.integer("http_max_conns", target.http_max_conns);
  block.integer("http_max_body_mb", target.http_max_body_mb);
  block.integer("snapshot_max_mb", target.snapshot_max_mb);
  block.duration("http_read_timeout", target.http_read_timeout);
  block.duration("http_idle_timeout", target.http_idle_timeout);
  block.duration("rpc_handshake_timeout", target.rpc_handshake_timeout);
  block.integer("rpc_max_conns_per_client", target.rpc_max_conns_per_client);
  block.accept({"https_handshake_timeout"});
}

void read_tls(Section& block, Tls& target) {
  block.boolean("http", target.http);
  block.boolean("rpc", target.rpc);
  block.text("ca_file", target.ca_file);
  block.text("cert_file", target.cert_file);
  block.text("key_file", target.key_file);
  block.boolean("verify_server_hostname", target.verify_server_hostname);
  block.boolean("verify_https_client", target.verify_https_client);
  block.text("tls_min_version", target.min_version);
  block.boolean("tls_prefer_server_cipher_suites", target.prefer_server_cipher_suites);
  block.accept({"rpc_upgrade_mode", "tls_cipher_suites"});
}

void read_file(Section& file, AgentConfig& target) {
  file.text("region", target.region);
  file.text("datacenter", target.datacenter);
  file.text("name", target.name);
  file.text("data_dir", target.data_dir);
  file.text("plugin_dir", target.plugin_dir);
  file.text("bind_addr", target.bind_addr);
  file.text("log_level", target.log_level);
  file.boolean("log_json", target.log_json);
  file.text("log_file", target.log_file);
  file.boolean("enable_debug", target.enable_debug);
  file.boolean("leave_on_interrupt", target.leave_on_interrupt);
  file.boolean("leave_on_terminate", target.leave_on_terminate);
  file.boolean("allow_unsafe_bind", target.allow_unsafe_bind);
  file.section("ports", [&](Section& block) {
    block.integer("http", target.ports.http);
    block.integer("rpc", target.ports.rpc);
    block.integer("serf", target.ports.serf);
  });
  file.section("addresses", [&](Section& block) { read_addresses(block, target.addresses); });
  file.section("advertise", [&](Section& block) { read_addresses(block, target.advertise); });
  file.section("server", [&](Section& block) { read_server(block, target.server); });
  file.section("client", [&](Section& block) { read_client(block, target.client); });
  file.section("telemetry", [&](Section& block) { read_telemetry(block, target.telemetry); });
  file.section("limits", [&](Section& block) { read_limits(block, target.limits); });
  file.section("tls", [&](Section& block) { read_tls(block, target.tls); });
  file.section("acl", [&](Section& block) {
    block.boolean("enabled", target.acl_enabled);
    block.accept({"token_ttl", "policy_ttl", "role_ttl", "replication_token",
                  "token_min_expiration_ttl", "token_max_expiration_ttl"});
  });
  file.section("autopilot", [&](Section& block) { read_autopilot(block, target.autopilot); });
  file.map("http_api_response_headers", target.http_api_response_headers);
  file.list("http_allowed_hosts", target.http_allowed_hosts);
  file.labelled("plugin", [&](const std::string& label, Section& block) {
    block.raw("config", target.plugins[label].config_json);
    block.accept({"args"});
  });
  file.accept({"log_include_location", "log_rotate_duration", "log_rotate_bytes",
               "log_rotate_max_files", "enable_syslog", "syslog_facility", "disable_update_check",
               "disable_anonymous_signature", "consul", "vault", "ui", "sentinel", "audit"});
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1" || address == "localhost";
}

/// What listens beyond loopback must be secured.
Result<> check_listener(const AgentConfig& config, const std::string& address, bool is_secured) {
  in6_addr parsed;
  if (address != "localhost" && inet_pton(AF_INET, address.c_str(), &parsed) != 1
      && inet_pton(AF_INET6, address.c_str(), &parsed) != 1)
    return Error{Errc::invalid_argument,
                 fmt::format("bind_addr: \"{}\" is no IP address", address)};
  if (!is_loopback(address) && !is_secured && !config.allow_unsafe_bind)
    return Error{Errc::invalid_argument,
                 fmt::format("refusing to listen on {} without TLS: everyone who reaches it could "
                             "run commands here; set bind_addr = \"127.0.0.1\", or "
                             "allow_unsafe_bind = true if the network is trusted",
                             address)};
  return {};
}

Result<> validate_tls(const Tls& tls) {
  const auto wrong = [](std::string_view what) {
    return Error{Errc::invalid_argument, std::string{what}};
  };
  if (tls.http && (tls.cert_file.empty() || tls.key_file.empty()))
    return wrong("tls.http: needs cert_file and key_file");
  if (tls.verify_https_client && tls.ca_file.empty())
    return wrong("tls.verify_https_client: needs ca_file");
  if (!tls.rpc) return {};
  if (tls.ca_file.empty() || tls.cert_file.empty() || tls.key_file.empty())
    return wrong("tls.rpc: needs ca_file, cert_file and key_file");
  return {};
}

Result<> validate_addresses(const AgentConfig& config) {
  for (const auto& [name, port] :
       {std::pair{"http", config.ports.http}, std::pair{"rpc", config.ports.rpc}})
    if (port < 0 || port > 65'535)
      return Error{Errc::invalid_argument,
                   fmt::format("ports.{}: {} is no port; expected 0 to 65535", name, port)};
  const auto& http = config.addresses.http.empty() ? config.bind_addr : config.addresses.http;
  NOMAD_TRY(check_listener(config, http, config.tls.http));
  if (!config.server.enabled) return {};
  const auto& rpc = config.addresses.rpc.empty() ? config.bind_addr : config.addresses.rpc;
  return check_listener(config, rpc, config.tls.rpc);
}

Result<> validate_server(const AgentConfig& config) {
  const auto& server = config.server;
  if (!server.enabled) return {};
  const auto wrong = [](std::string what) {
    return Error{Errc::invalid_argument, "server." + std::move(what)};
  };
  if (server.bootstrap_expect < 0 || server.bootstrap_expect > 64)
    return wrong("bootstrap_expect: expected 0 to 64");
  const bool joins = !server.join.retry_join.empty() || !server.join.start_join.empty();
  if (server.bootstrap_expect == 0 && !joins)
    return wrong(
        "bootstrap_expect: set it to the number of servers that found the cluster "
        "together, or name servers to join in server_join.retry_join");
  if (server.raft_multiplier < 1 || server.raft_multiplier > 10)
    return wrong("raft_multiplier: expected 1 to 10");
  return {};
}

}  // namespace

AgentConfig dev_defaults() {
  AgentConfig config;
  config.dev_mode = true;
  config.bind_addr = "127.0.0.1";
  config.log_level = "DEBUG";
  config.enable_debug = true;
  config.server.enabled = true;
  config.server.bootstrap_expect = 1;
  config.client.enabled = true;
  config.client.network_interface = "lo";
  config.client.gc_interval = 10min;
  config.client.gc_disk_usage_threshold = 99;
  config.client.gc_inode_usage_threshold = 99;
  config.telemetry.prometheus_metrics = true;
  config.telemetry.publish_allocation_metrics = true;
  config.telemetry.publish_node_metrics = true;
  config.plugins["raw_exec"].config_json = R"({"enabled":true})";
  config.plugins["mock_driver"].config_json = R"({"enabled":true})";
  return config;
}

Result<AgentConfig> with_file_text(AgentConfig base, const std::string& file, std::string text) {
  auto tree = parse_config_text(file, std::move(text));
  if (!tree) return tree.error();
  std::vector<std::string> errors;
  Section root{"", std::move(*tree), errors};
  read_file(root, base);
  root.finish();
  if (!errors.empty())
    return Error{Errc::invalid_argument,
                 fmt::format("{}: {}", file, fmt::join(errors, fmt::format("\n{}: ", file)))};
  base.files.push_back(file);
  return base;
}

std::vector<std::string> client_servers(const AgentConfig& config) {
  std::vector<std::string> all;
  for (const auto* list :
       {&config.client.servers, &config.client.join.start_join, &config.client.join.retry_join})
    for (const auto& server : *list) {
      const bool is_bare_ipv6 = std::count(server.begin(), server.end(), ':') > 1
                                && server.find(']') == std::string::npos;
      auto address = is_bare_ipv6 ? '[' + server + ']' : server;
      const bool has_port = !address.ends_with(']') && address.find(':') != std::string::npos;
      if (!has_port) address += ":4647";
      if (std::find(all.begin(), all.end(), address) == all.end()) all.push_back(address);
    }
  return all;
}

Result<> validate_limits(const Limits& limits) {
  const auto check = [](std::string_view name, std::int64_t value, std::int64_t least) {
    if (value >= least) return Result<>{};
    return Result<>{
        Error{Errc::invalid_argument,
              fmt::format("limits.{}: must be at least {}, not {}", name, least, value)}};
  };
  NOMAD_TRY(check("http_max_conns_per_client", limits.http_max_conns_per_client, 0));
  NOMAD_TRY(check("http_max_conns", limits.http_max_conns, 1));
  NOMAD_TRY(check("http_max_body_mb", limits.http_max_body_mb, 1));
  NOMAD_TRY(check("snapshot_max_mb", limits.snapshot_max_mb, 1));
  return check("rpc_max_conns_per_client", limits.rpc_max_conns_per_client, 0);
}

Result<> validate(const AgentConfig& config) {
  const auto wrong = [](std::string_view what) {
    return Error{Errc::invalid_argument, std::string{what}};
  };
  if (!config.server.enabled && !config.client.enabled)
    return wrong("Must specify either server, client or dev mode for the agent.");
  if (config.data_dir.empty() && !config.dev_mode)
    return wrong("Must specify \"data_dir\" config option or \"data-dir\" CLI flag");
  if (!config.data_dir.empty() && config.data_dir[0] != '/')
    return wrong("data_dir: must be an absolute path");
  NOMAD_TRY(validate_server(config));
  if (config.client.enabled && !config.server.enabled && client_servers(config).empty())
    return wrong("client.servers: a client without a server of its own needs the address of one");
  NOMAD_TRY(validate_limits(config.limits));
  NOMAD_TRY(validate_tls(config.tls));
  if (config.client.min_dynamic_port < 1 || config.client.max_dynamic_port > 65'535
      || config.client.min_dynamic_port > config.client.max_dynamic_port)
    return wrong("client: min_dynamic_port and max_dynamic_port do not form a range of ports");
  if (config.acl_enabled) return wrong("acl: this release has no ACLs yet; set enabled = false");
  NOMAD_TRY(log::parse_level(config.log_level));
  return validate_addresses(config);
}

}  // namespace nomad::config
