#include "test/simulation/sim_server.hpp"

#include <fmt/format.h>

#include "actors/core/supervise.hpp"
#include "runtime/object/draft.hpp"
#include "test/mistakes/mistake.hpp"
#include "test/support/deployment_mistakes.hpp"
#include "test/support/drain_mistakes.hpp"
#include "test/support/keyring_mistakes.hpp"

namespace nomad::test {

using namespace raft;
using namespace std::chrono_literals;

namespace {

/// Longer than faults can keep a server from the others, one after the other.
constexpr auto dead_after = 30s;

config::AgentConfig config_of(const SimServerOptions& options) {
  config::AgentConfig config;
  config.name = options.id;
  config.server.join.retry_join = options.join;
  config.server.join.retry_interval = 2s;
  config.autopilot.server_stabilization_time = 2s;
  config.autopilot.last_contact_threshold = 500ms;
  config.autopilot.cleanup_dead_servers = mistake != Mistake::keep_the_dead;
  if (mistake == Mistake::keep_learners) config.autopilot.server_stabilization_time = 24h;
  return config;
}

/// Whoever is more important preempts others.
Object<schema::SchedulerConfiguration> preempting() {
  Draft<schema::SchedulerConfiguration> draft;
  draft->setSchedulerAlgorithm("binpack");
  auto config = draft->initPreemptionConfig();
  config.setSystemSchedulerEnabled(true);
  config.setSysBatchSchedulerEnabled(true);
  config.setBatchSchedulerEnabled(true);
  config.setServiceSchedulerEnabled(true);
  return draft.freeze();
}

server::DeploymentWatcherOptions watching() {
  server::DeploymentWatcherOptions options{.decide = next_deployment_command};
  if (mistake == Mistake::drowsy_watchers) options.batch_period = 1h;
  return options;
}

/// States are compared at every so many entries.
constexpr Index compared_states = 32;

std::uint64_t mix(std::uint64_t sum, std::string_view text) {
  for (const char letter : text)
    sum = (sum ^ static_cast<unsigned char>(letter)) * 0x0000'0100'0000'01b3;
  return sum * 0x9e37'79b9'7f4a'7c15 + text.size();
}

class DigestSink : public SnapshotSink {
public:
  Result<> begin_table(std::string_view name) override {
    sum = mix(sum, name);
    return {};
  }

  Result<> row(std::string_view key, std::span<const std::byte> value) override {
    sum = mix(sum, key);
    // By words: the rows are flat objects.
    std::uint64_t word = 0;
    for (std::size_t at = 0; at + sizeof word <= value.size(); at += sizeof word) {
      std::memcpy(&word, value.data() + at, sizeof word);
      sum = (sum ^ word) * 0x9e37'79b9'7f4a'7c15;
      sum ^= sum >> 29;
    }
    return {};
  }

  std::uint64_t sum = 1;
};

/// The state machine, which is watched at its work.
class WatchedFsm : public Fsm {
public:
  WatchedFsm(std::shared_ptr<StateFsm> inner, StateWitness& witness, std::string server)
      : inner_(std::move(inner)), witness_(witness), server_(std::move(server)) {}

  Result<> check(std::span<const std::byte> payload) const override {
    return inner_->check(payload);
  }

  std::vector<Outcome> apply(std::span<const Entry> entries, Index applied) override {
    std::vector<Outcome> outcomes;
    while (!entries.empty()) {
      // Up to where states are compared, so that all servers look at the same moment.
      const auto stop
          = (entries.front().index + compared_states - 1) / compared_states * compared_states;
      std::size_t count = 0;
      while (count < entries.size() && entries[count].index <= stop)
        witness_.applied(server_, entries[count++]);
      const auto part = entries.subspan(0, count);
      entries = entries.subspan(count);
      const auto through = entries.empty() ? applied : part.back().index;
      for (auto& outcome : apply_part(part, through))
        outcomes.push_back(std::move(outcome));
      if (part.back().index == stop) witness_.state(server_, stop, digest_of(*inner_));
    }
    if (outcomes.empty()) inner_->apply({}, applied);
    return outcomes;
  }

  bool takes_long(std::span<const Entry> commands) const override {
    return commands.size() > 2 || inner_->takes_long(commands);
  }

  std::unique_ptr<SnapshotSource> snapshot() const override { return inner_->snapshot(); }

  Result<std::shared_ptr<PreparedState>> prepare(SnapshotRows& rows) const override {
    return inner_->prepare(rows);
  }

  void install(PreparedState& prepared, Index applied) override {
    inner_->install(prepared, applied);
  }

  std::uint32_t known_commands() const override { return inner_->known_commands(); }

  std::uint32_t common_commands() const override { return inner_->common_commands(); }

  std::uint32_t kind_of(std::span<const std::byte> payload) const override {
    return inner_->kind_of(payload);
  }

  CommandParts parts_of(std::span<const std::byte> payload) const override {
    return inner_->parts_of(payload);
  }

  std::optional<Bytes> earlier_form(std::span<const std::byte> payload) const override {
    return inner_->earlier_form(payload);
  }

  void answered() override { inner_->answered(); }

private:
  std::vector<Outcome> apply_part(std::span<const Entry> part, Index through) {
    const bool skips
        = (mistake == Mistake::skip_entry && through % 97 == 5)
          || (mistake == Mistake::apply_at_random && server_ == "s1" && through % 31 == 7);
    if (!skips) return inner_->apply(part, through);
    auto outcomes = inner_->apply(part.subspan(0, part.size() - 1), through);
    auto nothing = std::make_shared<state::Outcome>();
    nothing->index = part.back().index;
    outcomes.push_back({{}, nothing->index, nothing});
    return outcomes;
  }

  std::shared_ptr<StateFsm> inner_;
  StateWitness& witness_;
  std::string server_;
};

}  // namespace

std::uint64_t digest_of(const Fsm& fsm) {
  DigestSink sink;
  const auto written = fsm.snapshot()->write(sink);
  return written ? sink.sum : 0;
}

void StateWitness::applied(const std::string& server, const Entry& entry) {
  const auto [known, is_new] = commands_.try_emplace(entry.index, Known{entry.term, entry.payload});
  if (is_new) return;
  if (known->second.term != entry.term || !(known->second.payload == entry.payload))
    violated(fmt::format("{} applies another entry at index {} (term {}) than others (term {})",
                         server, entry.index, entry.term, known->second.term));
}

void StateWitness::state(const std::string& server, Index index, std::uint64_t digest) {
  const auto [known, is_new] = states_.try_emplace(index, digest, server);
  if (is_new) return;
  ++states_compared_;
  if (known->second.first != digest)
    violated(fmt::format("the states of {} and {} differ at index {}", known->second.second, server,
                         index));
}

const Bytes* StateWitness::command(Index index) const {
  const auto found = commands_.find(index);
  return found == commands_.end() ? nullptr : &found->second.payload;
}

SimServer::SimServer(SimSystem& system,
                     SimNetwork& network,
                     SimRpc& rpc,
                     StateWitness& witness,
                     DiskCounts& disk_counts,
                     SimServerOptions options)
    : system_(system),
      network_(network),
      rpc_(rpc),
      witness_(witness),
      options_(std::move(options)),
      machine_(system.add_machine(options_.id)),
      disk_(system, machine_, disk_counts, options_.seed ^ 1),
      random_(options_.seed) {
  system.set_clock_rate(machine_, options_.clock_rate);
}

SimServer::Live::~Live() {
  requests.close();
  if (api) api->stop();
}

void SimServer::crash() {
  disk_.crash();
  system_.switch_off(machine_);
}

/// As the agent's wiring starts a server.
void SimServer::start() {
  live_.reset();  // while the machine is off: what this lets go of says nothing
  system_.switch_on(machine_);
  system_.on(machine_, [this] {
    live_ = std::make_unique<Live>();
    live_->store = std::make_shared<state::Store>();
    live_->fsm = std::make_shared<StateFsm>(live_->store);
    failure_.reset();
    const auto root = system_.own(
        machine_, actor::spawn_root(system_.system(),
                                    [this, life = system_.life(machine_)](const Error& reason) {
                                      if (system_.life(machine_) == life) failure_ = reason;
                                    }));
    live_->server = system_.own(machine_, server::spawn_server(root));
    start_cluster();
    start_duties(start_raft(system_.own(machine_, spawn_listener())));
    start_api();
  });
}

void SimServer::start_cluster() {
  const auto make_link = [this](const std::shared_ptr<const rpc::MethodRouter>& router) {
    const auto address = rpc_address_of(options_.id);
    rpc_.listen(address, machine_, router);
    return Result<agent::Link>{agent::Link{
        rpc_.spawn(live_->server, machine_,
                   {.role = net::RpcRole::server, .region = "global", .name = options_.id}),
        address,
        {}}};
  };
  const bool is_hasty = mistake == Mistake::hasty_autopilot;
  auto listening = agent::ClusterPart::listen(live_->server, config_of(options_),
                                              {.server_id = options_.id,
                                               .http_address = {},
                                               .random_seed = random_.next(),
                                               .dead_after = is_hasty ? Time{0} : Time{dead_after}},
                                              live_->requests, live_->store, make_link);
  if (!listening) return witness_.violated("no ties to the cluster: " + listening.error().what);
  live_->cluster.emplace(std::move(*listening));
  system_.own(machine_, live_->cluster->forwarder());
  system_.own(machine_, live_->cluster->node_caller());
}

/// Passes what the Raft node says on to the server, and lets the world hear of it.
LeadershipListener SimServer::spawn_listener() {
  return actor::spawn(
      live_->server, [this](LeadershipListener::pointer self) -> LeadershipListener::behavior_type {
        return {[this, self, server = live_->server](const LeadershipChanged& msg) {
          on_leadership(*this, msg);
          self->send(server, msg);
        }};
      });
}

Proposer SimServer::start_raft(const LeadershipListener& listener) {
  NodeParts parts;
  parts.options = {.self = options_.id, .address = rpc_address_of(options_.id), .bootstrap = false};
  parts.options.snapshot_threshold = 200;
  parts.options.snapshot_interval = 3s;
  parts.options.trailing_entries = 20;
  parts.options.carrier = make_carrier();
  parts.core_options.self = options_.id;
  parts.core_options.heartbeat_interval = 50ms;
  parts.core_options.election_timeout = 320ms;
  parts.core_options.max_append_bytes = 20'000;
  parts.core_options.max_inflight_requests = 16;
  parts.core_options.chunk_bytes = 20'000;
  parts.core_options.promote_lag = 100;
  auto fsm = std::make_shared<WatchedFsm>(live_->fsm, witness_, options_.id);
  auto start = disk_.load(*fsm);
  if (!start) {
    witness_.violated(fmt::format("{} cannot start: {}", options_.id, start.error().what));
    start = StartState{};
  }
  parts.applied = start->snapshot ? start->snapshot->index : 0;
  parts.start = std::move(*start);
  parts.seed = random_.next();
  parts.fsm = fsm;
  parts.queue = std::make_shared<ProposalQueue>(parts.options.max_waiting_entries,
                                                parts.options.max_waiting_bytes);
  parts.lease = live_->lease = std::make_shared<LeaderLease>();
  parts.leader = live_->leader = std::make_shared<LeaderView>();
  const auto counters = std::make_shared<RaftCounters>();
  parts.counters = counters;
  parts.listener = listener;
  parts.clock = [] { return Time{LeaderLease::now()}; };
  disk_.serve(parts);
  const Proposer proposer{parts.queue};
  live_->raft = system_.own(machine_, spawn_raft_node(live_->server, std::move(parts), false));
  live_->inbox.emplace(live_->raft, fsm, std::size_t{64} << 20);
  auto& cluster = *live_->cluster;
  cluster.attach(live_->server,
                 {live_->raft, proposer, live_->lease, counters, *live_->inbox, live_->leader});
  system_.own(machine_, cluster.membership());
  system_.own(machine_, cluster.autopilot());
  return proposer;
}

/// The times are those of a small and lively cluster.
void SimServer::start_duties(const Proposer& proposer) {
  const auto& store = live_->store;
  live_->writer.emplace(store, proposer, live_->leader, std::make_shared<Random>(random_.next()));
  open_keyring();
  auto& cluster = *live_->cluster;
  const auto keys = identity::signing_keys(live_->keyring);
  cluster.verify_by(keys);
  live_->identities = identity::with_identities({}, store, keys,
                                                [lease = live_->lease] { return lease->holds(); });
  const auto sealed = system_.own(
      machine_,
      server::spawn_sealed_link(live_->server, proposer, cluster.forwarder(), live_->leader));
  const auto duties = server::start_duties(
      live_->server,
      {.store = store,
       .fsm = live_->fsm,
       .proposer = proposer,
       .lease = live_->lease,
       .keyring = live_->keyring,
       .sealed = sealed,
       .rsa_keys = live_->rsa_keys,
       .nodes = cluster.asked_nodes()},
      {.heartbeats
       = {.leases
          = {.min_ttl = 2s, .max_heartbeats_per_second = 50, .grace = 2s, .failover_ttl = 8s},
          .servers = cluster.known_servers()},
       .gc = {.interval = 20s,
              .job_interval = 20s,
              .thresholds
              = {.eval = 20s, .batch_eval = 20s, .job = 20s, .deployment = 20s, .node = 1h}},
       .deployments = watching(),
       .keyring = {.interval = 500ms,
                   .thresholds = {.rotation = Time{25s}.count(),
                                  .retention = Time{15s}.count(),
                                  .prepublish = Time{6s}.count()},
                   .decide = next_keyring_duties},
       .drainer = {.decide = next_drain_round},
       .schedulers = {.workers = 2},
       .detached_workers = false,
       .default_configuration = preempting(),
       .metrics = {},
       .enforces_access = false},
      random_);
  for (const auto& each : duties.all)
    system_.own(machine_, each);
  actor::tell(live_->server, server::AddDuty{cluster.autopilot()});
  cluster.serve_nodes(duties.nodes);
  cluster.serve_sealed(*live_->writer);
}

/// The API without an HTTP server: its one thread is the simulation's.
void SimServer::start_api() {
  const auto alarm = [this, life = system_.life(machine_)](net::TimerQueue::Clock::duration wait,
                                                           const std::function<void()>& action) {
    // The machine's clock may be a little slow.
    system_.at(system_.now() + wait + wait / 16, [this, life, action] {
      if (system_.life(machine_) == life) system_.on(machine_, action);
    });
  };
  const auto& cluster = *live_->cluster;
  api::ApiOptions options;
  options.agent.name = options.agent.server_id = options_.id;
  options.agent.rpc_address = cluster.address();
  options.agent.client_enabled = false;
  options.state.store = live_->store;
  options.state.lease = live_->lease;
  options.state.leader = live_->leader;
  options.server.keyring = live_->keyring;
  options.server.rsa_keys = live_->rsa_keys;
  options.state.raft = live_->raft;
  options.state.writer = live_->writer;
  options.peers.transport = cluster.transport();
  options.peers.view = cluster.view();
  options.peers.nodes = cluster.node_caller();
  options.peers.remote = live_->requests;
  options.authenticator = cluster.authenticator();
  options.workers.query_threads = 0;
  options.workers.alarm = alarm;
  live_->api = std::make_shared<api::Context>(live_->server, options);
  live_->routes = api::all_routes(live_->api, options);
  live_->requests.open(live_->routes, nullptr, api::run_blocking(live_->api));
}

/// The key pair is what a file of this machine would hold: the same in every life.
void SimServer::open_keyring() {
  const auto fill = [random = Random{options_.seed ^ 2}](std::span<std::byte> bytes) mutable {
    for (auto& byte : bytes)
      byte = static_cast<std::byte>(random.below(256));
  };
  auto opened = security::Keyring::open({.server_id = options_.id, .random = fill});
  if (!opened) witness_.violated("no keyring: " + opened.error().what);
  live_->keyring = std::move(*opened);
  live_->rsa_keys = remembered_rsa_keys(live_->keyring);
}

Carrier SimServer::make_carrier() {
  return [this](const Carry& msg) {
    auto* to = find_server(msg.to);
    const bool carried
        = to != nullptr && network_.send(machine_, to->machine(), [to, bytes = msg.bytes] {
            static_cast<void>(to->live_->inbox->deliver(bytes));
          });
    // A broken connection is noticed, a cut cable is not.
    if (carried || random_.chance(0.5))
      msg.done({});
    else
      msg.done(Error{Errc::unavailable, "simulated"});
  };
}

}  // namespace nomad::test
