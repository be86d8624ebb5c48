#include "actors/client/client.hpp"

#include <algorithm>

#include "actors/client/client_state.hpp"
#include "actors/client/task_config.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/host/host_stats.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/task_machine.hpp"

namespace nomad::client {
namespace detail {
namespace {

using namespace std::chrono_literals;

constexpr auto start_timeout = 50s;
constexpr auto driver_interval = 30s;

}  // namespace

ClientState::~ClientState() {
  for (const auto& [name, driver] : drivers_)
    actor::stop(driver);
  for (const auto& [id, alloc] : allocs_)
    actor::stop(alloc.runner);
  actor::stop(sync_);
  actor::stop(stats_);
}

// -- start ---------------------------------------------------------------------------------------

void ClientState::init(ClientOptions options, ClientParts parts) {
  options_ = std::move(options);
  parts_ = std::move(parts);
  if (!options_.unix_now) options_.unix_now = unix_now;
  random_ = options_.seed == 0 ? Random::from_system() : Random{options_.seed};
  gc_ = workload::GcQueue{options_.gc};
  self_->request(parts_.db, start_timeout, client_db::Load{})
      .then(
          [this](client_db::Loaded& loaded) {
            loaded_ = std::move(loaded);
            ready_to_start();
          },
          [this](const Error& err) {
            log::error("client", "reading local state failed: {}", err.what);
            self_->quit(err);
          });
  fingerprint();
}

void ClientState::fingerprint() {
  auto options = options_.fingerprint;
  options.alloc_dir = options_.alloc_dir;
  std::vector<host::NamedFingerprinter> selected;
  for (const auto& each : parts_.registry->fingerprinters)
    if (is_allowed(options_, "fingerprint", each.name)) selected.push_back(each);
  self_
      ->request(parts_.steps, start_timeout,
                step::make([options, selected] { return host::fingerprint(options, selected); }))
      .then(
          [this](step::Outcome& outcome) {
            facts_ = std::move(outcome.as<host::NodeFacts>());
            stats_ = parts_.make_stats(self_->system(),
                                       {.alloc_dir = options_.alloc_dir,
                                        .total_compute_mhz = facts_->cpu_total_compute,
                                        .cores = facts_->cpu_cores});
            spawn_drivers();
          },
          [this](const Error& err) {
            log::error("client", "fingerprinting failed: {}", err.what);
            self_->quit(err);
          });
}

Driver ClientState::spawn_driver(const std::string& name) {
  const auto config = options_.drivers.find(name);
  auto driver = parts_.registry->drivers.at(name).spawn(
      self_->system(),
      {.state_dir = options_.state_dir,
       .executor_path = options_.executor_path,
       .cgroup_parent = options_.cgroup_parent,
       .stats = stats_,
       .unix_now = options_.unix_now,
       .config
       = config == options_.drivers.end() ? std::map<std::string, std::string>{} : config->second});
  self_->monitor(driver);
  return driver;
}

void ClientState::spawn_drivers() {
  for (const auto& [name, entry] : parts_.registry->drivers)
    if (is_allowed(options_, "driver", name)) drivers_.emplace(name, spawn_driver(name));
  ask_drivers();
  ready_to_start();
}

void ClientState::ask_drivers() {
  for (const auto& [name, driver] : drivers_) {
    ++drivers_asked_;
    const auto take = [this, name = name](driver::Health health) {
      --drivers_asked_;
      auto& known = driver_health_[name];
      const bool changed = known.detected != health.detected || known.healthy != health.healthy
                           || known.description != health.description;
      known = std::move(health);
      if (!started_)
        ready_to_start();
      else if (changed)
        node_changed();
    };
    self_->request(driver, start_timeout, driver::Fingerprint{})
        .then([take](driver::Health& health) { take(std::move(health)); },
              [take](const Error& err) {
                take({.detected = false,
                      .healthy = false,
                      .description = "failed to fingerprint driver: " + err.what,
                      .attributes = {}});
              });
  }
}

/// Goes on when the machine, its drivers and the saved state are known.
void ClientState::ready_to_start() {
  if (started_ || !loaded_ || !facts_ || drivers_asked_ > 0 || stopping_) return;
  started_ = true;
  take_identity();
}

void ClientState::take_identity() {
  identity_ = {.id = loaded_->node_id, .secret = loaded_->secret_id};
  if (!identity_.id.empty()) {
    take_up();
    return;
  }
  identity_ = {.id = make_uuid(random_), .secret = make_uuid(random_)};
  storage::ClientBatch batch;
  client_db::put_identity(batch, identity_.id, identity_.secret);
  self_->request(parts_.db, start_timeout, client_db::Save{std::move(batch)})
      .then([this](const client_db::Committed&) { take_up(); },
            [this](const Error& err) {
              log::error("client", "saving the node's id failed: {}", err.what);
              self_->quit(err);
            });
}

void ClientState::take_up() {
  sync_ = spawn_alloc_sync(self_->system(), {.node_id = identity_.id,
                                             .servers = parts_.servers,
                                             .db = parts_.db,
                                             .parent = self_,
                                             .timing = options_.sync,
                                             .seed = random_.next()});
  self_->monitor(sync_);
  node_ = build_node(options_, identity_, *facts_, driver_health_, options_.unix_now());
  make_context();

  auto loaded = std::move(*loaded_);
  loaded_ = client_db::Loaded{};
  storage::ClientBatch batch;
  for (const auto& key : loaded.unused_jobs)
    client_db::erase_job(batch, key);
  storage::ClientBatch saved_already;
  for (const auto& saved : loaded.allocs)
    hold_job(saved.job, saved_already);  // All first: one that goes must not take another's job.
  for (auto& saved : loaded.allocs)
    restore(saved);
  self_->send(parts_.db, client_db::SaveLater{std::move(batch)});
  for (const auto& [id, alloc] : allocs_)
    if (alloc.runner) self_->send(alloc.runner, alloc_runner::Begin{});
  log::info("client", "node {} starts with {} saved allocations", identity_.id, allocs_.size());

  heartbeat_stop_ = workload::HeartbeatStop{now()};
  for (const auto& [id, alloc] : allocs_)
    if (alloc.runner) watch_patience(id);
  register_node();
  actor::send_self_after(self_, driver_interval, LookAround{});
}

void ClientState::make_context() {
  auto context = std::make_shared<ClientContext>();
  context->node_id = identity_.id;
  context->region = options_.region;
  context->datacenter = options_.datacenter;
  context->cgroup_parent = options_.cgroup_parent;
  context->alloc_dir = options_.alloc_dir;
  context->node = workload::node_variables(*node_, options_.region);
  const auto denied = options_.options.find("env.denylist");
  context->host_env = host_environment(
      denied == options_.options.end() ? default_denied_environment() : split_list(denied->second));
  context->max_kill_timeout = options_.max_kill_timeout;
  context->registry = parts_.registry;
  context->task_hooks
      = std::make_shared<const workload::TaskHooks>(task_hook_traits(*parts_.registry));
  context->drivers = drivers_;
  context->db = parts_.db;
  context->sync = sync_;
  context->steps = parts_.steps;
  context->unix_now = options_.unix_now;
  context->seed = random_.next();
  context_ = std::move(context);
}

// -- looking around -------------------------------------------------------------------------------

void ClientState::look_around() {
  if (stopping_) return;
  actor::send_self_after(self_, driver_interval, LookAround{});
  if (drivers_asked_ == 0) ask_drivers();
  if (gc_.marked() == 0) return;
  self_
      ->request(parts_.steps, start_timeout, step::make([directory = options_.alloc_dir] {
                  return host::disk_usage(directory);
                }))
      .then(
          [this](step::Outcome& outcome) {
            const auto usage = outcome.as<host::DiskUsage>();
            disk_.disk_used_percent = usage.used_percent;
            disk_.inodes_used_percent = usage.inodes_used_percent;
            collect();
          },
          [](const Error& err) { log::warn("client", "reading disk usage failed: {}", err.what); });
}

// -- children and the end ------------------------------------------------------------------------

void ClientState::child_down(const actor::Down& down) {
  if (const auto found = runners_.find(down.source); found != runners_.end()) {
    const auto alloc_id = found->second;
    runners_.erase(found);
    if (down.crashed && !stopping_) runner_crashed(alloc_id, down.reason);
    return;
  }
  for (auto& [driver_name, driver] : drivers_) {
    if (driver.address() != down.source || stopping_) continue;
    log::error("client", "driver {} ended ({}); starting another", driver_name, down.reason.what);
    driver = spawn_driver(driver_name);
    make_context();
    for (const auto& [id, alloc] : allocs_)
      if (alloc.runner)
        self_->send(alloc.runner, alloc_runner::DriverReplaced{driver_name, driver});
    if (!started_) ask_drivers();
    return;
  }
  if (down.source == sync_.address() && !stopping_) {
    // Without it no server hears of anything: end, so that the agent notices.
    log::error("client", "alloc_sync ended: {}", down.reason.what);
    self_->quit(Error{Errc::internal, "alloc_sync ended"});
  }
}

actor::Answer<client_actor::Stopped> ClientState::stop() {
  if (stopping_) return Error{Errc::conflict, "the client is stopping already"};
  stopping_ = true;
  stop_promise_ = self_->make_response_promise<client_actor::Stopped>();
  const auto one_less = [this] {
    if (--stops_awaited_ == 0) finish_stop();
  };
  stops_awaited_ = 1;
  for (auto& [id, alloc] : allocs_) {
    if (!alloc.runner) continue;
    ++stops_awaited_;
    const auto gone = [one_less](const alloc_runner::Done&) { one_less(); };
    const auto failed = [one_less](const Error&) { one_less(); };
    if (options_.dev)
      self_->request(alloc.runner, 10min, alloc_runner::Destroy{}).then(gone, failed);
    else
      self_->request(alloc.runner, 15s, alloc_runner::Detach{}).then(gone, failed);
  }
  auto answer = stop_promise_;
  one_less();
  return answer;
}

void ClientState::finish_stop() {
  const auto end = [this] {
    stop_promise_.deliver(client_actor::Stopped{});
    self_->quit();
  };
  self_->request(parts_.db, start_timeout, client_db::Save{})
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

client_api::LocalNode ClientState::local_node() const {
  return {.node = node_, .last_heartbeat = last_heartbeat_, .heartbeat_ttl = ttl_};
}

namespace {

ClientSelf::behavior_type client_node(ClientSelf::stateful_pointer<ClientState> self,
                                      ClientOptions options,
                                      ClientParts parts) {
  actor::on_down(self, [self](const actor::Down& down) { self->state.child_down(down); });
  self->state.init(std::move(options), std::move(parts));
  return {
      [self](client_api::RestartTask& msg) { return self->state.pass_on<client_api::Done>(msg); },
      [self](client_api::SignalTask& msg) { return self->state.pass_on<client_api::Done>(msg); },
      [self](const client_api::CollectGarbage& msg) { return self->state.collect_garbage(msg); },
      [self](client_api::AllocStats& msg) {
        return self->state.pass_on<client_api::AllocUsage>(msg);
      },
      [self](client_api::HostStats) { return self->state.host_stats(); },
      [self](client_api::AllocDirOf& msg) {
        return self->state.pass_on<client_api::AllocDir>(msg);
      },
      [self](client_api::Exec& msg) { return self->state.exec(msg); },
      [self](client_api::GetNode) { return self->state.local_node(); },
      [self](client_api::CountAllocs) { return self->state.counts(); },
      [self](client_actor::Stop) { return self->state.stop(); },
      [self](const alloc_runner::Status& msg) { self->state.status_changed(msg); },
      [self](sync::Reported) { self->state.reported(); },
      [self](StopLook msg) { self->state.stop_look(msg.round); },
      [self](RegisterDue msg) { self->state.register_due(msg.round); },
      [self](HeartbeatDue msg) { self->state.heartbeat_due(msg.round); },
      [self](WatchDue) { self->state.watch(); },
      [self](LookAround) { self->state.look_around(); },
  };
}

}  // namespace
}  // namespace detail

Client spawn_client(actor::System& system, ClientOptions options, ClientParts parts) {
  return actor::spawn(system, detail::client_node, std::move(options), std::move(parts));
}

Result<ClientNode> ClientNode::start(actor::System& system,
                                     ClientOptions options,
                                     ServerLink servers,
                                     Registry registry) {
  ClientNode node;
  if (options.dev) {
    node.db_ = spawn_forgetful_client_db(system);
  } else {
    auto db = open_client_db(system, options.state_dir + "/state.db");
    if (!db) return db.error();
    node.db_ = std::move(*db);
  }
  node.steps_ = spawn_step_runner(system, 2);
  node.client_ = spawn_client(system, std::move(options),
                              {.servers = std::move(servers),
                               .db = node.db_,
                               .steps = node.steps_,
                               .registry = std::make_shared<const Registry>(std::move(registry))});
  return node;
}

void ClientNode::stop_parts() {
  actor::stop(client_);
  actor::stop(steps_);
  actor::stop(db_);
  client_ = Client{};
  steps_ = StepRunner{};
  db_ = ClientDb{};
}

}  // namespace nomad::client
