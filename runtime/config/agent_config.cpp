// What must hold of a configuration, and how files change it.
#include "runtime/config/agent_config.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/ip_network.hpp"
#include "runtime/base/log.hpp"
#include "runtime/config/byte_size.hpp"
#include "runtime/config/config_file.hpp"
#include "runtime/config/join_address.hpp"
#include "runtime/config/key_reader.hpp"
#include "runtime/text/url.hpp"

namespace nomad::config {
namespace {

/// What listens beyond loopback must be secured. `own` is what `own_key` says, if it does.
Result<> check_listener(const AgentConfig& config,
                        std::string_view own_key,
                        const std::string& own,
                        bool is_secured) {
  const auto key = own.empty() ? "bind_addr" : own_key;
  const auto& address = own.empty() ? config.bind_addr : own;
  if (!is_ip_address(address) && !is_loopback(address))
    return Error{Errc::invalid_argument, fmt::format("{}: \"{}\" is no IP address", key, address)};
  if (!is_loopback(address) && !is_secured && !config.allow_unsafe_bind)
    return Error{Errc::invalid_argument,
                 fmt::format("refusing to listen on {} without TLS: everyone who reaches it could "
                             "run commands here; set {} = \"127.0.0.1\", or "
                             "allow_unsafe_bind = true if the network is trusted",
                             address, key)};
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
       {std::pair{"http", config.ports.http}, std::pair{"rpc", config.ports.rpc},
        std::pair{"serf", config.ports.serf}})
    if (port < 0 || port > 65'535)
      return Error{Errc::invalid_argument,
                   fmt::format("ports.{}: {} is no port; expected 0 to 65535", name, port)};
  NOMAD_TRY(check_listener(config, "addresses.http", config.addresses.http, config.tls.http));
  if (!config.server.enabled) return {};
  NOMAD_TRY(check_listener(config, "addresses.rpc", config.addresses.rpc, config.tls.rpc));
  NOMAD_TRY(check_listener(config, "addresses.serf", config.addresses.serf, config.tls.rpc));
  // Others dial it; the other two are only shown.
  const auto& rpc = config.addresses.rpc.empty() ? config.bind_addr : config.addresses.rpc;
  if (config.advertise.rpc.empty() && (rpc == "0.0.0.0" || rpc == "::"))
    return Error{Errc::invalid_argument,
                 "advertise.rpc: the server listens on all addresses, and this machine has none "
                 "that others could know: set the one at which they reach it"};
  return {};
}

/// Objects that a search may look at, and what it may find.
constexpr std::int64_t most_searched = 10'000;

/// Third parties compare it with claims and ask below it for keys, so all of it is shown.
Result<> check_issuer(const std::string& issuer) {
  if (issuer.empty()) return {};
  const auto url = NOMAD_TRY(parse_url(issuer));
  if ((url.scheme != "https" && url.scheme != "http") || url.host_name().empty())
    return Error{Errc::invalid_argument,
                 fmt::format("{} is no address; expected one like \"https://nomad.example.com\"",
                             quote(url.shown()))};
  if (!url.userinfo.empty() || !url.query.empty() || !url.fragment.empty())
    return Error{Errc::invalid_argument,
                 fmt::format("{} has a user, a query or a fragment; expected scheme, host and path",
                             quote(url.shown()))};
  return {};
}

Result<> validate_server(const AgentConfig& config) {
  const auto& server = config.server;
  if (!server.enabled) return {};
  const auto wrong = [](std::string what) {
    return Error{Errc::invalid_argument, "server." + std::move(what)};
  };
  if (const auto size = parse_byte_size(server.job_max_source_size); !size)
    return wrong("job_max_source_size: " + size.error().what);
  if (server.num_schedulers < -1 || server.num_schedulers > 128)
    return wrong(fmt::format("num_schedulers: expected 0 to 128, not {}", server.num_schedulers));
  if (server.bootstrap_expect < 0 || server.bootstrap_expect > 64)
    return wrong("bootstrap_expect: expected 0 to 64");
  if (server.acl_token_gc_threshold <= Nanoseconds{0})
    return wrong("acl_token_gc_threshold: must be longer than 0");
  if (server.raft_multiplier < 0 || server.raft_multiplier > 10)
    return wrong("raft_multiplier: expected 1 to 10");
  if (const auto issuer = check_issuer(server.oidc_issuer); !issuer)
    return wrong("oidc_issuer: " + issuer.error().what);
  const auto& algorithm = server.default_scheduler_config.scheduler_algorithm;
  if (algorithm != "binpack" && algorithm != "spread")
    return wrong("default_scheduler_config.scheduler_algorithm: expected binpack or spread");
  if (server.plan_rejection_tracker.enabled
      && (server.plan_rejection_tracker.node_threshold < 1
          || server.plan_rejection_tracker.node_window <= Nanoseconds{0}))
    return wrong("plan_rejection_tracker: node_threshold and node_window must be greater than 0");
  for (const auto& [name, value, least] :
       {std::tuple{"limit_query", server.search.limit_query, 1},
        std::tuple{"limit_results", server.search.limit_results, 1},
        std::tuple{"min_term_length", server.search.min_term_length, 0}})
    if (value < least || value > most_searched)
      return wrong(
          fmt::format("search.{}: expected {} to {}, not {}", name, least, most_searched, value));
  if (server.join.retry_interval < 1s)
    return wrong("server_join.retry_interval: must be at least \"1s\"");
  if (server.join.retry_max < 0)
    return wrong("server_join.retry_max: must be at least 0, which is for ever");
  for (const auto& [key, names] : {std::pair{"start_join", &server.join.start_join},
                                   std::pair{"retry_join", &server.join.retry_join}})
    for (const auto& name : *names)
      if (!has_good_port(name))
        return wrong(fmt::format("server_join.{}: \"{}\" has no port from 1 to 65535", key, name));
  return {};
}

Result<> validate_acl(const Acl& acl) {
  const auto wrong = [](std::string what) {
    return Error{Errc::invalid_argument, "acl." + std::move(what)};
  };
  for (const auto& [name, value] :
       {std::pair{"token_ttl", acl.token_ttl}, std::pair{"policy_ttl", acl.policy_ttl},
        std::pair{"role_ttl", acl.role_ttl},
        std::pair{"token_min_expiration_ttl", acl.token_min_expiration_ttl}})
    if (value <= Nanoseconds{0}) return wrong(fmt::format("{}: must be longer than 0", name));
  if (acl.token_min_expiration_ttl >= acl.token_max_expiration_ttl)
    return wrong("token_min_expiration_ttl: must be shorter than token_max_expiration_ttl");
  return {};
}

Result<> validate_sink(const std::string& name, const AuditSink& sink) {
  const auto wrong = [&](std::string_view what) {
    return Error{Errc::invalid_argument, fmt::format("audit.sink \"{}\": {}", name, what)};
  };
  if (sink.type != "file") return wrong("type: expected file");
  if (sink.format != "json") return wrong("format: expected json");
  if (sink.delivery_guarantee != "enforced" && sink.delivery_guarantee != "best-effort")
    return wrong("delivery_guarantee: expected enforced or best-effort");
  if (!sink.path.empty() && sink.path[0] != '/') return wrong("path: must be an absolute path");
  const bool is_octal = !sink.mode.empty() && sink.mode.size() <= 4
                        && sink.mode.find_first_not_of("01234567") == std::string::npos;
  if (!is_octal) return wrong("mode: expected an octal number such as 0600");
  if (sink.rotate_bytes < 0) return wrong("rotate_bytes: must be at least 0");
  if (sink.rotate_duration < Nanoseconds{0}) return wrong("rotate_duration: must be at least 0");
  if (sink.rotate_max_files < 0) return wrong("rotate_max_files: must be at least 0");
  return {};
}

Result<> validate_filter(const std::string& name, const AuditFilter& filter) {
  const auto wrong = [&](std::string_view what) {
    return Error{Errc::invalid_argument, fmt::format("audit.filter \"{}\": {}", name, what)};
  };
  if (filter.type != "HTTPEvent") return wrong("type: expected HTTPEvent");
  if (filter.endpoints.empty() || filter.stages.empty() || filter.operations.empty())
    return wrong("needs endpoints, stages and operations; [\"*\"] are all");
  for (const auto& stage : filter.stages)
    if (stage != "*" && stage != "OperationReceived" && stage != "OperationComplete")
      return wrong("stages: expected OperationReceived, OperationComplete or *");
  return {};
}

Result<> validate_audit(const Audit& audit) {
  std::map<std::string, std::string> taken;  // paths, by sinks
  for (const auto& [name, sink] : audit.sinks) {
    NOMAD_TRY(validate_sink(name, sink));
    const auto [location, is_new] = taken.try_emplace(sink.path, name);
    if (!is_new)
      return Error{Errc::invalid_argument,
                   fmt::format("audit.sink \"{}\": writes the same file as sink \"{}\"", name,
                               location->second)};
  }
  for (const auto& [name, filter] : audit.filters)
    NOMAD_TRY(validate_filter(name, filter));
  return {};
}

Result<> validate_rate(const RpcRate& rate) {
  const auto wrong = [](std::string what) {
    return Error{Errc::invalid_argument, "limits.rpc_rate." + std::move(what)};
  };
  if (rate.mode != "enforcing" && rate.mode != "permissive")
    return wrong("mode: expected enforcing or permissive");
  for (const auto& [name, value] :
       {std::pair{"read_rate", rate.read_rate}, std::pair{"read_burst", rate.read_burst},
        std::pair{"write_rate", rate.write_rate}, std::pair{"write_burst", rate.write_burst}})
    if (!(value >= 0 && value <= 1e9)) return wrong(fmt::format("{}: expected 0 to 1e9", name));
  return {};
}

Result<> validate_ui(const Ui& ui) {
  // They go into a header: none may end it, or begin another rule.
  const auto is_plain = [](const std::string& word) {
    return !word.empty() && std::ranges::all_of(word, [](char c) {
      return c > ' ' && c < '\x7f' && c != ';' && c != ',';
    });
  };
  for (const auto& word : ui.frame_ancestors)
    if (!is_plain(word))
      return Error{Errc::invalid_argument,
                   fmt::format("ui.content_security_policy.frame_ancestors: \"{}\" is no source, "
                               "as \"https://portal.example\" or \"'self'\"",
                               word)};
  return {};
}

Result<> validate_client(const Client& client) {
  const auto wrong = [](std::string what) {
    return Error{Errc::invalid_argument, "client." + std::move(what)};
  };
  for (const auto& [name, value] : {std::pair{"reserved.cpu", client.reserved.cpu},
                                    std::pair{"reserved.memory", client.reserved.memory},
                                    std::pair{"reserved.disk", client.reserved.disk},
                                    std::pair{"cpu_total_compute", client.cpu_total_compute},
                                    std::pair{"memory_total_mb", client.memory_total_mb},
                                    std::pair{"disk_total_mb", client.disk_total_mb},
                                    std::pair{"disk_free_mb", client.disk_free_mb},
                                    std::pair{"network_speed", client.network_speed}})
    if (value < 0) return wrong(fmt::format("{}: must be at least 0, not {}", name, value));
  if (client.gc_interval <= Nanoseconds{0})
    return wrong("gc_interval: must be longer than 0, as \"1m\"");
  if (client.ephemeral_disk_interval < Nanoseconds{0}
      || (client.ephemeral_disk_interval > Nanoseconds{0} && client.ephemeral_disk_interval < 1s))
    return wrong("ephemeral_disk_interval: must be at least \"1s\", or \"0s\" for never");
  if (client.min_dynamic_port < 1 || client.max_dynamic_port > 65'535
      || client.min_dynamic_port > client.max_dynamic_port)
    return Error{Errc::invalid_argument,
                 "client: min_dynamic_port and max_dynamic_port do not form a range of ports"};
  return {};
}

}  // namespace

AgentConfig dev_defaults() {
  AgentConfig config;
  config.dev_mode = true;
  config.enable_debug = true;
  config.bind_addr = "127.0.0.1";
  config.log_level = "DEBUG";
  config.server.enabled = true;
  config.server.bootstrap_expect = 1;
  config.client.enabled = true;
  config.client.network_interface = "lo";
  config.client.gc_interval = 10min;
  config.client.gc_disk_usage_threshold = 99;
  config.client.gc_inode_usage_threshold = 99;
  config.telemetry.prometheus_metrics = true;
  config.plugins["raw_exec"]["enabled"] = "true";
  config.plugins["mock_driver"]["enabled"] = "true";
  return config;
}

Result<AgentConfig> with_file_text(AgentConfig base, const std::string& file, std::string text) {
  const auto tree = NOMAD_TRY(parse_config_text(file, std::move(text)));
  auto found = read_keys(file, tree, base);
  if (!found.errors.empty())
    return Error{Errc::invalid_argument, fmt::format("{}", fmt::join(found.errors, "\n"))};
  for (auto& warning : found.warnings)
    base.warnings.push_back(std::move(warning));
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

std::vector<std::string> remarks(const AgentConfig& config) {
  const auto& server = config.server;
  if (!server.enabled) return {};
  if (server.num_schedulers == 0)
    return {
        "server.num_schedulers is 0: this server schedules nothing, whatever "
        "server.enabled_schedulers says, and other servers have to; leave the key out to have "
        "half as many as cores, which 0 meant in earlier releases"};
  if (server.enabled_schedulers.empty()) return {};
  std::vector<std::string_view> missing;
  for (const std::string_view type : {"service", "batch", "system", "sysbatch"})
    if (std::ranges::find(server.enabled_schedulers, type) == server.enabled_schedulers.end())
      missing.push_back(type);
  if (missing.empty()) return {};
  return {
      fmt::format("server.enabled_schedulers leaves out {}: none of this server's schedulers, "
                  "however many server.num_schedulers says, takes such jobs, and other servers "
                  "have to",
                  fmt::join(missing, ", "))};
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
  NOMAD_TRY(check("job_max_kb", limits.job_max_kb, 0));
  NOMAD_TRY(check("job_env_max_kb", limits.job_env_max_kb, 0));
  NOMAD_TRY(check("namespace_jobs_max_mb", limits.namespace_jobs_max_mb, 0));
  NOMAD_TRY(check("text_max_kb", limits.text_max_kb, 0));
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
    return wrong(fmt::format("data_dir: must be an absolute path, not \"{}\"", config.data_dir));
  NOMAD_TRY(validate_server(config));
  if (config.client.enabled && !config.server.enabled && client_servers(config).empty())
    return wrong("client.servers: a client without a server of its own needs the address of one");
  if (!config.plugin_dir.empty() && config.plugin_dir[0] != '/')
    return wrong(
        fmt::format("plugin_dir: must be an absolute path, not \"{}\"", config.plugin_dir));
  for (const auto& [name, block] : config.plugin_blocks)
    if (config.plugin_dir.empty()) return wrong(block.unknown);
  NOMAD_TRY(validate_limits(config.limits));
  NOMAD_TRY(validate_tls(config.tls));
  NOMAD_TRY(validate_acl(config.acl));
  NOMAD_TRY(validate_audit(config.audit));
  NOMAD_TRY(validate_rate(config.limits.rpc_rate));
  NOMAD_TRY(validate_ui(config.ui));
  NOMAD_TRY(validate_client(config.client));
  NOMAD_TRY(log::parse_level(config.log_level));
  return validate_addresses(config);
}

}  // namespace nomad::config
