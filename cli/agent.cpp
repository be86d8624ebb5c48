// agent: runs a node of the cluster until it is told to end.
#include "actors/agent/agent.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <iterator>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/absent_services.hpp"
#include "cli/arguments.hpp"
#include "cli/programs.hpp"
#include "cli/run.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/resident.hpp"
#include "runtime/config/addresses.hpp"
#include "runtime/config/agent_config.hpp"
#include "runtime/config/join_address.hpp"
#include "runtime/host/process/core_files.hpp"
#include "runtime/host/process/service_manager.hpp"

namespace nomad::cli {
namespace {

struct AgentFlags {
  std::vector<std::string> config;
  std::vector<std::string> meta;
  std::vector<std::string> servers, join, retry_join;
  std::optional<std::string> acl_replication_token, alloc_dir, bind, data_dir, dc, encrypt,
      log_level, network_interface, node, node_class, node_pool, plugin_dir, region, retry_interval,
      state_dir;
  std::optional<std::int64_t> bootstrap_expect, network_speed, retry_max;
  std::optional<bool> acl_enabled, log_json, rejoin;
  bool client = false;
  bool dev = false;
  bool server = false;
};

void add_to(Arguments& parser, AgentFlags& flags) {
  parser.flag("dev", flags.dev, "A server and a client on loopback, in a temporary directory.");
  parser.option("config", flags.config, "A configuration file or folder; may stand several times.");
  parser.option("data-dir", flags.data_dir, "Where state is kept.");
  parser.option("bind", flags.bind, "The address to listen on.");
  parser.option("dc", flags.dc, "The datacenter.");
  parser.option("region", flags.region, "The region.");
  parser.option("node", flags.node, "The node's name.");
  parser.option("log-level", flags.log_level, "TRACE, DEBUG, INFO, WARN, ERROR or OFF.");
  parser.flag("log-json", flags.log_json, "Logs JSON.");
  parser.flag("server", flags.server, "Runs a server.");
  parser.option("bootstrap-expect", flags.bootstrap_expect, "How many servers start the cluster.");
  parser.option("join", flags.join, "A server to join at the start; may stand several times.");
  parser.option("retry-join", flags.retry_join, "The same, tried until it works.");
  parser.option("retry-max", flags.retry_max, "How often that is tried; 0: for ever.");
  parser.option("retry-interval", flags.retry_interval, "The time between tries, as \"30s\".");
  parser.flag("rejoin", flags.rejoin, "Accepted: a server that left always joins again.");
  parser.option("encrypt", flags.encrypt,
                "The key of the servers' membership. Whoever lists processes sees it here: the "
                "configuration's server.encrypt is safer.");
  parser.flag("acl-enabled", flags.acl_enabled, "Nobody does what no policy allows him.");
  parser.option("acl-replication-token", flags.acl_replication_token,
                "A token of the authoritative region. Whoever lists processes sees it here: the "
                "configuration's acl.replication_token is safer.");
  parser.option("plugin-dir", flags.plugin_dir, "Where plugins are looked for.");
  parser.flag("client", flags.client, "Runs a client.");
  parser.option("alloc-dir", flags.alloc_dir, "Where allocations have their directories.");
  parser.option("state-dir", flags.state_dir, "Where the client keeps its state.");
  parser.option("servers", flags.servers, "Servers that the client joins, separated by commas.");
  parser.option("node-class", flags.node_class, "The node's class.");
  parser.option("node-pool", flags.node_pool, "The node's pool.");
  parser.option("meta", flags.meta, "key=value of the node's metadata; may stand several times.");
  parser.option("network-interface", flags.network_interface, "The interface to fingerprint.");
  parser.option("network-speed", flags.network_speed, "Its speed, in Mbit/s.");
  accept_without_effect(
      parser,
      {"consul-address",
       "consul-auth",
       "consul-ca-file",
       "consul-cert-file",
       "consul-client-http-check-name",
       "consul-client-service-name",
       "consul-key-file",
       "consul-server-http-check-name",
       "consul-server-rpc-check-name",
       "consul-server-serf-check-name",
       "consul-server-service-name",
       "consul-token",
       "vault-address",
       "vault-ca-file",
       "vault-ca-path",
       "vault-cert-file",
       "vault-create-from-role",
       "vault-key-file",
       "vault-namespace",
       "vault-tls-server-name",
       "vault-token"},
      {"consul-allow-unauthenticated", "consul-auto-advertise", "consul-checks-use-advertise",
       "consul-client-auto-join", "consul-server-auto-join", "consul-ssl", "consul-verify-ssl",
       "vault-allow-unauthenticated", "vault-enabled", "vault-tls-skip-verify"});
}

template <class T>
void take(T& target, const std::optional<T>& given) {
  if (given) target = *given;
}

Result<config::AgentConfig> configure(const AgentFlags& flags) {
  auto config = flags.dev ? config::dev_defaults() : config::AgentConfig{};
  for (const auto& path : flags.config) {
    config = NOMAD_TRY(config::with_path(std::move(config), path));
  }
  take(config.data_dir, flags.data_dir);
  take(config.bind_addr, flags.bind);
  take(config.datacenter, flags.dc);
  take(config.region, flags.region);
  take(config.name, flags.node);
  take(config.log_level, flags.log_level);
  take(config.log_json, flags.log_json);
  take(config.server.bootstrap_expect, flags.bootstrap_expect);
  take(config.server.encrypt, flags.encrypt);
  take(config.acl.enabled, flags.acl_enabled);
  take(config.acl.replication_token, flags.acl_replication_token);
  take(config.server.join.retry_max, flags.retry_max);
  if (flags.retry_interval)
    config.server.join.retry_interval
        = NOMAD_TRY(parse_duration(*flags.retry_interval).within("-retry-interval"));
  config::add_names(config.server.join.start_join, flags.join);
  config::add_names(config.server.join.retry_join, flags.retry_join);
  take(config.plugin_dir, flags.plugin_dir);
  take(config.client.alloc_dir, flags.alloc_dir);
  take(config.client.state_dir, flags.state_dir);
  take(config.client.node_class, flags.node_class);
  take(config.client.node_pool, flags.node_pool);
  take(config.client.network_interface, flags.network_interface);
  take(config.client.network_speed, flags.network_speed);
  config.server.enabled |= flags.server;
  config.client.enabled |= flags.client;
  config::add_names(config.client.servers, flags.servers);
  for (const auto& entry : flags.meta) {
    const auto equals = entry.find('=');
    if (equals == std::string::npos)
      return Error{Errc::invalid_argument, fmt::format("-meta {}: expected key=value", entry)};
    config.client.meta[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  config = NOMAD_TRY(config::with_addresses(std::move(config), config::LocalAddresses::read()));
  NOMAD_TRY(config::validate(config));
  std::ranges::move(config::remarks(config), std::back_inserter(config.warnings));
  return config;
}

void print_banner(const config::AgentConfig& config, const agent::Agent& agent) {
  const auto yes = [](bool on) { return on ? "true" : "false"; };
  const std::pair<std::string_view, std::string> lines[]
      = {{"Bind Addrs", "HTTP: [" + agent.http_address() + "]"},
         {"Client", yes(config.client.enabled)},
         {"Log Level", config.log_level},
         {"Node Id", agent.node_id()},
         {"Region", fmt::format("{} (DC: {})", config.region, config.datacenter)},
         {"Server", yes(config.server.enabled)},
         {"Version", NOMADCTL_VERSION}};
  std::cout << "==> nomadctl agent configuration:\n\n";
  for (const auto& [key, value] : lines)
    std::cout << fmt::format("{:>20}: {}\n", key, value);
  std::cout << "\n==> nomadctl agent started! Log data will stream in below:\n" << std::endl;
}

/// What `systemctl status` shows of the agent.
std::string status_of(const config::AgentConfig& config, const agent::Agent& agent) {
  const bool has_both = config.server.enabled && config.client.enabled;
  return fmt::format("{}; HTTP at {}",
                     has_both ? "server and client" : (config.server.enabled ? "server" : "client"),
                     agent.http_address());
}

/// Waits for a signal or a fatal error. Descriptors live as long as the process.
class EndOfRun {
public:
  /// Blocks the signals; call it before any thread exists, so that all inherit that.
  EndOfRun() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGINT, SIGTERM, SIGHUP})
      sigaddset(&signals, number);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    // What a limit of file sizes (ulimit -f) refuses is an error of writing, as on a full disk.
    std::signal(SIGXFSZ, SIG_IGN);
    signals_ = signalfd(-1, &signals, SFD_CLOEXEC);
    fatal_ = eventfd(0, EFD_CLOEXEC);
  }

  /// Any thread.
  void fatal(const Error& error) {
    log::error("agent", "stopping", {{"error", error}});
    const std::uint64_t one = 1;
    if (write(fatal_, &one, sizeof one) != sizeof one) std::abort();
  }

  /// The signal that ends the agent; 0 when it cannot go on. SIGHUP calls `reload` and goes on;
  /// `tend` is called each `interval` in which no signal comes.
  int wait(std::chrono::milliseconds interval,
           const std::function<void()>& reload,
           const std::function<void()>& tend) const {
    QuietMoment quiet;
    for (;;) {
      pollfd inputs[] = {{signals_, POLLIN, 0}, {fatal_, POLLIN, 0}};
      const int ready = poll(inputs, 2, static_cast<int>(interval.count()));
      if (ready < 0 && errno != EINTR) return 0;
      if (ready == 0) {
        tend();
        release_in_quiet(quiet);
      }
      if (ready <= 0) continue;
      if ((inputs[1].revents & POLLIN) != 0) return 0;
      if ((inputs[0].revents & POLLIN) == 0) continue;
      signalfd_siginfo info{};
      if (read(signals_, &info, sizeof info) != sizeof info) return 0;
      if (info.ssi_signo != SIGHUP) return static_cast<int>(info.ssi_signo);
      reload();
    }
  }

  /// Waits so long. False: a signal came that ends agents, or it cannot go on.
  bool is_quiet(std::chrono::milliseconds time) const {
    const auto end = std::chrono::steady_clock::now() + time;
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          end - std::chrono::steady_clock::now());
      if (left.count() <= 0) return true;
      pollfd inputs[] = {{signals_, POLLIN, 0}, {fatal_, POLLIN, 0}};
      if (poll(inputs, 2, static_cast<int>(left.count())) <= 0) continue;
      if ((inputs[1].revents & POLLIN) != 0) return false;
      signalfd_siginfo info{};
      if (read(signals_, &info, sizeof info) != sizeof info) return false;
      if (info.ssi_signo != SIGHUP) return false;
    }
  }

private:
  int signals_ = -1;
  int fatal_ = -1;
};

/// Reads the configuration anew, takes over what may change while the agent runs, and says what
/// does not. A mistake in it changes nothing.
void reload_configuration(const AgentFlags& flags, agent::Agent& agent) {
  log::info("agent", "reloading the configuration");
  const auto wanted = configure(flags);
  const auto done = wanted ? agent.reload(*wanted) : wanted.error();
  if (!done) {
    log::error("agent", "the configuration stays as it was", {{"error", done.error()}});
    return;
  }
  for (const auto& warning : wanted->warnings)
    log::warn("agent", warning);
  if (const auto level = log::parse_level(done->config.log_level)) log::set_level(*level);
  if (!done->applied.empty())
    log::info("agent", "the configuration has changed",
              {{"settings", fmt::format("{}", fmt::join(done->applied, ", "))}});
  if (!done->pending.empty())
    log::warn("agent", "the configuration changes after a restart",
              {{"settings", fmt::format("{}", fmt::join(done->pending, ", "))}});
  log::info("agent", "the configuration is in effect", {{"log_level", done->config.log_level}});
}

/// Runs the agent, which has started, until a signal ends it, and shows the service manager how it
/// is. The signal; 0 when it cannot go on.
int watch_over(agent::Agent& agent,
               const EndOfRun& end,
               const AgentFlags& flags,
               const host::ServiceManager& manager,
               const std::string& status) {
  using namespace std::chrono_literals;
  host::LifeSigns signs{manager.watchdog()};
  manager.ready(status);
  const auto reload = [&] {
    manager.reloading();
    reload_configuration(flags, agent);
    manager.ready(status);
  };
  const auto tend = [&] {
    agent.look_after_plugins();
    if (signs.is_due(host::LifeSigns::Clock::now()) && agent.answers(signs.patience()))
      manager.alive();
  };
  return end.wait(signs.interval(1s), reload, tend);
}

/// Ends the agent; `leaves`: its node is drained first, if that is configured.
void end_agent(agent::Agent& agent,
               const EndOfRun& end,
               const host::ServiceManager& manager,
               bool leaves) {
  using namespace std::chrono_literals;
  constexpr auto to_stop = 90s;  // as long as systemd waits by itself
  log::info("agent", leaves ? "leaving" : "stopping");
  manager.stopping(leaves ? "leaving" : "stopping");
  if (leaves)
    agent.drain([&](std::chrono::milliseconds time) {
      manager.extend(time + to_stop);
      return end.is_quiet(time);
    });
  agent.stop(leaves);
}

int refuse_agent(const Error& error) {
  std::cerr << "==> " << error.what << '\n';
  return 1;
}

}  // namespace

Result<int> run_agent(const std::vector<std::string>& arguments) {
  AgentFlags flags;
  Arguments parser{"agent [options]", "Runs an agent: a server, a client or both."};
  add_to(parser, flags);
  if (auto code = parser.parse(arguments, WordCount{})) return *code;
  const auto manager = host::ServiceManager::from_environment();
  auto config = configure(flags);
  if (!config) return refuse_agent(config.error());
  auto executor = find_program("nomadctl-executor", "../runtime/host/executor");
  if (!executor) return refuse_agent(executor.error());
  const auto artifact = find_program("nomadctl-artifact", "../runtime/artifact/fetcher");
  agent::Programs programs{.executor = *executor, .artifact = artifact.value_or("")};
  programs.csi = find_program("nomadctl-csi", "../runtime/csi/caller").value_or("");
  if (!config->plugin_dir.empty()) {
    auto host = find_program("nomadctl-plugin-host", "../runtime/plugin/process");
    if (!host) return refuse_agent(host.error());
    programs.plugin_host = *host;
    programs.go_plugin
        = find_program("nomadctl-go-plugin", "../runtime/plugin/bridge").value_or("");
  }
  auto level = log::parse_level(config->log_level);
  if (!level) return refuse_agent(level.error());
  const log::Rotation rotation{.bytes = config->log_rotate_bytes,
                               .age = config->log_rotate_duration,
                               .max_files = config->log_rotate_max_files};
  if (auto started = log::start({*level, config->log_file, config->log_json, rotation}); !started)
    return refuse_agent(started.error());
  if (!config->allow_core_files) host::forbid_core_files();
  EndOfRun end;
  if (config->files.empty()) std::cout << "==> No configuration files loaded\n";
  for (const auto& file : config->files)
    std::cout << "==> Loaded configuration from " << file << '\n';
  std::cout << "==> Starting nomadctl agent..." << std::endl;
  for (const auto& warning : config->warnings)
    log::warn("agent", warning);
  if (!artifact)
    log::warn("agent", "tasks with artifacts will fail", {{"error", artifact.error()}});
  auto agent
      = agent::Agent::start(*config, programs, [&end](const Error& error) { end.fatal(error); });
  if (!agent) return refuse_agent(agent.error());
  print_banner(*config, **agent);
  const int signal = watch_over(**agent, end, flags, manager, status_of(*config, **agent));
  const bool leaves = (signal == SIGINT && config->leave_on_interrupt)
                      || (signal == SIGTERM && config->leave_on_terminate);
  end_agent(**agent, end, manager, leaves);
  return signal == 0 ? 1 : 0;
}

}  // namespace nomad::cli
