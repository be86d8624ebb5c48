#include "actors/agent/client_part.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "actors/agent/rpc_setup.hpp"
#include "actors/client/hooks/builtin_hooks.hpp"
#include "actors/client/templates/template_settings.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/artifact/fetch_pool.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/ip_network.hpp"
#include "runtime/base/log.hpp"
#include "runtime/config/byte_size.hpp"
#include "runtime/host/fingerprint/parse.hpp"
#include "runtime/host/fingerprint/program_answers.hpp"
#include "runtime/net/socket.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/plan/port_set.hpp"
#include "runtime/storage/directory.hpp"

namespace nomad::agent {
namespace {

using namespace std::chrono_literals;

/// Before drivers had `plugin` blocks they had options; these count where there is no such block.
void take_raw_exec_options(client::ClientOptions& options) {
  if (options.drivers.contains("raw_exec")) return;
  const auto take = [&options](const std::string& option, const char* setting) {
    static const std::set<std::string> yes{"1", "t", "T", "true", "TRUE", "True"};
    const auto found = options.options.find("driver.raw_exec." + option);
    if (found != options.options.end() && yes.contains(found->second))
      options.drivers["raw_exec"][setting] = "true";
  };
  take("enable", "enabled");
  take("no_cgroups", "no_cgroups");
}

bool is_enabled(const config::AgentConfig& config, const std::string& driver) {
  const auto plugin = config.plugins.find(driver);
  if (plugin == config.plugins.end()) return false;
  const auto enabled = plugin->second.find("enabled");
  return enabled != plugin->second.end() && enabled->second == "true";
}

/// Where CNI plugins are: as configured, or as the environment says, or where systems have them.
std::string cni_path_of(const config::Client& client) {
  if (!client.cni_path.empty()) return client.cni_path;
  const char* const environment = std::getenv("CNI_PATH");
  if (environment != nullptr && *environment != '\0') return environment;
  return network::NetworkOptions{}.cni_path;
}

Result<network::NetworkOptions> network_options(const config::Client& client) {
  constexpr std::size_t longest_interface = 15;  // of the kernel
  const auto& name = client.bridge_network_name;
  if (name.empty() || name.size() > longest_interface || name.find_first_of("/ \t\n") != name.npos)
    return Error{Errc::invalid_argument,
                 fmt::format("client.bridge_network_name: \"{}\" can't be an interface's name; it "
                             "has 1 to {} characters, without blanks and slashes",
                             name, longest_interface)};
  if (!parse_ip_network(client.bridge_network_subnet))
    return Error{
        Errc::invalid_argument,
        fmt::format("client.bridge_network_subnet: \"{}\" is no network; expected one like "
                    "\"172.26.64.0/20\"",
                    client.bridge_network_subnet)};
  network::NetworkOptions options;
  options.cni_path = cni_path_of(client);
  options.cni_config_dir = client.cni_config_dir;
  options.bridge = {.name = name,
                    .subnet = client.bridge_network_subnet,
                    .hairpin_mode = client.bridge_network_hairpin_mode};
  options.every_address = client.bind_wildcard_default_host_network && client.host_networks.empty();
  return options;
}

host::FingerprintOptions fingerprint_options(const config::Client& client,
                                             const std::string& http_address) {
  host::FingerprintOptions options;
  options.cpu_total_compute = static_cast<std::uint64_t>(client.cpu_total_compute);
  options.memory_total_mb = static_cast<std::uint64_t>(client.memory_total_mb);
  options.disk_total_mb = static_cast<std::uint64_t>(client.disk_total_mb);
  options.disk_free_mb = static_cast<std::uint64_t>(client.disk_free_mb);
  options.network_interface = client.network_interface;
  options.network_speed = static_cast<std::uint64_t>(client.network_speed);
  options.advertise_address = http_address;
  options.service_discovery = client.nomad_service_discovery;
  options.cni_config_dir = client.cni_config_dir;
  options.cni_path = cni_path_of(client);
  options.cache_dir = host::cache_directory();
  options.bridge_network_name = client.bridge_network_name;
  options.bridge_hairpin_mode = client.bridge_network_hairpin_mode;
  for (const auto& [name, network] : client.host_networks)
    options.host_networks.push_back({.name = name,
                                     .cidr = network.cidr,
                                     .interface = network.interface,
                                     .reserved_ports = network.reserved_ports});
  return options;
}

/// "0-3,7" of the key `key`, as core numbers; empty for an empty text.
Result<std::vector<std::uint16_t>> parse_cores(std::string_view key, const std::string& text) {
  auto cores = host::parse_cpu_list(text);
  if (cores.empty() && !text.empty())
    return Error{Errc::invalid_argument,
                 fmt::format("client.{}: \"{}\" is no list of cores; expected one like \"0-3,7\"",
                             key, text)};
  return cores;
}

Result<> take_reserved(const config::Client& from, client::ClientOptions& options) {
  options.reserved.cpu_mhz = static_cast<std::uint64_t>(from.reserved.cpu);
  options.reserved.memory_mb = static_cast<std::uint64_t>(from.reserved.memory);
  options.reserved.disk_mb = static_cast<std::uint64_t>(from.reserved.disk);
  options.reserved.ports = from.reserved.ports;
  options.reserved.cores = NOMAD_TRY(parse_cores("reserved.cores", from.reserved.cores));
  options.fingerprint.reserved_cores = options.reserved.cores;
  auto reservable = NOMAD_TRY(parse_cores("reservable_cores", from.reservable_cores));
  if (!reservable.empty()) options.fingerprint.reservable_cores = std::move(reservable);
  // Servers could place nothing on a node whose ports they can't read.
  NOMAD_TRY(
      scheduler::parse_port_ranges(from.reserved.ports).within("client.reserved.reserved_ports"));
  for (const auto& [name, network] : from.host_networks)
    NOMAD_TRY(scheduler::parse_port_ranges(network.reserved_ports)
                  .within(fmt::format("client.host_network.{}.reserved_ports", name)));
  return {};
}

/// Where artifacts may come from.
artifact::Reach reach_of(const config::AgentConfig& config) {
  const auto& from = config.client.artifact;
  artifact::Reach reach{.loopback = from.allow_loopback,
                        .link_local = from.allow_link_local,
                        .agent = from.allow_agent_api};
  for (const auto port : {config.ports.http, config.ports.rpc, config.ports.serf})
    reach.agent_ports.push_back(static_cast<std::uint16_t>(port));
  const auto& shown = config.advertise;
  for (const auto* address : {&shown.http, &shown.rpc, &shown.serf})
    if (const auto parts = net::split_host_port(*address)) {
      reach.agent_addresses.push_back(parts->first);
      reach.agent_ports.push_back(
          static_cast<std::uint16_t>(std::strtoul(parts->second.c_str(), nullptr, 10)));
    }
  return reach;
}

/// Nomad's rules and words.
Result<std::shared_ptr<artifact::FetchPool>> make_fetch_pool(const config::AgentConfig& config,
                                                             const Programs& programs) {
  const auto& from = config.client.artifact;
  const auto wrong = [](std::string_view key, std::string_view why) {
    return Error{Errc::invalid_argument, fmt::format("client.artifact: {} {}", key, why)};
  };
  for (const auto& [key, timeout] :
       {std::pair{"http_read_timeout", from.http_read_timeout},
        std::pair{"gcs_timeout", from.gcs_timeout}, std::pair{"git_timeout", from.git_timeout},
        std::pair{"hg_timeout", from.hg_timeout}, std::pair{"s3_timeout", from.s3_timeout}})
    if (timeout.count() < 0) return wrong(key, "must be > 0");
  if (from.decompression_file_count_limit < 0)
    return wrong("decompression_file_count_limit",
                 fmt::format("must be >= 0 but found {}", from.decompression_file_count_limit));
  const auto http_size = config::parse_byte_size(from.http_max_size);
  if (!http_size) return wrong("http_max_size", "not a valid size: " + http_size.error().what);
  const auto unpacked_size = config::parse_byte_size(from.decompression_size_limit);
  if (!unpacked_size)
    return wrong("decompression_size_limit", "is not a valid size: " + unpacked_size.error().what);
  if (programs.artifact.empty()) return std::shared_ptr<artifact::FetchPool>{};
  return std::make_shared<artifact::FetchPool>(artifact::FetchOptions{
      .program = programs.artifact,
      .limits = {.http_read_timeout = from.http_read_timeout,
                 .http_max_bytes = *http_size,
                 .gcs_timeout = from.gcs_timeout,
                 .git_timeout = from.git_timeout,
                 .hg_timeout = from.hg_timeout,
                 .s3_timeout = from.s3_timeout,
                 .unpacked_files = static_cast<std::uint64_t>(from.decompression_file_count_limit),
                 .unpacked_bytes = *unpacked_size},
      .reach = reach_of(config),
      .disable_filesystem_isolation = from.disable_filesystem_isolation,
      .set_environment_variables = from.set_environment_variables});
}

Result<std::shared_ptr<const client::TemplateSettings>> template_settings(
    const config::Templates& from) {
  const auto check = [](const char* block, const char* less, Nanoseconds least, const char* more,
                        Nanoseconds most) -> Result<> {
    if (most.count() == 0 || least <= most) return {};
    return Error{Errc::invalid_argument,
                 fmt::format("client.template.{}: {} {} is greater than {} {}", block, less,
                             format_duration(least), more, format_duration(most))};
  };
  NOMAD_TRY(check("wait", "min", from.wait_min, "max", from.wait_max));
  NOMAD_TRY(check("wait_bounds", "min", from.wait_bounds_min, "max", from.wait_bounds_max));
  NOMAD_TRY(
      check("nomad_retry", "backoff", from.retry_backoff, "max_backoff", from.retry_max_backoff));
  if (from.block_query_wait < 1s)
    return Error{Errc::invalid_argument,
                 "client.template.block_query_wait: must be at least \"1s\""};
  auto settings = std::make_shared<client::TemplateSettings>();
  if (from.lists_denied) settings->functions = templates::task_functions(from.function_denylist);
  settings->file_sandbox = !from.disable_file_sandbox;
  settings->block_query_wait = from.block_query_wait;
  settings->wait_min = from.wait_min;
  settings->wait_max = from.wait_max;
  settings->wait_bound_min = from.wait_bounds_min;
  settings->wait_bound_max = from.wait_bounds_max;
  settings->retry = {.attempts = static_cast<std::uint32_t>(from.retry_attempts),
                     .backoff = from.retry_backoff,
                     .max_backoff = from.retry_max_backoff};
  return std::shared_ptr<const client::TemplateSettings>{std::move(settings)};
}

/// It may be mounted later, so that the node offers it all the same; tasks that mount it fail till
/// then.
void warn_of_missing(const std::string& name, const std::string& path) {
  std::error_code failure;
  if (std::filesystem::exists(path, failure) || failure) return;  // it may be there
  log::warn("client",
            "a host volume's path does not exist, so tasks that mount the volume will fail: create "
            "or mount it",
            {{"volume", name}, {"path", path}});
}

Result<client::ClientOptions> client_options(const config::AgentConfig& config,
                                             const std::string& executor_path,
                                             const std::string& http_address) {
  const auto& from = config.client;
  client::ClientOptions options;
  options.dev = config.dev_mode;
  options.state_dir = from.state_dir.empty() ? config.data_dir + "/client" : from.state_dir;
  options.alloc_dir = from.alloc_dir.empty() ? config.data_dir + "/alloc" : from.alloc_dir;
  options.executor_path = executor_path;
  options.region = config.region;
  options.datacenter = config.datacenter;
  options.node_name = config.name;
  options.node_class = from.node_class;
  options.node_pool = from.node_pool;
  options.http_address = http_address;
  if (auto certificates = NOMAD_TRY(http_certificates(config)))
    options.peers = net::secure_connector(std::move(certificates),
                                          fmt::format("client.{}.nomad", config.region));
  options.cgroup_parent = from.cgroup_parent;
  options.meta = from.meta;
  for (const auto& [name, volume] : from.host_volumes) {
    options.host_volumes[name] = {volume.path, volume.read_only};
    warn_of_missing(name, volume.path);
  }
  options.fingerprint = fingerprint_options(from, http_address);
  options.network = NOMAD_TRY(network_options(from));
  NOMAD_TRY(take_reserved(from, options));
  options.min_dynamic_port = from.min_dynamic_port;
  options.max_dynamic_port = from.max_dynamic_port;
  options.options = from.options;
  options.chroot_env = from.chroot_env;
  options.private_dirs = {options.state_dir};
  if (!config.data_dir.empty()) options.private_dirs.push_back(config.data_dir);
  options.drivers = config.plugins;
  take_raw_exec_options(options);
  options.templates = NOMAD_TRY(template_settings(from.templates));
  options.disable_remote_exec = from.disable_remote_exec;
  options.max_kill_timeout = from.max_kill_timeout;
  options.usage_interval = config.telemetry.collection_interval;
  options.gc = {.max_allocs = static_cast<std::size_t>(from.gc_max_allocs),
                .disk_usage_threshold = from.gc_disk_usage_threshold,
                .inode_usage_threshold = from.gc_inode_usage_threshold,
                .parallel_destroys = static_cast<std::size_t>(from.gc_parallel_destroys)};
  options.gc_interval = from.gc_interval;
  options.disk_look_interval = from.ephemeral_disk_interval;
  options.disk_enforce = from.ephemeral_disk_enforce;
  options.keeps_usage = from.usage_history;
  return options;
}

/// A directory that was there before keeps its mode: its owner may have reasons.
void warn_if_impassable(std::filesystem::path path) {
  for (; path.has_relative_path(); path = path.parent_path()) {
    std::error_code failure;
    const auto mode = std::filesystem::status(path, failure).permissions();
    if (!failure && (mode & std::filesystem::perms::others_exec) == std::filesystem::perms::none)
      log::warn("agent",
                "tasks that run as other users can't enter a directory: chmod o+x lets them",
                {{"path", path.native()}});
  }
}

}  // namespace

Result<client::PreparedClient> ClientPart::prepare(const config::AgentConfig& config,
                                                   const Programs& programs,
                                                   const std::string& http_address,
                                                   plugin::PluginLoader* loader,
                                                   std::shared_ptr<client::TaskSockets> sockets) {
  auto options = NOMAD_TRY(client_options(config, programs.executor, http_address));
  options.csi_path = programs.csi;
  NOMAD_TRY(storage::make_directories(
      {{options.state_dir}, {options.alloc_dir, storage::passable_mode}}));
  NOMAD_TRY(storage::make_private_directory(options.state_dir));
  warn_if_impassable(options.alloc_dir);
  auto plugins = client::builtin_plugins(is_enabled(config, "mock_driver"),
                                         {.users = client::read_user_rules(options.options),
                                          .artifacts = NOMAD_TRY(make_fetch_pool(config, programs)),
                                          .sockets = std::move(sockets)});
  return client::prepare_client(std::move(options), std::move(plugins),
                                [loader](client::PluginCatalog& catalog) {
                                  if (loader != nullptr) loader->enter(catalog);
                                });
}

ClientPart ClientPart::start(const actor::Owner& owner,
                             const config::AgentConfig& config,
                             const std::string& executor_path,
                             const std::string& http_address,
                             client::PreparedClient prepared,
                             const NodeDoor& servers,
                             const std::shared_ptr<telemetry::Registry>& metrics) {
  return ClientPart{
      owner.system(),
      client::start_client(owner, std::move(prepared), servers,
                           config.telemetry.publish_allocation_metrics ? metrics : nullptr),
      executor_path, http_address};
}

Result<> ClientPart::reconfigure(const config::AgentConfig& config,
                                 std::shared_ptr<const client::PluginCatalog> plugins) const {
  using client::client_actor::Reconfigure;
  using client::client_actor::Reconfigured;
  auto options = NOMAD_TRY(client_options(config, executor_path_, http_address_));
  actor::BlockingAsker self{*system_};
  Result<> outcome;
  self.request(client_, 60s, Reconfigure{std::move(options), std::move(plugins)})
      .receive([](const Reconfigured&) {}, [&outcome](const Error& err) { outcome = err; });
  return outcome;
}

Result<std::string> ClientPart::wait_for_node_id() const {
  using client::client_api::GetNode;
  using client::client_api::LocalNode;
  actor::BlockingAsker self{*system_};
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  Result<std::string> outcome = Error{Errc::timeout, "the client did not come up within 30 s"};
  while (std::chrono::steady_clock::now() < deadline) {
    bool known = false;
    self.request(api(), 5s, GetNode{})
        .receive(
            [&](const LocalNode& local) {
              if (!local.node) return;
              known = true;
              outcome = copy(local.node->getId());
            },
            [&](const Error& err) {
              known = true;
              outcome = err;
            });
    if (known) break;
    std::this_thread::sleep_for(1ms);
  }
  return outcome;
}

void ClientPart::stop() {
  actor::BlockingAsker self{*system_};
  self.request(client_, 60s, client::client_actor::Stop{})
      .receive([](client::client_actor::Stopped) {},
               [](const Error& err) {
                 log::warn("agent", "the client did not stop in order", {{"error", err}});
               });
  client_ = client::Client{};
}

}  // namespace nomad::agent
