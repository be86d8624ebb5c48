#include "actors/client/client.hpp"

#include <map>
#include <optional>
#include <utility>

#include "actors/client/client_facts.hpp"
#include "actors/client/hooks/builtin_hooks.hpp"
#include "actors/client/node/machine.hpp"
#include "actors/client/node/node_cpus.hpp"
#include "actors/client/node/node_disks.hpp"
#include "actors/client/node/node_events.hpp"
#include "actors/client/node/node_figures.hpp"
#include "actors/client/node/node_metadata.hpp"
#include "actors/client/node_allocs.hpp"
#include "actors/client/server_contact.hpp"
#include "actors/client/task/task_config.hpp"
#include "actors/client/templates/template_settings.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/host/cgroup/cpuset_groups.hpp"
#include "runtime/host/host_stats.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/task_machine.hpp"

namespace nomad::client {
namespace {

using namespace std::chrono_literals;

constexpr auto start_timeout = 50s;

using namespace client_timer;

class ClientState {
public:
  static constexpr const char* name = "client";

  explicit ClientState(ClientSelf::pointer actor) : self_{actor} {}

  void init(ClientOptions options, ClientParts parts);
  void collect();
  void drivers_changed(const driver_manager::Changed& msg);
  void child_down(const actor::Down& down);
  actor::Answer<client_actor::Stopped> stop();
  actor::Answer<client_actor::Reconfigured> reconfigure(client_actor::Reconfigure& msg);
  client_api::LocalNode local_node() const;
  client_api::AllocCounts counts() const;
  actor::Answer<client_api::HostUsage> host_stats();

  actor::Answer<client_api::Figures> figures(const client_api::ReadFigures& msg) {
    return gather_figures(self_, facts_, allocs_, stats_, msg.of_tasks);
  }

  NodeAllocs& allocs() { return allocs_; }

  ServerContact& servers() { return servers_; }

  Machine& machine() { return machine_; }

  NodeMetadata& metadata() { return metadata_; }

  NodeEvents& events() { return events_; }

  NodeDisks& disks() { return disks_; }

private:
  void fingerprint();
  void spawn_drivers();
  void ready_to_start();
  void take_identity();
  void take_up();
  void make_context();
  void make_hooks();
  void make_node();
  void node_changed();
  void finish_stop();

  ClientSelf::pointer self_;
  ClientFacts facts_;
  NodeCpus cpus_{self_, facts_};
  NodeAllocs allocs_{self_, facts_, cpus_};
  ServerContact servers_{self_, facts_, allocs_};
  Machine machine_{self_, facts_, [this] { node_changed(); }};
  NodeMetadata metadata_{self_, facts_, [this] { node_changed(); }};
  NodeEvents events_{self_, facts_};
  NodeDisks disks_{self_, facts_, allocs_};

  std::optional<client_db::Loaded> loaded_;
  bool is_identified_ = false;
  bool started_ = false;
  StatsReader stats_;
  AllocSync sync_;
  CheckRunner checks_;
  DataWatcher data_;
  PendingDeregistrations deregistrations_;  ///< Empty: no plugin brings providers.
  std::shared_ptr<const TemplateSettings> templates_;
  std::shared_ptr<const network::NetworkOptions> network_;
  std::shared_ptr<const Hooks> hooks_;
  std::shared_ptr<const workload::TaskHooks> task_hooks_;  ///< `task_hook_traits` of them.
  DriverManager manager_;
  std::shared_ptr<const KnownDrivers> drivers_;  ///< Null until all have said how they feel.
  std::shared_ptr<host::ExecPumpOnDemand> exec_pump_ = std::make_shared<host::ExecPumpOnDemand>();
  actor::Promise<client_actor::Stopped> stop_promise_;
};

// -- start ---------------------------------------------------------------------------------------

void ClientState::init(ClientOptions options, ClientParts parts) {
  facts_.options = std::move(options);
  facts_.parts = std::move(parts);
  if (!facts_.options.unix_now) facts_.options.unix_now = unix_now;
  facts_.random = facts_.options.seed == 0 ? Random::from_system() : Random{facts_.options.seed};
  self_->request(facts_.parts.db, start_timeout, client_db::Load{})
      .then(
          [this](client_db::Loaded& loaded) {
            loaded_ = std::move(loaded);
            take_identity();
          },
          [this](const Error& err) {
            log::error("client", "reading local state failed: {}", err.what);
            self_->quit(err);
          });
  fingerprint();
}

void ClientState::fingerprint() {
  machine_.look(facts_.options, [this](const Result<>& looked) {
    if (!looked) {
      log::error("client", "fingerprinting failed: {}", looked.error().what);
      self_->quit(looked.error());
      return;
    }
    const auto& found = machine_.facts();
    stats_ = facts_.parts.make_stats(self_, {.alloc_dir = facts_.options.alloc_dir,
                                             .total_compute_mhz = found.cpu_total_compute,
                                             .cores = found.cpu_cores});
    spawn_drivers();
    ready_to_start();
  });
}

void ClientState::spawn_drivers() {
  manager_ = spawn_driver_manager(
      self_, {.plugins = facts_.parts.plugins,
              .common = {.state_dir = facts_.options.state_dir,
                         .executor_path = facts_.options.executor_path,
                         .cgroup_parent = facts_.options.cgroup_parent,
                         .stats = stats_,
                         .steps = facts_.parts.steps,
                         .unix_now = facts_.options.unix_now,
                         .host = {},
                         .name = {},
                         .config = {},
                         .alloc_dir = facts_.options.alloc_dir,
                         .cache_dir = facts_.options.fingerprint.cache_dir,
                         .private_dirs = facts_.options.private_dirs,
                         .chroot_env = facts_.options.chroot_env,
                         .total_compute_mhz = machine_.facts().cpu_total_compute},
              .configs = facts_.options.drivers,
              .is_allowed
              = [options = facts_.options](
                    const std::string& driver) { return is_allowed(options, "driver", driver); },
              .parent = self_});
}

void ClientState::drivers_changed(const driver_manager::Changed& msg) {
  const auto before = std::exchange(drivers_, msg.drivers);
  if (!started_ || !sync_) return ready_to_start();
  bool changed = false;
  std::vector<std::string> replaced;
  for (const auto& [name, driver] : *before) {
    if (drivers_->contains(name)) continue;
    changed = true;
    allocs_.driver_replaced({name, {}});
  }
  const KnownDriver unknown;
  for (const auto& [name, driver] : *drivers_) {
    const auto known = before->find(name);
    const auto& earlier = known == before->end() ? unknown : known->second;
    const auto was = earlier.feels();
    const auto is = driver.feels();
    const bool feels_other = was.getHealthy() != is.getHealthy()
                             || view(was.getDescription()) != view(is.getDescription());
    if (feels_other && earlier.health && is.getDescription().size() > 0 && !driver.retired)
      events_.happened("Driver", copy(is.getDescription()), {{"driver", name}});
    changed = changed || feels_other || was.getDetected() != is.getDetected()
              || !(driver.health && driver.health.equals(earlier.health));
    if (driver.driver.address() != earlier.driver.address()) replaced.push_back(name);
  }
  if (changed)
    node_changed();
  else if (!replaced.empty())
    make_context();
  for (const auto& name : replaced)
    allocs_.driver_replaced({name, drivers_->at(name)});
}

/// Goes on when the machine, its drivers, the saved state and who the node is are known.
void ClientState::ready_to_start() {
  if (started_ || !is_identified_ || !machine_.is_known() || !drivers_ || facts_.stopping) return;
  started_ = true;
  take_up();
}

void ClientState::take_identity() {
  const auto identified = [this] {
    is_identified_ = true;
    ready_to_start();
  };
  facts_.identity = {.id = loaded_->node_id, .secret = loaded_->secret_id};
  if (!facts_.identity.id.empty()) return identified();
  facts_.identity = {.id = make_uuid(facts_.random), .secret = make_uuid(facts_.random)};
  self_
      ->request(facts_.parts.db, start_timeout,
                client_db::SaveIdentity{facts_.identity.id, facts_.identity.secret})
      .then([identified](const client_db::Committed&) { identified(); },
            [this](const Error& err) {
              log::error("client", "saving the node's id failed: {}", err.what);
              self_->quit(err);
            });
}

void ClientState::take_up() {
  const auto incarnation = loaded_->incarnation + 1;
  facts_.report_numbers = std::make_shared<ReportNumbers>(incarnation);
  // Nobody waits for it: what runs must be taken up on a full disk, too.
  storage::ClientBatch batch;
  client_db::put_incarnation(batch, incarnation);
  self_->send(facts_.parts.db, client_db::SaveLater{std::move(batch)});
  sync_ = spawn_alloc_sync(self_, {.node_id = facts_.identity.id,
                                   .servers = facts_.parts.servers,
                                   .db = facts_.parts.db,
                                   .parent = self_,
                                   .numbers = facts_.report_numbers,
                                   .timing = facts_.options.sync,
                                   .seed = facts_.random.next()});
  checks_ = facts_.parts.make_checks(
      self_, {.seed = facts_.random.next(), .unix_now = facts_.options.unix_now});
  templates_ = facts_.options.templates ? facts_.options.templates
                                        : std::make_shared<const TemplateSettings>();
  data_ = spawn_data_watcher(
      self_,
      {.node_id = facts_.identity.id, .servers = facts_.parts.servers, .settings = templates_});
  if (const auto& providers = facts_.parts.plugins->providers)
    deregistrations_
        = spawn_pending_deregistrations(self_, {.db = facts_.parts.db,
                                                .providers = providers,
                                                .owed = std::move(loaded_->deregistrations)});
  metadata_.take_up(std::move(loaded_->node_meta));
  metadata_.configure(fixed_meta(facts_.options));
  make_hooks();
  make_node();
  allocs_.take_up(std::exchange(*loaded_, {}));
  cpus_.begin();
  log::info("client", "node {} starts with {} saved allocations", facts_.identity.id,
            allocs_.size());
  servers_.register_node();
  actor::send_self_after(self_, facts_.options.gc_interval, CollectDue{});
  disks_.begin();
}

/// The node as it is now, and what runners have to know of it.
void ClientState::make_node() {
  facts_.node = build_node(facts_.options, facts_.identity, machine_.facts(), *drivers_,
                           metadata_.merged(), facts_.options.unix_now());
  cpus_.set_reservable(machine_.facts().reservable_cores);
  make_context();
}

void ClientState::node_changed() {
  if (!started_ || !sync_) return;  // It is made and registered yet.
  make_node();
  servers_.register_soon();
}

actor::Answer<client_actor::Reconfigured> ClientState::reconfigure(client_actor::Reconfigure& msg) {
  if (!sync_ || facts_.stopping)
    return Error{Errc::unavailable, "the client is starting or stopping"};
  auto promise = self_->make_response_promise<client_actor::Reconfigured>();
  auto options = std::move(msg.options);
  options.unix_now = facts_.options.unix_now;
  const auto before = facts_.parts.plugins;
  if (msg.plugins) facts_.parts.plugins = msg.plugins;
  machine_.look(options, [this, promise, options, before](const Result<>& looked) mutable {
    if (!looked) {
      facts_.parts.plugins = before;
      return promise.deliver(looked.error());
    }
    if (facts_.parts.plugins != before)
      self_->send(manager_, driver_manager::SetCatalog{facts_.parts.plugins});
    facts_.options = std::move(options);
    metadata_.configure(fixed_meta(facts_.options));
    allocs_.set_limits(facts_.options.gc);
    disks_.begin();
    make_hooks();
    node_changed();
    promise.deliver(client_actor::Reconfigured{});
  });
  return promise;
}

/// For the runners that come; the order of the catalog's hooks was looked at when it was made.
void ClientState::make_hooks() {
  auto network = facts_.options.network;
  network.state_dir = facts_.options.state_dir;
  network_ = std::make_shared<const network::NetworkOptions>(std::move(network));
  const auto& plugins = *facts_.parts.plugins;
  hooks_ = std::make_shared<const Hooks>(all_hooks(plugins, {.steps = facts_.parts.steps,
                                                             .checks = checks_,
                                                             .data = data_,
                                                             .deregistrations = deregistrations_,
                                                             .providers = plugins.providers,
                                                             .templates = templates_,
                                                             .network = network_,
                                                             .peers = facts_.options.peers,
                                                             .region = facts_.options.region,
                                                             .unix_now = facts_.options.unix_now})
                                             .value());
  task_hooks_ = std::make_shared<const workload::TaskHooks>(task_hook_traits(hooks_->of_tasks));
}

void ClientState::make_context() {
  auto context = std::make_shared<ClientContext>();
  context->node_id = facts_.identity.id;
  context->region = facts_.options.region;
  context->datacenter = facts_.options.datacenter;
  context->cgroup_parent = facts_.options.cgroup_parent;
  context->alloc_dir = facts_.options.alloc_dir;
  context->node_record = facts_.node;
  context->node = workload::node_variables(*facts_.node, facts_.options.region);
  const auto denied = facts_.options.options.find("env.denylist");
  context->host_env
      = host_environment(denied == facts_.options.options.end() ? default_denied_environment()
                                                                : split_list(denied->second));
  context->max_kill_timeout = facts_.options.max_kill_timeout;
  context->hooks = hooks_;
  context->task_hooks = task_hooks_;
  context->drivers = drivers_;
  context->driver_manager = manager_;
  context->exec_pump = exec_pump_;
  context->db = facts_.parts.db;
  context->servers = facts_.parts.servers;
  context->sync = sync_;
  context->checks = checks_;
  context->steps = facts_.parts.steps;
  context->network = network_;
  context->unix_now = facts_.options.unix_now;
  context->task_metrics = facts_.parts.task_metrics;
  context->usage_interval = facts_.options.usage_interval;
  context->seed = facts_.random.next();
  facts_.context = std::move(context);
}

// -- collection -----------------------------------------------------------------------------------

void ClientState::collect() {
  if (facts_.stopping) return;
  actor::send_self_after(self_, facts_.options.gc_interval, CollectDue{});
  allocs_.look_at_disk();
  allocs_.leave_orphaned_networks();
}

// -- children and the end ------------------------------------------------------------------------

void ClientState::child_down(const actor::Down& down) {
  if (allocs_.child_down(down)) return;
  // What it had to tell is lost, and told again.
  if (down.restarted && down.source == sync_.address()) {
    if (servers_.contacted()) self_->send(sync_, sync::Open{});
    allocs_.report_all();
  }
  if (down.restarted && down.source == checks_.address()) allocs_.report_all();  // Hooks, too.
  // It knows the catalog of its spawning.
  if (down.restarted && down.source == manager_.address())
    self_->send(manager_, driver_manager::SetCatalog{facts_.parts.plugins});
}

actor::Answer<client_actor::Stopped> ClientState::stop() {
  if (facts_.stopping) return Error{Errc::conflict, "the client is stopping already"};
  facts_.stopping = true;
  stop_promise_ = self_->make_response_promise<client_actor::Stopped>();
  auto answer = stop_promise_;
  allocs_.stop(facts_.options.dev, [this] { finish_stop(); });
  return answer;
}

void ClientState::finish_stop() {
  const auto end = [this] {
    stop_promise_.deliver(client_actor::Stopped{});
    self_->quit();
  };
  self_->request(facts_.parts.db, start_timeout, client_db::Save{})
      .then([end](const client_db::Committed&) { end(); },
            [end](const Error& err) {
              log::error("client", "saving local state at the end failed: {}", err.what);
              end();
            });
}

actor::Answer<client_api::HostUsage> ClientState::host_stats() {
  if (!stats_) return Error{Errc::unavailable, "the client is starting"};
  return self_->delegate(stats_, stats::ReadHost{});
}

client_api::AllocCounts ClientState::counts() const {
  auto counts = allocs_.counts();
  counts.contacted = servers_.contacted();
  return counts;
}

client_api::LocalNode ClientState::local_node() const {
  return {.node = facts_.node,
          .last_heartbeat = servers_.last_heartbeat(),
          .heartbeat_ttl = servers_.ttl()};
}

ClientSelf::behavior_type client_node(ClientSelf::stateful_pointer<ClientState> self,
                                      ClientOptions options,
                                      ClientParts parts) {
  actor::on_down(self, [self](const actor::Down& down) { self->state.child_down(down); });
  self->state.init(std::move(options), std::move(parts));
  return {
      [self](client_api::RestartTask& msg) {
        return self->state.allocs().pass_on<client_api::Done>(msg);
      },
      [self](client_api::SignalTask& msg) {
        return self->state.allocs().pass_on<client_api::Done>(msg);
      },
      [self](const client_api::CollectGarbage& msg) {
        return self->state.allocs().collect_garbage(msg);
      },
      [self](client_api::AllocStats& msg) {
        return self->state.allocs().pass_on<client_api::AllocUsage>(msg);
      },
      [self](const client_api::AllocChecks& msg) { return self->state.allocs().checks(msg); },
      [self](client_api::HostStats) { return self->state.host_stats(); },
      [self](client_api::AllocDirOf& msg) {
        return self->state.allocs().pass_on<client_api::AllocDir>(msg);
      },
      [self](const client_api::DiskOf& msg) { return self->state.allocs().disk_of(msg); },
      [self](client_api::Exec& msg) { return self->state.allocs().exec(msg); },
      [self](client_api::GetNode) { return self->state.local_node(); },
      [self](client_api::ReadMeta) { return self->state.metadata().read(); },
      [self](client_api::ApplyMeta& msg) { return self->state.metadata().apply(msg); },
      [self](client_api::CountAllocs) { return self->state.counts(); },
      [self](const client_api::ReadFigures& msg) { return self->state.figures(msg); },
      [self](client_actor::Stop) { return self->state.stop(); },
      [self](client_actor::Reconfigure& msg) { return self->state.reconfigure(msg); },
      [self](const client_actor::Happened& msg) {
        self->state.events().happened(msg.subsystem, msg.message, msg.details);
      },
      [self](const alloc_runner::Status& msg) { self->state.allocs().status_changed(msg); },
      [self](const alloc_runner::AwaitEnd& msg) { return self->state.allocs().await_end(msg); },
      [self](const sync::Reported& msg) {
        self->state.allocs().end_acknowledged(msg.ended);
        self->state.servers().reported();
      },
      [self](StopLook msg) { self->state.allocs().stop_look(msg.round); },
      [self](RegisterDue msg) { self->state.servers().register_due(msg.round); },
      [self](HeartbeatDue msg) { self->state.servers().heartbeat_due(msg.round); },
      [self](WatchDue) { self->state.servers().watch(); },
      [self](const driver_manager::Changed& msg) { self->state.drivers_changed(msg); },
      [self](CollectDue) { self->state.collect(); },
      [self](const FingerprintDue& msg) { self->state.machine().look_again(msg); },
      [self](const EventsDue& msg) { self->state.events().due(msg); },
      [self](DiskDue) { self->state.disks().due(); },
  };
}

}  // namespace

Client spawn_client(const actor::Owner& owner, ClientOptions options, ClientParts parts) {
  return actor::spawn(owner, client_node, std::move(options), std::move(parts));
}

Result<PreparedClient> prepare_client(ClientOptions options,
                                      PluginCatalog plugins,
                                      const std::function<void(PluginCatalog&)>& complete) {
  PreparedClient prepared{.options = std::move(options)};
  if (!prepared.options.dev)
    prepared.store = NOMAD_TRY(open_client_store(prepared.options.state_dir));
  if (complete) complete(plugins);
  prepared.plugins = std::make_shared<const PluginCatalog>(std::move(plugins));
  prepared.facts = NOMAD_TRY(host::run_each(
      looked_at(prepared.options), allowed_fingerprinters(prepared.options, *prepared.plugins)));
  return prepared;
}

Client start_client(const actor::Owner& owner,
                    PreparedClient prepared,
                    NodeDoor servers,
                    std::shared_ptr<telemetry::Registry> task_metrics) {
  const auto db = prepared.store ? spawn_client_db(owner.system(), std::move(*prepared.store),
                                                   prepared.options.state_dir)
                                 : spawn_forgetful_client_db(owner.system());
  const auto steps = spawn_step_runner(owner.system());
  const auto client = spawn_client(
      owner, std::move(prepared.options),
      {.servers = std::move(servers),
       .db = db,
       .steps = steps,
       .plugins = std::move(prepared.plugins),
       .share_cpus = host::share_cpus,
       .task_metrics = std::move(task_metrics),
       .first_look
       = std::make_shared<const std::vector<host::NodeFacts>>(std::move(prepared.facts))});
  actor::give(db, client);
  actor::give(steps, client);
  return client;
}

Result<Client> start_client(const actor::Owner& owner,
                            ClientOptions options,
                            NodeDoor servers,
                            PluginCatalog plugins,
                            std::shared_ptr<telemetry::Registry> task_metrics) {
  auto prepared = NOMAD_TRY(prepare_client(std::move(options), std::move(plugins)));
  return start_client(owner, std::move(prepared), std::move(servers), std::move(task_metrics));
}

}  // namespace nomad::client
