#include "actors/agent/agent.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <optional>
#include <thread>

#include <unistd.h>

#include <fmt/format.h>
#include <stdlib.h>

#include "actors/agent/api_setup.hpp"
#include "actors/agent/client_part.hpp"
#include "actors/agent/local_servers.hpp"
#include "actors/agent/rpc_setup.hpp"
#include "actors/agent/self_drain.hpp"
#include "actors/agent/server_part.hpp"
#include "actors/agent/temporary_directory.hpp"
#include "actors/api/api.hpp"
#include "actors/api/cluster/cluster_access.hpp"
#include "actors/client/remote_servers.hpp"
#include "actors/core/latest.hpp"
#include "actors/core/supervise.hpp"
#include "actors/core/system.hpp"
#include "actors/plugin/plugin_loader.hpp"
#include "actors/rpc/rights_link.hpp"
#include "runtime/base/ip_network.hpp"
#include "runtime/base/log.hpp"
#include "runtime/config/byte_size.hpp"
#include "runtime/net/http/page_guard.hpp"
#include "runtime/net/socket.hpp"
#include "runtime/storage/data_dir_lock.hpp"
#include "runtime/telemetry/registry.hpp"
#include "runtime/text/url.hpp"

namespace nomad::agent {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr auto api_patience = 500ms;

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

std::string endpoint(const std::string& host, std::int64_t port) {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

/// More would only wait for the log; heavy reads have the query pool.
constexpr unsigned most_http_threads = 4;

/// What others reach this agent at: what is configured, completed by the port.
std::string advertised(const std::string& given, const std::string& host, std::int64_t port) {
  if (given.empty()) return endpoint(host, port);
  const bool is_bracketed = given.starts_with('[');
  const bool has_port
      = is_bracketed ? !given.ends_with(']') : std::count(given.begin(), given.end(), ':') == 1;
  if (has_port) return given;
  return is_bracketed ? fmt::format("{}:{}", given, port) : endpoint(given, port);
}

std::uint64_t kibibytes(std::int64_t count) {
  return static_cast<std::uint64_t>(count) << 10;
}

net::ServerOptions http_options(const config::AgentConfig& config) {
  const auto milliseconds = [](Nanoseconds duration) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
  };
  net::ServerOptions options;
  const auto& host = config.addresses.http.empty() ? config.bind_addr : config.addresses.http;
  options.listen = {endpoint(host, config.ports.http)};
  for (const auto& [name, value] : config.http_api_response_headers)
    options.extra_headers.push_back({name, value});
  options.threads = std::clamp(std::thread::hardware_concurrency(), 1U, most_http_threads);
  options.body_bytes = static_cast<std::uint64_t>(config.limits.http_max_body_mb) << 20;
  options.connections_per_address = static_cast<unsigned>(config.limits.http_max_conns_per_client);
  options.connections = static_cast<unsigned>(config.limits.http_max_conns);
  options.header_timeout = milliseconds(config.limits.http_read_timeout);
  options.body_timeout = milliseconds(config.limits.http_read_timeout);
  options.idle_timeout = milliseconds(config.limits.http_idle_timeout);
  return options;
}

/// Which names are taken as Host: on loopback only those that this agent has.
net::HostRules host_rules(const config::AgentConfig& config) {
  net::HostRules rules;
  rules.names = config.http_allowed_hosts;
  rules.known_only = !rules.names.empty() || is_loopback(config.addresses.http);
  rules.advertised = {std::string{net::host_of(config.advertise.http)}};
  // Whoever verifies identities asks for their keys by the issuer's name.
  if (const auto issuer = parse_url(config.server.oidc_issuer);
      config.server.enabled && issuer && !issuer->host.empty())
    rules.advertised.push_back(issuer->host_name());
  return rules;
}

}  // namespace

struct Agent::Parts {
  config::AgentConfig given;         ///< As files and flags have it.
  config::AgentConfig config;        ///< Completed by names, directories and addresses.
  actor::Latest<std::string> shown;  ///< The configuration as the API shows it.
  std::optional<TemporaryDirectory> temporary;
  std::optional<storage::DataDirLock> lock;
  actor::SystemConfig system_config;
  actor::System system{system_config};
  actor::Any root;  ///< Owns all actors of the agent.
  std::shared_ptr<telemetry::Registry> metrics;
  std::optional<ServerPart> server;
  AgentLinks links;
  std::shared_ptr<net::TlsContext> http_certificates;  ///< Null without TLS.
  // Of an agent without a server:
  std::optional<rpc::TcpTransport> dialer;
  std::optional<rpc::RightsLink> rights;
  std::shared_ptr<access::Authenticator> authenticator;
  std::shared_ptr<client::ServerList> server_list = std::make_shared<client::ServerList>();
  client::RemoteServers remote_servers;
  NodeDoor local_servers;                             ///< Of a client beside a server.
  std::unique_ptr<plugin::PluginLoader> plugins;      ///< Null without any.
  std::shared_ptr<client::TaskSockets> task_sockets;  ///< Null without a client.
  std::optional<ClientPart> client;
  std::optional<api::Api> api;
  std::string node_id;
  std::string http_address;
  bool stopped = false;

  Result<> prepare_data_dir() {
    if (config.data_dir.empty()) {
      auto made = NOMAD_TRY(TemporaryDirectory::make());
      config.data_dir = made.path();
      temporary.emplace(std::move(made));
    }
    auto taken = NOMAD_TRY(storage::DataDirLock::take(config.data_dir));
    lock.emplace(std::move(taken));
    return {};
  }

  /// Null: nothing is audited.
  Result<std::shared_ptr<api::Auditor>> start_auditor() const {
    if (!config.audit.enabled) return std::shared_ptr<api::Auditor>{};
    return api::start_auditor(root, audit_options(config, http_address), metrics);
  }

  /// What this agent says of itself, but for what its server knows.
  api::AgentInfo describe() {
    shown.set(config::to_json(config));
    api::AgentInfo info;
    info.name = config.name;
    info.region = config.region;
    info.authoritative_region = config.server.authoritative_region;
    info.datacenter = config.datacenter;
    info.http_address = http_address;
    info.rpc_address = config.advertise.rpc;
    info.serf_address = config.advertise.serf;
    info.server_enabled = server.has_value();
    info.client_enabled = client.has_value();
    info.node_id = node_id;
    info.enable_debug = config.enable_debug;
    info.config_json = [shown = shown] { return shown.get(); };
    return info;
  }

  Result<> start_api() {
    api::ApiOptions options;
    options.auditor = NOMAD_TRY(start_auditor());
    options.http = http_options(config);
    options.http.kept_users = links.kept_users;
    options.http.tls = http_certificates;
    options.hosts = host_rules(config);
    options.agent = describe();
    options.jobs = {
        .default_priority = config.server.job_default_priority,
        .max_priority = config.server.job_max_priority,
        .max_count = config.server.job_max_count,
        .bounds = {.job_bytes = kibibytes(config.limits.job_max_kb),
                   .env_bytes = kibibytes(config.limits.job_env_max_kb),
                   .namespace_bytes = kibibytes(config.limits.namespace_jobs_max_mb) << 10,
                   .text_bytes = kibibytes(config.limits.text_max_kb)},
        .max_source_bytes = config::parse_byte_size(config.server.job_max_source_size).value_or(0),
        .allow_unsupported = config.server.allow_unsupported_blocks};
    options.plugins = {.states = plugins ? plugins->states() : nullptr,
                       .job_types = links.job_types,
                       .providers = links.providers};
    options.metrics = {.registry = metrics,
                       .prometheus = config.telemetry.prometheus_metrics,
                       .of_tasks = config.telemetry.publish_allocation_metrics,
                       .callers = links.callers,
                       .meter = meter_options(config)};
    options.acl = {.enabled = config.acl.enabled,
                   .bounds = {.least = config.acl.token_min_expiration_ttl,
                              .most = config.acl.token_max_expiration_ttl},
                   .reset_file = config.data_dir + "/server/acl-bootstrap-reset"};
    options.search = search_options(config.server.search);
    options.ui = {.enabled = config.ui.enabled, .frame_ancestors = config.ui.frame_ancestors};
    options.uploads
        = {.directory = config.data_dir + "/uploads",
           .most_bytes = static_cast<std::uint64_t>(config.limits.snapshot_max_mb) << 20};
    if (server) {
      options.agent.server_id = server->id();
      options.agent.rpc_address = server->cluster().address();
      options.state = {.store = server->store(),
                       .lease = server->lease(),
                       .leader = server->log().leader,
                       .raft = server->raft(),
                       .writer = server->writer()};
      options.server = {.keyring = server->keyring(),
                        .rsa_keys = server->rsa_keys(),
                        .locks = server->locks(),
                        .oidc_issuer = config.server.oidc_issuer,
                        .decisions = server->decisions(),
                        .schedulers = server->schedulers(),
                        .cluster = std::make_shared<api::ClusterAccess>(
                            api::ClusterAccess{.log = server->raft(),
                                               .membership = server->cluster().membership(),
                                               .autopilot = server->cluster().autopilot(),
                                               .members = server->cluster().members()})};
    }
    if (client) options.client = client->api();
    options.peers = {.transport = server ? server->cluster().transport() : dialer->handle(),
                     .view = server ? server->cluster().view() : view_of_client(),
                     .remote = links.requests,
                     .nodes = server ? server->cluster().node_caller() : rpc::NodeCaller{},
                     .choice = client && !server ? client::ServerChoice{remote_servers}
                                                 : client::ServerChoice{}};
    options.authenticator = server ? server->cluster().authenticator() : authenticator;
    auto started = NOMAD_TRY(api::start_api(root, std::move(options)));
    api.emplace(std::move(started));
    if (task_sockets) NOMAD_TRY(task_sockets->serve(api->task_routes()));
    return {};
  }

  /// From now on plugins may ask what users may.
  void serve_plugins() const {
    if (!plugins) return;
    plugin::plugin_link::Serve how{
        .gate = std::make_shared<plugin::ApiGate>(api->routes(), node_id), .node_event = {}};
    if (client)
      how.node_event = [node = client->client()](std::string message,
                                                 std::map<std::string, std::string> details) {
        actor::tell(
            node, client::client_actor::Happened{"Plugin", std::move(message), std::move(details)});
      };
    plugins->serve(how);
  }

  /// Completes what the agent listens on and advertises.
  void complete_addresses() {
    auto& listen = config.addresses;
    for (auto* address : {&listen.http, &listen.rpc, &listen.serf})
      if (address->empty()) *address = config.bind_addr;
    auto& shown = config.advertise;
    shown.http = advertised(shown.http, listen.http, config.ports.http);
    shown.rpc = advertised(shown.rpc, listen.rpc, config.ports.rpc);
    shown.serf = advertised(shown.serf, listen.serf, config.ports.serf);
    http_address = shown.http;
  }

  /// What a client node knows of the cluster: the servers that it uses.
  rpc::ClusterView view_of_client() const {
    rpc::ClusterView view;
    view.region = config.region;
    view.leader_address = [] { return rpc::LeaderAddress{}; };
    view.servers_in = [list = server_list, own = config.region](const std::string& region) {
      return region == own ? list->addresses() : std::vector<std::string>{};
    };
    return view;
  }

  /// The own server while it leads; else those that it knows, or that the configuration names.
  NodeDoor servers_of_client() {
    const auto& transport = server ? server->cluster().transport() : dialer->handle();
    client::RemoteServersOptions options;
    options.servers = server ? std::vector{server->cluster().address()} : client_servers(config);
    options.region = config.region;
    options.random_seed = Random::from_system().next();
    options.list = server_list;
    remote_servers = client::spawn_remote_servers(root, transport, std::move(options));
    if (!server) return remote_servers;
    local_servers = spawn_local_servers(root, server->nodes(), remote_servers, server->log());
    return local_servers;
  }

  /// Tokens are the servers' business: they are asked.
  Result<> start_dialing() {
    rights.emplace(root,
                   rpc::RightsLinkOptions{.region = config.region, .servers = [list = server_list] {
                                            return list->addresses();
                                          }});
    const auto known_for
        = std::min({config.acl.token_ttl, config.acl.policy_ttl, config.acl.role_ttl});
    authenticator = access::Authenticator::make(
        {.enforces = config.acl.enabled,
         .lookup = rights->lookup(),
         .cache = {.known_for = std::chrono::ceil<std::chrono::milliseconds>(known_for)}});
    auto started = NOMAD_TRY(start_dialer(root, config, links, authenticator));
    dialer.emplace(std::move(started));
    rights->open(dialer->handle());
    return {};
  }

  Result<> reload_certificates() const;

  /// Looks at the plugins again. Gives the catalog that the client is to go on with; null: it has
  /// not changed.
  std::shared_ptr<const client::PluginCatalog> reload_plugins(
      const config::AgentConfig& next) const {
    if (!plugins) return nullptr;
    auto catalog = plugins->reload(root, next);
    if (!catalog) {
      log::error("agent", "the plugins stay as they were", {{"error", catalog.error()}});
      return nullptr;
    }
    if (!*catalog) return nullptr;
    return std::make_shared<const client::PluginCatalog>(std::move(**catalog));
  }

  void stop(bool leaving) {
    if (std::exchange(stopped, true)) return;
    if (plugins) plugins->close_api();
    if (task_sockets) task_sockets->stop(api_patience);
    if (api) api->stop(api_patience);
    if (client) client->stop();
    if (plugins) plugins->stop();
    if (rights) rights->stop();
    if (dialer) dialer->stop();
    if (server) server->stop(leaving);
    api.reset();
    client.reset();
    plugins.reset();
    dialer.reset();
    rights.reset();
    server.reset();
    local_servers = NodeDoor{};
    remote_servers = client::RemoteServers{};
    actor::stop(root);
    root = actor::Any{};
  }
};

Agent::Agent(std::unique_ptr<Parts> parts) : parts_{std::move(parts)} {}

Agent::~Agent() {
  stop(false);
}

void Agent::drain(const std::function<bool(std::chrono::milliseconds)>& wait) {
  auto& all = *parts_;
  const auto& drain = all.config.client.drain_on_shutdown;
  if (!all.client || !drain.wanted || all.config.dev_mode || all.stopped) return;
  log::info("agent", "draining the node before the agent leaves");
  const auto drained = drain_own_node(
      all.system, all.local_servers ? all.local_servers : NodeDoor{all.remote_servers},
      {.node_id = all.node_id,
       .deadline = drain.force ? Nanoseconds{-1s} : drain.deadline,
       .ignore_system_jobs = drain.ignore_system_jobs},
      wait);
  if (drained)
    log::info("agent", "the node is drained");
  else
    log::error("agent", "the node is not drained", {{"error", drained.error()}});
}

void Agent::stop(bool leaving) {
  parts_->stop(leaving);
}

Result<> Agent::Parts::reload_certificates() const {
  bool any = false;
  for (const auto& context : {links.certificates, http_certificates}) {
    if (!context) continue;
    NOMAD_TRY(context->reload());
    any = true;
  }
  if (any) log::info("agent", "the certificates have been read again");
  return {};
}

void Agent::look_after_plugins() {
  auto& all = *parts_;
  if (!all.plugins || !all.client) return;
  auto catalog = all.plugins->look_again();
  if (!catalog) return;
  const auto told = all.client->reconfigure(
      all.config, std::make_shared<const client::PluginCatalog>(std::move(*catalog)));
  if (!told) log::error("agent", "the client does not know its plugins", {{"error", told.error()}});
}

bool Agent::answers(std::chrono::milliseconds patience) {
  using namespace std::chrono;
  actor::BlockingAsker self{parts_->system};
  const auto latest = steady_clock::now() + patience;
  bool all = true;
  const auto ask = [&](std::string_view name, const auto& whom, auto question) {
    const auto left = ceil<milliseconds>(latest - steady_clock::now());
    self.request(whom, std::max(left, milliseconds{1}), std::move(question))
        .receive(
            [](const auto&) {},
            [&](const Error& error) {
              log::error("agent", "an actor does not answer", {{"actor", name}, {"error", error}});
              all = false;
            });
  };
  if (parts_->server) ask("log", parts_->server->raft(), raft::GetStatus{});
  if (parts_->server)
    ask("autopilot", parts_->server->cluster().autopilot(), server::autopilot::GetSettings{});
  if (parts_->client) ask("client", parts_->client->client(), client::client_api::GetNode{});
  return all;
}

Result<config::Reload> Agent::reload(const config::AgentConfig& wanted) {
  auto& all = *parts_;
  auto reload = config::reload(all.given, wanted);
  auto next = all.config;
  next.client = reload.config.client;
  next.log_level = reload.config.log_level;
  next.plugin_blocks = reload.config.plugin_blocks;
  const auto plugins = all.reload_plugins(next);
  // Also for nothing of its own: CNI networks, as other things of the machine, are looked at anew.
  if (all.client) NOMAD_TRY(all.client->reconfigure(next, plugins));
  if (all.plugins) all.plugins->end_leaving();
  all.given = reload.config;
  all.config = std::move(next);
  all.shown.set(config::to_json(all.config));
  if (const auto read = all.reload_certificates(); !read)
    log::error("agent", "the certificates stay as they were", {{"error", read.error()}});
  return reload;
}

const std::string& Agent::node_id() const {
  return parts_->node_id;
}

const std::string& Agent::http_address() const {
  return parts_->http_address;
}

Result<std::unique_ptr<Agent>> Agent::start(const config::AgentConfig& config,
                                            const Programs& programs,
                                            OnFatal on_fatal) {
  auto parts = std::make_unique<Parts>();
  parts->given = config;
  parts->config = config;
  if (parts->config.name.empty()) parts->config.name = host_name();
  NOMAD_TRY(parts->prepare_data_dir());
  parts->complete_addresses();
  parts->metrics = std::make_shared<telemetry::Registry>(
      telemetry::Options{.host = config.telemetry.disable_hostname ? "" : host_name()});
  std::unique_ptr<Agent> agent{new Agent{std::move(parts)}};  // stops what is started on an error
  auto& all = *agent->parts_;
  all.root = actor::spawn_root(all.system, std::move(on_fatal));
  all.links.metrics = all.metrics;
  all.links.callers = std::make_shared<telemetry::IdentityCounters>(all.metrics);
  all.links.job_types = std::make_shared<server::JobTypes>();
  all.links.providers = std::make_shared<client::ServiceProviders>();
  all.links.certificates = NOMAD_TRY(rpc_certificates(all.config));
  all.http_certificates = NOMAD_TRY(http_certificates(all.config));
  all.plugins = NOMAD_TRY(
      plugin::PluginLoader::load(all.root, {.config = &all.config,
                                            .programs = {.host = programs.plugin_host,
                                                         .go_plugin = programs.go_plugin,
                                                         .executor = programs.executor},
                                            .metrics = all.metrics,
                                            .job_types = all.links.job_types,
                                            .providers = all.links.providers,
                                            .kept_users = all.links.kept_users}));
  // Beside the server's start, for they need nothing of each other.
  std::future<Result<client::PreparedClient>> prepared;
  if (config.client.enabled) {
    all.task_sockets = std::make_shared<client::TaskSockets>(http_options(all.config));
    prepared = std::async(std::launch::async, [&all, &programs] {
      return ClientPart::prepare(all.config, programs, all.http_address, all.plugins.get(),
                                 all.task_sockets);
    });
  }
  if (config.server.enabled) {
    auto server = NOMAD_TRY(ServerPart::start(all.root, all.config, all.http_address, all.links));
    all.server.emplace(std::move(server));
  } else {
    NOMAD_TRY(all.start_dialing());
  }
  if (config.client.enabled) {
    auto ready = NOMAD_TRY(prepared.get());
    all.client.emplace(ClientPart::start(all.root, all.config, programs.executor, all.http_address,
                                         std::move(ready), all.servers_of_client(), all.metrics));
    all.node_id = NOMAD_TRY(all.client->wait_for_node_id());
    if (all.server) all.server->cluster().set_own_node({all.node_id, all.client->api()});
    all.links.node.set(all.client->api());
  }
  NOMAD_TRY(all.start_api());
  all.serve_plugins();
  log::info("agent", "the agent answers requests",
            {{"name", all.config.name},
             {"address",
              fmt::format("{}://{}", all.config.tls.http ? "https" : "http", all.http_address)}});
  return agent;
}

}  // namespace nomad::agent
