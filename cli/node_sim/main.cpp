// nomadctl-node-sim: thousands of simulated client nodes in one process, against real servers: to
// plan the capacity of a cluster, and to measure one. The nodes are the real client; their machines
// and tasks are pretended (actors/nodesim). All share one transport, so one connection to each
// server.
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <tuple>

#include <unistd.h>

#include <fmt/format.h>
#include <time.h>

#include "actors/agent/rpc_setup.hpp"
#include "actors/client/remote_servers.hpp"
#include "actors/core/supervise.hpp"
#include "actors/core/system.hpp"
#include "actors/nodesim/simulated_nodes.hpp"
#include "actors/nodesim/stats_collector.hpp"
#include "cli/arguments.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/random.hpp"
#include "runtime/config/agent_config.hpp"

namespace {

using namespace nomad;
using cli::Arguments;

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct NodeSimOptions {
  std::int64_t nodes = 100;
  std::vector<std::string> servers;
  std::string region = "global", datacenter = "dc1", node_class, node_pool = "default";
  std::string name_prefix = "sim";
  std::string start_time = "0s", run_time = "0s", run_spread = "0s", healthy_after = "1s";
  std::string event_interval = "0s", fail_rate = "0";
  std::string duration = "0s", report = "10s", log_level = "WARN";
  std::optional<std::int64_t> seed;
  bool all_alike = false;
  std::string ca_file, cert_file, key_file;
};

void add_to(Arguments& parser, NodeSimOptions& options) {
  parser.option("nodes", options.nodes, "How many nodes; 100.");
  parser.option("server", options.servers, "A server's RPC address; may stand several times.");
  parser.option("region", options.region, "The servers' region.");
  parser.option("dc", options.datacenter, "The nodes' datacenter.");
  parser.option("node-class", options.node_class, "The nodes' class.");
  parser.option("node-pool", options.node_pool, "The nodes' pool.");
  parser.option("name-prefix", options.name_prefix, "The nodes are called sim-0001 and so on.");
  parser.option("start-time", options.start_time, "How long an allocation starts; 0s.");
  parser.option("run-time", options.run_time, "How long one runs; 0s: until it is stopped.");
  parser.option("run-spread", options.run_spread, "At random so much longer at most; 0s.");
  parser.option("fail-rate", options.fail_rate, "How many of those that end fail, 0 to 1.");
  parser.option("healthy-after", options.healthy_after, "When a deployed one is healthy; 1s.");
  parser.option("event-interval", options.event_interval,
                "How often a task tells something that changes no status; 0s: never.");
  parser.flag("all-alike", options.all_alike, "Sends every update at once, status or not.");
  parser.option("seed", options.seed, "Of the nodes' ids and all chance; a new one each time.");
  parser.option("duration", options.duration, "How long to go on; 0s: until a signal comes.");
  parser.option("report", options.report, "How often to print figures; 10s.");
  parser.option("log-level", options.log_level, "TRACE, DEBUG, INFO, WARN, ERROR or OFF.");
  parser.option("ca-file", options.ca_file, "The authority of the servers' certificates.");
  parser.option("cert-file", options.cert_file, "A client node's certificate.");
  parser.option("key-file", options.key_file, "Its key.");
}

struct Timing {
  Nanoseconds duration{0};
  Nanoseconds report{0};
};

Result<Nanoseconds> duration_of(std::string_view flag, const std::string& text) {
  const auto parsed = parse_duration(text);
  if (!parsed || *parsed < Nanoseconds{0})
    return Error{Errc::invalid_argument, fmt::format("-{}: invalid duration \"{}\"", flag, text)};
  return *parsed;
}

Result<nodesim::SimulatedNodesOptions> farm_options(const NodeSimOptions& options) {
  nodesim::SimulatedNodesOptions farm;
  if (options.nodes < 1 || options.nodes > 100'000)
    return Error{Errc::invalid_argument, "-nodes: expected 1 to 100000"};
  farm.nodes = static_cast<std::size_t>(options.nodes);
  farm.name_prefix = options.name_prefix;
  farm.datacenter = options.datacenter;
  farm.region = options.region;
  farm.node_class = options.node_class;
  farm.node_pool = options.node_pool;
  farm.seed = options.seed ? static_cast<std::uint64_t>(*options.seed)
                           : Random::from_system().next() >> 24;
  const std::tuple<const char*, const std::string&, milliseconds&> times[]
      = {{"start-time", options.start_time, farm.plan.start_time},
         {"run-time", options.run_time, farm.plan.run_time},
         {"run-spread", options.run_spread, farm.plan.run_spread},
         {"healthy-after", options.healthy_after, farm.plan.healthy_after},
         {"event-interval", options.event_interval, farm.plan.event_interval}};
  for (const auto& [flag, given, target] : times) {
    const auto parsed = NOMAD_TRY(duration_of(flag, given));
    target = std::chrono::duration_cast<milliseconds>(parsed);
  }
  char* end = nullptr;
  farm.plan.fail_rate = std::strtod(options.fail_rate.c_str(), &end);
  if (options.fail_rate.empty() || *end != '\0' || !(farm.plan.fail_rate >= 0)
      || farm.plan.fail_rate > 1)
    return Error{Errc::invalid_argument, "-fail-rate: expected 0 to 1"};
  if (options.all_alike) farm.sync.ticks_between_ordinary = 1;
  return farm;
}

/// As much of an agent's configuration as the transport goes by.
config::AgentConfig agent_config(const NodeSimOptions& options) {
  config::AgentConfig config;
  config.region = options.region;
  config.name = options.name_prefix;
  config.tls.rpc = !options.ca_file.empty();
  config.tls.ca_file = options.ca_file;
  config.tls.cert_file = options.cert_file;
  config.tls.key_file = options.key_file;
  return config;
}

/// "a:4647,b" as its parts, with the port that servers have by default.
std::vector<std::string> server_addresses(const std::vector<std::string>& given) {
  std::vector<std::string> addresses;
  for (const auto& list : given)
    for (std::size_t begin = 0; begin <= list.size();) {
      const auto end = std::min(list.find(',', begin), list.size());
      auto address = list.substr(begin, end - begin);
      begin = end + 1;
      if (address.empty()) continue;
      if (address.find(':') == std::string::npos) address += ":4647";
      addresses.push_back(std::move(address));
    }
  return addresses;
}

/// The nodes, and what they speak through.
class Simulation {
public:
  Simulation() = default;
  Simulation(const Simulation&) = delete;

  ~Simulation() {
    if (farm_) farm_->stop();
    for (const auto& link : links_)
      actor::stop(link);
    if (transport_) transport_->stop();
  }

  Result<> start(const nodesim::SimulatedNodesOptions& farm,
                 const config::AgentConfig& config,
                 const std::vector<std::string>& servers) {
    auto certificates = NOMAD_TRY(agent::rpc_certificates(config));
    rpc::TcpTransportOptions dialing;
    dialing.network
        = agent::rpc_options(config, net::RpcRole::client, config.name, std::move(certificates));
    dialing.network.threads = 1;
    // Servers ask nothing of these nodes, so nobody's secret is known here.
    auto transport = NOMAD_TRY(rpc::TcpTransport::start(
        system_, std::move(dialing),
        std::make_shared<rpc::MethodRouter>(config.region, access::Authenticator::make({}))));
    transport_.emplace(std::move(transport));
    farm_.emplace(nodesim::SimulatedNodes::start(system_, farm, [&](std::size_t number) {
      client::RemoteServersOptions options;
      options.servers = servers;
      options.region = config.region;
      options.random_seed = farm.seed + number;
      links_.push_back(client::spawn_remote_servers(system_, transport_->handle(), options));
      links_.push_back(nodesim::spawn_metered_link(system_, links_.back(), meter_));
      return links_.back();
    }));
    return {};
  }

  nodesim::Stats stats() { return meter_->take(); }

private:
  actor::SystemConfig config_;
  actor::System system_{config_};
  std::shared_ptr<nodesim::StatsCollector> meter_ = std::make_shared<nodesim::StatsCollector>();
  std::optional<rpc::TcpTransport> transport_;
  std::vector<NodeDoor> links_;
  std::optional<nodesim::SimulatedNodes> farm_;
};

/// What this process holds in memory.
double resident_mb() {
  std::ifstream file{"/proc/self/statm"};
  std::uint64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

void print(const nodesim::Stats& stats, double seconds, double at, double empty_mb) {
  const auto mb = resident_mb();
  const auto nodes = std::max<std::size_t>(stats.registered, 1);
  std::cout << fmt::format(
      "{:6.1f} s: {} nodes, {} allocations; {:.1f} heartbeats/s (p99 {:.1f} ms), {} missed, {} "
      "failures; {:.1f} updates/s in {:.1f} batches/s; {} status changes (p50 {:.1f} ms, p99 "
      "{:.1f} ms); {:.0f} MB, {:.1f} kB per node\n",
      at, stats.registered, stats.allocs, static_cast<double>(stats.heartbeats) / seconds,
      nodesim::percentile(stats.heartbeat_ms, 0.99), stats.missed, stats.failures,
      static_cast<double>(stats.updates) / seconds, static_cast<double>(stats.batches) / seconds,
      stats.status_ms.size(), nodesim::percentile(stats.status_ms, 0.5),
      nodesim::percentile(stats.status_ms, 0.99), mb,
      (mb - empty_mb) * 1e3 / static_cast<double>(nodes))
            << std::flush;
}

/// Blocks the signals that end the run; before any thread exists, so that all inherit that.
sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signals;
}

/// Whether one of the signals came within `patience`.
bool signalled_within(const sigset_t& signals, Nanoseconds patience) {
  const timespec wait{patience.count() / 1'000'000'000, patience.count() % 1'000'000'000};
  return sigtimedwait(&signals, nullptr, &wait) > 0;
}

void watch(Simulation& simulation, const Timing& timing, const sigset_t& signals, double empty_mb) {
  const auto begun = Clock::now();
  for (auto last = begun;;) {
    auto pause = timing.report;
    if (timing.duration > Nanoseconds{0})
      pause = std::min<Nanoseconds>(pause, begun + timing.duration - Clock::now());
    const bool ends = pause <= Nanoseconds{0} || signalled_within(signals, pause);
    const auto now = Clock::now();
    const auto seconds = std::chrono::duration<double>(now - last).count();
    if (seconds > 0.5 || !ends)
      print(simulation.stats(), seconds, std::chrono::duration<double>(now - begun).count(),
            empty_mb);
    if (ends) return;
    last = now;
  }
}

int refuse_node_sim(const Error& error) {
  std::cerr << error.what << '\n';
  return 1;
}

int simulate(const std::vector<std::string>& arguments) {
  NodeSimOptions options;
  Arguments parser{
      "node-sim [options]",
      "Simulates client nodes for a cluster: real clients on pretended machines whose "
      "tasks only say that they run. When it ends, the servers see the nodes go down."};
  add_to(parser, options);
  if (auto code = parser.parse(arguments, cli::WordCount{})) return *code;
  const auto servers = server_addresses(options.servers);
  if (servers.empty()) return parser.misuse("At least one -server is needed");
  const auto farm = farm_options(options);
  if (!farm) return refuse_node_sim(farm.error());
  Timing timing;
  for (const auto& [flag, given, target] :
       {std::tuple<const char*, const std::string&, Nanoseconds&>{"duration", options.duration,
                                                                  timing.duration},
        {"report", options.report, timing.report}}) {
    const auto parsed = duration_of(flag, given);
    if (!parsed) return refuse_node_sim(parsed.error());
    target = *parsed;
  }
  if (timing.report < std::chrono::milliseconds{100})
    return refuse_node_sim({Errc::invalid_argument, "-report: expected at least 100ms"});
  const auto level = log::parse_level(options.log_level);
  if (!level) return refuse_node_sim(level.error());
  if (auto started = log::start({.level = *level}); !started)
    return refuse_node_sim(started.error());
  const auto signals = block_signals();
  Simulation simulation;
  const auto empty_mb = resident_mb();
  if (const auto started = simulation.start(*farm, agent_config(options), servers); !started)
    return refuse_node_sim(started.error());
  watch(simulation, timing, signals, empty_mb);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return simulate({argv + 1, argv + argc});
}
