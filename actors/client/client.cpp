#include "actors/client/client.hpp"

#include <optional>
#include <utility>

#include "actors/client/hooks/builtin_hooks.hpp"
#include "actors/client/node/driver_changes.hpp"
#include "actors/client/node/machine.hpp"
#include "actors/client/node/node_cpus.hpp"
#include "actors/client/node/node_disks.hpp"
#include "actors/client/node/node_events.hpp"
#include "actors/client/node/node_metadata.hpp"
#include "actors/client/node/node_metrics.hpp"
#include "actors/client/node/node_sockets.hpp"
#include "actors/client/node_allocs.hpp"
#include "actors/client/server_contact.hpp"
#include "actors/client/task/task_config.hpp"
#include "actors/client/templates/template_settings.hpp"
#include "actors/client/volumes/volume_manager.hpp"
#include "actors/core/part.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/host/cgroup/cpuset_groups.hpp"
#include "runtime/host/host_usage_reader.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/task_machine.hpp"

namespace nomad::client {
namespace {

using namespace std::chrono_literals;

constexpr auto start_timeout = 50s;

/// The parts' own messages are theirs alone.
using ClientSelf = actor::WithParts<actor::WithInternal<Client,
                                                        void(driver_manager::Changed),
                                                        void(volume_manager::Changed),
                                                        void(volume_manager::Happened)>,
                                    NodeAllocs,
                                    ServerContact,
                                    Machine,
                                    NodeEvents,
                                    NodeDisks,
                                    NodeSockets,
                                    NodeMetrics>;

/// Starts the node, gives each part what it needs, and ends it.
class ClientNode {
public:
  ClientNode(ClientSelf::pointer self, ClientOptions options, ClientParts parts)
      : self_{self}, options_{std::move(options)}, parts_{std::move(parts)} {}

  ClientNode(const ClientNode&) = delete;
  ClientNode& operator=(const ClientNode&) = delete;

  void start();
  void child_down(const actor::Down& down);
  ClientSelf::behavior_type behavior();

private:
  void look_at_machine();
  void spawn_drivers();
  void ready_to_start();
  void take_identity();
  void spawn_shared();
  void take_up();
  void make_hooks();
  void make_node();
  void make_parts();
  void node_changed();
  void drivers_changed(const driver_manager::Changed& msg);
  actor::Answer<door::NodeReply> answer(door::NodeAsk& msg);
  actor::Answer<door::NodeReply> ask_volumes(door::NodeAsk& msg);

  std::string csi_root() const { return options_.state_dir + "/csi"; }

  actor::Answer<client_actor::Reconfigured> reconfigure(client_actor::Reconfigure& msg);
  actor::Answer<client_actor::Stopped> stop();
  void finish_stop();

  ClientSelf::pointer self_;
  ClientOptions options_;
  ClientParts parts_;
  Random random_ = options_.seed == 0 ? Random::from_system() : Random{options_.seed};
  bool stopping_ = false;
  bool started_ = false;
  bool is_identified_ = false;
  std::optional<client_db::Loaded> loaded_;
  actor::Promise<client_actor::Stopped> stop_promise_;

  // What the parts are told of, when it is known and when it changes.
  NodeIdentity identity_;
  Object<schema::Node> node_;  ///< As it is registered next.
  std::shared_ptr<ReportNumbers> report_numbers_;
  UsageReader usage_reader_;
  AllocSync sync_;
  CheckRunner checks_;
  DataWatcher data_;
  IdentitySigner identities_;
  const std::shared_ptr<NodeIdentities> node_identities_ = std::make_shared<NodeIdentities>();
  VolumeManager volumes_;
  std::shared_ptr<const CsiStandings> csi_ = std::make_shared<const CsiStandings>();
  PendingDeregistrations deregistrations_;  ///< Empty: no plugin brings providers.
  DriverManager manager_;
  std::shared_ptr<const KnownDrivers> drivers_;  ///< Null until all have said how they feel.
  std::shared_ptr<const network::NetworkOptions> network_;
  std::shared_ptr<const TemplateSettings> templates_;
  std::shared_ptr<const Hooks> hooks_;
  std::shared_ptr<const workload::TaskHooks> hook_traits_;  ///< `task_hook_traits` of them.
  std::shared_ptr<host::ExecPumpOnDemand> exec_pump_ = std::make_shared<host::ExecPumpOnDemand>();
  std::shared_ptr<const RunnerContext> runner_context_;  ///< For the runners that come.
  std::shared_ptr<const AllocParts> alloc_parts_;

  NodeCpus cpus_{
      self_,
      {.steps = parts_.steps, .share = parts_.share_cpus, .cgroup_parent = options_.cgroup_parent}};
  NodeAllocs allocs_{self_,
                     {.db = parts_.db,
                      .steps = parts_.steps,
                      .make_runner = parts_.make_runner,
                      .check_alloc = parts_.check_alloc,
                      .alloc_dir = options_.alloc_dir,
                      .unix_now = options_.unix_now,
                      .cpus = cpus_,
                      .gc_interval = options_.gc_interval,
                      .disable_remote_exec = options_.disable_remote_exec,
                      .stopping = stopping_,
                      .identity = identity_,
                      .sync = sync_,
                      .checks = checks_,
                      .node_identities = *node_identities_,
                      .report_numbers = report_numbers_,
                      .network = network_,
                      .context = runner_context_,
                      .for_runners = alloc_parts_,
                      .runs_another = [this] { metrics_.begin(); }}};
  ServerContact servers_{self_,
                         {.servers = parts_.servers,
                          .dev = options_.dev,
                          .unix_now = options_.unix_now,
                          .allocs = allocs_,
                          .random = random_,
                          .identity = identity_,
                          .node = node_,
                          .sync = sync_,
                          .stopping = stopping_}};
  Machine machine_{self_,
                   {.steps = parts_.steps,
                    .first_look = parts_.first_look,
                    .stopping = stopping_,
                    .changed = [this] { node_changed(); }}};
  NodeMetadata metadata_{self_, {.db = parts_.db, .changed = [this] { node_changed(); }}};
  NodeEvents events_{self_,
                     {.servers = parts_.servers,
                      .dev = options_.dev,
                      .unix_now = options_.unix_now,
                      .random = random_,
                      .identity = identity_,
                      .stopping = stopping_}};
  NodeDisks disks_{self_,
                   {.steps = parts_.steps,
                    .alloc_dir = options_.alloc_dir,
                    .interval = options_.disk_look_interval,
                    .enforce = options_.disk_enforce,
                    .allocs = allocs_,
                    .stopping = stopping_}};
  NodeSockets sockets_{self_,
                       {.steps = parts_.steps, .plugins = parts_.plugins, .stopping = stopping_}};
  NodeMetrics metrics_{self_,
                       {.usage_reader = usage_reader_,
                        .node = node_,
                        .allocs = allocs_,
                        .unix_now = options_.unix_now,
                        .keeps = options_.keeps_usage,
                        .stopping = stopping_}};
};

// -- start ---------------------------------------------------------------------------------------

void ClientNode::start() {
  self_->request(parts_.db, start_timeout, client_db::Load{})
      .then(
          [this](client_db::Loaded& loaded) {
            loaded_ = std::move(loaded);
            take_identity();
          },
          [this](const Error& err) {
            log::error("client", "reading local state failed", {{"error", err}});
            self_->quit(err);
          });
  look_at_machine();
}

void ClientNode::look_at_machine() {
  machine_.look(options_, *parts_.plugins, [this](const Result<>& looked) {
    if (!looked) {
      log::error("client", "fingerprinting failed", {{"error", looked.error()}});
      self_->quit(looked.error());
      return;
    }
    const auto& found = machine_.facts();
    usage_reader_ = parts_.make_usage_reader(self_, {.alloc_dir = options_.alloc_dir,
                                                     .total_compute_mhz = found.cpu_total_compute,
                                                     .cores = found.cpu_cores});
    spawn_drivers();
    ready_to_start();
  });
}

void ClientNode::spawn_drivers() {
  manager_ = spawn_driver_manager(
      self_, {.plugins = parts_.plugins,
              .common = {.state_dir = options_.state_dir,
                         .executor_path = options_.executor_path,
                         .cgroup_parent = options_.cgroup_parent,
                         .usage_reader = usage_reader_,
                         .steps = parts_.steps,
                         .unix_now = options_.unix_now,
                         .agent = {},
                         .name = {},
                         .config = {},
                         .alloc_dir = options_.alloc_dir,
                         .cache_dir = options_.fingerprint.cache_dir,
                         .private_dirs = options_.private_dirs,
                         .chroot_env = options_.chroot_env,
                         .total_compute_mhz = machine_.facts().cpu_total_compute},
              .configs = options_.drivers,
              .is_allowed
              = [options = options_](
                    const std::string& driver) { return is_allowed(options, "driver", driver); },
              .parent = self_});
}

void ClientNode::drivers_changed(const driver_manager::Changed& msg) {
  const auto before = std::exchange(drivers_, msg.drivers);
  if (!started_ || !sync_) return ready_to_start();
  const auto changes = changes_between(*before, *drivers_);
  for (const auto& [name, health] : changes.health_events)
    events_.happened("Driver", health, {{"driver", name}});
  for (const auto& name : changes.gone)
    allocs_.driver_replaced({name, {}});
  if (changes.of_node)
    node_changed();
  else if (!changes.replaced.empty())
    make_parts();
  for (const auto& name : changes.replaced)
    allocs_.driver_replaced({name, drivers_->at(name)});
}

/// Goes on when the machine, its drivers, the saved state and who the node is are known.
void ClientNode::ready_to_start() {
  if (started_ || !is_identified_ || !machine_.is_known() || !drivers_ || stopping_) return;
  started_ = true;
  take_up();
}

void ClientNode::take_identity() {
  const auto identified = [this] {
    is_identified_ = true;
    ready_to_start();
  };
  identity_ = {.id = loaded_->node_id, .secret = loaded_->secret_id};
  if (!identity_.id.empty()) return identified();
  identity_ = {.id = make_uuid(random_), .secret = make_uuid(random_)};
  self_->request(parts_.db, start_timeout, client_db::SaveIdentity{identity_.id, identity_.secret})
      .then([identified](const client_db::Committed&) { identified(); },
            [this](const Error& err) {
              log::error("client", "saving the node's id failed", {{"error", err}});
              self_->quit(err);
            });
}

/// Those that work for all runners.
void ClientNode::spawn_shared() {
  sync_ = spawn_alloc_sync(self_, {.node_id = identity_.id,
                                   .servers = parts_.servers,
                                   .db = parts_.db,
                                   .parent = self_,
                                   .numbers = report_numbers_,
                                   .timing = options_.sync,
                                   .seed = random_.next()});
  checks_ = parts_.make_checks(self_, {.seed = random_.next(), .unix_now = options_.unix_now});
  templates_ = options_.templates ? options_.templates : std::make_shared<const TemplateSettings>();
  data_ = spawn_data_watcher(
      self_, {.node_id = identity_.id, .servers = parts_.servers, .settings = templates_});
  identities_ = spawn_identity_signer(
      self_, {.node_id = identity_.id, .servers = parts_.servers, .unix_now = options_.unix_now});
  volumes_ = spawn_volume_manager(
      self_, {.node_id = identity_.id,
              .root = csi_root(),
              .servers = parts_.servers,
              .db = parts_.db,
              .steps = parts_.steps,
              .calls = parts_.csi_calls ? parts_.csi_calls
                                        : csi::make_plugin_calls({.program = options_.csi_path}),
              .unix_now = options_.unix_now,
              .parent = self_});
  if (const auto& providers = parts_.plugins->providers)
    deregistrations_ = spawn_pending_deregistrations(
        self_,
        {.db = parts_.db, .providers = providers, .owed = std::move(loaded_->deregistrations)});
}

void ClientNode::take_up() {
  const auto incarnation = loaded_->incarnation + 1;
  report_numbers_ = std::make_shared<ReportNumbers>(incarnation);
  // Nobody waits for it: what runs must be taken up on a full disk, too.
  storage::ClientBatch batch;
  client_db::put_incarnation(batch, incarnation);
  self_->send(parts_.db, client_db::SaveLater{std::move(batch)});
  spawn_shared();
  metadata_.take_up(std::move(loaded_->node_meta));
  metadata_.configure(fixed_meta(options_));
  make_hooks();
  make_node();
  allocs_.take_up(std::exchange(*loaded_, {}), options_.gc);
  cpus_.begin();
  log::info("client", "the node starts with saved allocations",
            {{"node", identity_.id}, {"count", allocs_.size()}});
  servers_.register_node();
  disks_.begin();
  sockets_.begin();
}

/// The node as it is now, and what runners have to know of it.
void ClientNode::make_node() {
  node_ = build_node(options_, identity_, machine_.facts(), *drivers_, metadata_.merged(), *csi_,
                     options_.unix_now());
  cpus_.set_reservable(machine_.facts().reservable_cores);
  make_parts();
}

void ClientNode::node_changed() {
  if (!started_ || !sync_) return;  // It is made and registered yet.
  make_node();
  servers_.register_soon();
}

/// Hands what a server asks, or a user by this agent, to the part that the table names.
actor::Answer<door::NodeReply> ClientNode::answer(door::NodeAsk& msg) {
  const auto* question = door::find_question(msg->which());
  if (question == nullptr) return Error{Errc::not_found, "this client does not know the question"};
  switch (question->actor) {
    case door::ClientActor::alloc_runner:
      return allocs_.ask_runner(msg);
    case door::ClientActor::allocs:
      return allocs_.answer(msg);
    case door::ClientActor::metadata:
      return metadata_.answer(msg);
    case door::ClientActor::metrics:
      return metrics_.answer(msg);
    case door::ClientActor::volumes:
      return ask_volumes(msg);
  }
  return Error{Errc::internal, "a question without an actor"};
}

/// Servers alone ask it.
actor::Answer<door::NodeReply> ClientNode::ask_volumes(door::NodeAsk& msg) {
  if (!volumes_) return Error{Errc::unavailable, "the client is starting"};
  auto promise = self_->make_response_promise<door::NodeReply>();
  self_->request(volumes_, door::info(msg).patience + 10s, std::move(msg))
      .then([promise](door::NodeReply& reply) { promise.deliver(std::move(reply)); },
            [promise](const Error& err) { promise.deliver(err); });
  return promise;
}

actor::Answer<client_actor::Reconfigured> ClientNode::reconfigure(client_actor::Reconfigure& msg) {
  if (!sync_ || stopping_) return Error{Errc::unavailable, "the client is starting or stopping"};
  auto promise = self_->make_response_promise<client_actor::Reconfigured>();
  auto options = std::move(msg.options);
  options.unix_now = options_.unix_now;
  auto plugins = msg.plugins ? msg.plugins : parts_.plugins;
  machine_.look(options, *plugins,
                [this, promise, options, plugins](const Result<>& looked) mutable {
                  if (!looked) return promise.deliver(looked.error());
                  if (std::exchange(parts_.plugins, plugins) != plugins)
                    self_->send(manager_, driver_manager::SetCatalog{plugins});
                  options_ = std::move(options);
                  metadata_.configure(fixed_meta(options_));
                  allocs_.set_limits(options_.gc);
                  disks_.begin();
                  metrics_.begin();
                  make_hooks();
                  node_changed();
                  promise.deliver(client_actor::Reconfigured{});
                });
  return promise;
}

/// For the runners that come; that the catalog has an order was seen when it was made.
void ClientNode::make_hooks() {
  auto network = options_.network;
  network.state_dir = options_.state_dir;
  network_ = std::make_shared<const network::NetworkOptions>(std::move(network));
  hooks_ = std::make_shared<const Hooks>(
      all_hooks(*parts_.plugins, {.steps = parts_.steps,
                                  .checks = checks_,
                                  .data = data_,
                                  .identities = identities_,
                                  .node_identities = node_identities_,
                                  .deregistrations = deregistrations_,
                                  .providers = parts_.plugins->providers,
                                  .templates = templates_,
                                  .network = network_,
                                  .peers = options_.peers,
                                  .volumes = volumes_,
                                  .csi_root = csi_root(),
                                  .region = options_.region,
                                  .unix_now = options_.unix_now})
          .value());
  hook_traits_ = std::make_shared<const workload::TaskHooks>(task_hook_traits(hooks_->of_tasks));
}

/// What the runners that come are made from.
void ClientNode::make_parts() {
  const auto denied = options_.options.find("env.denylist");
  const TaskNode node{
      .record = node_,
      .variables = workload::node_variables(*node_, options_.region),
      .host_env = host_environment(denied == options_.options.end() ? default_denied_environment()
                                                                    : split_list(denied->second)),
      .region = options_.region,
      .datacenter = options_.datacenter,
      .cgroup_parent = options_.cgroup_parent,
      .alloc_dir = options_.alloc_dir};
  const auto seed = random_.next();
  const TaskParts tasks{.node = std::make_shared<const TaskNode>(node),
                        .drivers = drivers_,
                        .driver_manager = manager_,
                        .hooks = hooks_,
                        .hook_traits = hook_traits_,
                        .exec_pump = exec_pump_,
                        .db = parts_.db,
                        .max_kill_timeout = options_.max_kill_timeout,
                        .usage_interval = options_.usage_interval,
                        .usage_counts = parts_.task_metrics != nullptr,
                        .keeps_usage = options_.keeps_usage,
                        .unix_now = options_.unix_now,
                        .seed = seed};
  alloc_parts_ = std::make_shared<const AllocParts>(
      AllocParts{.tasks = std::make_shared<const TaskParts>(tasks),
                 .task_metrics = parts_.task_metrics,
                 .db = parts_.db,
                 .servers = parts_.servers});
  runner_context_ = std::make_shared<const RunnerContext>(RunnerContext{
      .node_id = identity_.id, .sync = sync_, .unix_now = options_.unix_now, .seed = seed});
}

// -- children and the end ------------------------------------------------------------------------

void ClientNode::child_down(const actor::Down& down) {
  if (allocs_.child_down(down)) return;
  // What it had to tell is lost, and told again.
  if (down.restarted && down.source == sync_.address()) {
    if (servers_.contacted()) self_->send(sync_, sync::Open{});
    allocs_.report_all();
  }
  if (down.restarted && down.source == checks_.address()) allocs_.report_all();  // Hooks, too.
  // It knows the catalog of its spawning.
  if (down.restarted && down.source == manager_.address())
    self_->send(manager_, driver_manager::SetCatalog{parts_.plugins});
}

actor::Answer<client_actor::Stopped> ClientNode::stop() {
  if (stopping_) return Error{Errc::conflict, "the client is stopping already"};
  stopping_ = true;
  stop_promise_ = self_->make_response_promise<client_actor::Stopped>();
  auto answer = stop_promise_;
  allocs_.stop(options_.dev, [this] { finish_stop(); });
  return answer;
}

void ClientNode::finish_stop() {
  const auto end = [this] {
    stop_promise_.deliver(client_actor::Stopped{});
    self_->quit();
  };
  self_->request(parts_.db, start_timeout, client_db::Save{})
      .then([end](const client_db::Committed&) { end(); },
            [end](const Error& err) {
              log::error("client", "saving local state at the end failed", {{"error", err}});
              end();
            });
}

ClientSelf::behavior_type ClientNode::behavior() {
  return actor::behavior_of<ClientSelf>(
      actor::handlers([this](door::NodeAsk& msg) { return answer(msg); },
                      [this](const driver_manager::Changed& msg) { drivers_changed(msg); },
                      [this](const volume_manager::Changed& msg) {
                        csi_ = msg.standings;
                        node_changed();
                      },
                      [this](const volume_manager::Happened& msg) {
                        events_.happened("Storage", msg.message, msg.details);
                      },
                      [this](client_actor::Reconfigure& msg) { return reconfigure(msg); },
                      [this](client_actor::Stop) { return stop(); }),
      allocs_.handlers(), servers_.handlers(), machine_.handlers(), events_.handlers(),
      disks_.handlers(), sockets_.handlers(), metrics_.handlers());
}

/// Empty until the actor has begun.
struct ClientState {
  static constexpr const char* name = "client";

  std::optional<ClientNode> node;
};

ClientSelf::behavior_type client_node(ClientSelf::stateful_pointer<ClientState> self,
                                      ClientOptions options,
                                      ClientParts parts) {
  if (!options.unix_now) options.unix_now = unix_now;
  auto& node = self->state.node.emplace(self, std::move(options), std::move(parts));
  actor::on_down(self, [&node](const actor::Down& down) { node.child_down(down); });
  node.start();
  return node.behavior();
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
  const auto steps = spawn_blocking_pool(owner.system());
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
