// ClientFixture: a client node on one thread under a virtual clock, with servers that do what the
// test says and mock tasks. Also builders for jobs and allocations with good defaults.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <caf/send.hpp>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "actors/client/client.hpp"
#include "actors/core/caf_bridge.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/security/variable_items.hpp"
#include "test/support/actor_fixture.hpp"
#include "test/support/door.hpp"
#include "test/support/temp_dir.hpp"

namespace nomad::test {

using namespace std::chrono_literals;

struct TaskSpec {
  std::string name = "web";
  std::string config = R"({"run_for":"1h"})";
  std::string hook = {};
  bool sidecar = false;
  bool leader = false;
  Nanoseconds kill_timeout = 5s;
  Nanoseconds shutdown_delay = 0s;
  std::string driver = "mock_driver";
  std::string schedule_start = {};  ///< "": it has no schedule. In UTC.
  std::string schedule_end = {};
};

struct JobSpec {
  std::string id = "job";
  std::string type = "service";
  std::vector<TaskSpec> tasks = {{}};
  std::int64_t restart_attempts = 2;
  Nanoseconds restart_delay = 15s;
  std::uint64_t version = 0;
  std::optional<Nanoseconds> min_healthy_time = std::nullopt;
  std::optional<Nanoseconds> stop_after_disconnect = std::nullopt;
};

inline Object<schema::Job> make_job(const JobSpec& spec) {
  Draft<schema::Job> draft;
  draft->setId(text(spec.id));
  draft->setName(text(spec.id));
  draft->setNamespace("default");
  draft->setType(text(spec.type));
  draft->setVersion(spec.version);
  draft->setCreateIndex(1);
  auto group = draft->initTaskGroups(1)[0];
  group.setName("group");
  group.setCount(1);
  auto restart = group.initRestartPolicy();
  restart.setAttempts(spec.restart_attempts);
  restart.setInterval(std::chrono::nanoseconds{30min}.count());
  restart.setDelay(spec.restart_delay.count());
  restart.setMode("fail");
  if (spec.stop_after_disconnect)
    group.getStopAfterClientDisconnect().setValue(spec.stop_after_disconnect->count());
  if (spec.min_healthy_time) {
    auto update = group.initUpdate();
    update.setMinHealthyTime(spec.min_healthy_time->count());
    update.setHealthyDeadline(std::chrono::nanoseconds{5min}.count());
    update.setHealthCheck("task_states");
  }
  auto tasks = group.initTasks(spec.tasks.size());
  for (unsigned i = 0; i < tasks.size(); ++i) {
    const auto& from = spec.tasks[i];
    tasks[i].setName(text(from.name));
    tasks[i].setDriver(text(from.driver));
    tasks[i].setConfig(text(from.config));
    tasks[i].setLeader(from.leader);
    tasks[i].setKillTimeout(from.kill_timeout.count());
    tasks[i].setShutdownDelay(from.shutdown_delay.count());
    if (!from.schedule_start.empty()) {
      auto cron = tasks[i].initSchedule().initCron();
      cron.setStart(text(from.schedule_start));
      cron.setEnd(text(from.schedule_end));
      cron.setTimezone("UTC");
    }
    if (!from.hook.empty()) {
      auto lifecycle = tasks[i].initLifecycle();
      lifecycle.setHook(text(from.hook));
      lifecycle.setSidecar(from.sidecar);
    }
  }
  return draft.freeze();
}

inline std::string alloc_id(int number) {
  return fmt::format("{:08x}-1111-2222-3333-444444444444", number);
}

inline Object<schema::Allocation> make_alloc(const Object<schema::Job>& job,
                                             int number,
                                             std::uint64_t index = 1) {
  Draft<schema::Allocation> draft;
  draft->setId(text(alloc_id(number)));
  draft->setNamespace("default");
  draft->setName(text(fmt::format("{}.group[{}]", view(job->getId()), number)));
  draft->setJobId(job->getId());
  draft->setJobVersion(job->getVersion());
  draft->setJobCreateIndex(job->getCreateIndex());
  draft->setTaskGroup("group");
  draft->setDesiredStatus(schema::DesiredStatus::RUN);
  draft->setAllocModifyIndex(index);
  const auto group = job->getTaskGroups()[0];
  auto tasks = draft->initAllocatedResources().initTasks(group.getTasks().size());
  for (unsigned i = 0; i < tasks.size(); ++i) {
    tasks[i].setKey(group.getTasks()[i].getName());
    tasks[i].initValue().initCpu().setCpuShares(100);
    tasks[i].getValue().initMemory().setMemoryMb(64);
  }
  return draft.freeze();
}

/// A changed copy of `alloc` with AllocModifyIndex `index`.
template <class Change>
Object<schema::Allocation> changed(const Object<schema::Allocation>& alloc,
                                   std::uint64_t index,
                                   Change change) {
  Draft<schema::Allocation> draft{alloc};
  draft->setAllocModifyIndex(index);
  change(*draft);
  return draft.freeze();
}

/// Makes the servers of the fixture answer what they hold.
struct Push {
  using is_message = void;
};

using FakeServers = actor::WithInternal<NodeDoor, void(Push)>;

struct ClientFixture : ActorFixture {
  // What the servers do and have heard.
  std::vector<AssignedAlloc> assigned;
  std::uint64_t index = 1;
  std::optional<Error> refusal;  ///< Of updateAllocs.
  std::optional<Error> heartbeat_refusal;
  std::optional<Error> register_refusal;
  bool holds_registrations = false;  ///< They answer them when they are pushed.
  actor::Promise<door::Reply> held_registration;
  bool gave_up = false;       ///< They take no report before a heartbeat, and wait for one then.
  bool was_heard_of = false;  ///< Since they gave up.
  std::string heard_order;    ///< r, h, u: what was accepted, in its order.
  int registrations = 0;
  int heartbeats = 0;
  int watches = 0;
  std::vector<std::size_t> batches;  ///< Sizes of the updateAllocs that were accepted.
  std::map<std::string, Object<schema::Allocation>> heard;
  std::uint64_t report_number = 0;        ///< Of the last one that was accepted.
  std::optional<Error> services_refusal;  ///< Of registerServices.
  std::map<std::string, Object<schema::ServiceRegistration>> services;  ///< Registered, by id.
  /// What they say to awaitPrevious; unset: nothing, until `end_previous`.
  std::optional<Result<Previous>> previous = Previous{.ended = true};
  std::vector<std::string> previous_asked;  ///< Allocations that awaitPrevious has named.
  actor::Promise<door::Reply> held_previous;
  std::optional<Previous> news_of_previous;  ///< For who is held.
  /// What services and variables there are; the digest of what is not here is 1.
  std::map<templates::ClusterQuery, NodeData> data;
  std::optional<Error> data_refusal;
  int data_questions = 0;
  /// Held questions, with the digests that they know.
  std::map<templates::ClusterQuery, std::pair<std::uint64_t, actor::Promise<door::Reply>>>
      held_data;
  std::vector<std::size_t> identity_questions;  ///< How many identities each was about.
  Nanoseconds identity_life{};                  ///< 0: they have no end.
  Nanoseconds wall_moved{};                     ///< By so much the wall clock was set.
  std::string identity_refusal;                 ///< Of each; "": there is none.
  std::optional<Error> signing_failure;
  Object<schema::Node> node;
  std::vector<std::string> node_events;  ///< "Driver: Healthy"
  std::shared_ptr<telemetry::Registry> task_metrics;
  std::function<Result<>(const std::string&, const std::string&)> share_cpus;

  FakeServers servers;
  std::shared_ptr<std::optional<actor::Promise<door::Reply>>> held
      = std::make_shared<std::optional<actor::Promise<door::Reply>>>();
  std::uint64_t held_index = 0;

  TempDir dir;
  std::shared_ptr<storage::ClientStore> store;
  client::Client client;
  std::map<std::string, client::AllocRunner> runners;  ///< The newest of each allocation.

  ClientFixture() { servers = adopt(spawn_servers()); }

  ~ClientFixture() {
    actor::kill(client);
    settle();
    held->reset();
    held_registration = {};
    held_previous = {};
    held_data.clear();
  }

  std::int64_t unix_now() {
    return 1'700'000'000'000'000'000 + now().time_since_epoch().count() + wall_moved.count();
  }

  FakeServers spawn_servers() {
    return actor::spawn(system(), [this](FakeServers::pointer self) -> FakeServers::behavior_type {
      return {[this, self](const door::Ask& msg) { return hear(self, msg); },
              [this](Push) {
                if (const auto news = std::exchange(news_of_previous, {}))
                  held_previous.deliver(to_reply(*news));
                answer_held();
              }};
    });
  }

  actor::Answer<door::Reply> hear(FakeServers::pointer self, const door::Ask& msg) {
    switch (msg->which()) {
      case door::Question::REGISTER:
        return hear_registration(self, msg);
      case door::Question::HEARTBEAT:
        return hear_heartbeat();
      case door::Question::WATCH_ALLOCS:
        return hear_watch(self, msg);
      case door::Question::UPDATE_ALLOCS:
        return hear_update(msg);
      case door::Question::REGISTER_SERVICES:
        return hear_services(msg);
      case door::Question::DEREGISTER_SERVICES:
        return hear_deregistration(msg);
      case door::Question::EMIT_EVENTS:
        return hear_events(msg);
      case door::Question::DRAIN:
        return Error{Errc::unavailable, "these servers drain nothing"};
      case door::Question::AWAIT_PREVIOUS:
        return tell_of_previous(self, msg);
      case door::Question::WATCH_DATA:
        return tell_of_data(self, msg);
      case door::Question::SIGN_IDENTITIES:
        return sign_identities(msg);
      case door::Question::CLAIM_VOLUME:
      case door::Question::UNPUBLISH_VOLUME:
        return Error{Errc::not_found, "these servers have no volumes"};
    }
    return Error{Errc::not_found, "an unknown question"};
  }

  actor::Answer<door::Reply> hear_registration(FakeServers::pointer self, const door::Ask& msg) {
    ++registrations;
    if (holds_registrations) {
      held_registration = self->make_response_promise<door::Reply>();
      return held_registration;
    }
    if (register_refusal) return *register_refusal;
    heard_order += 'r';
    node = msg.rows.at(0).as<schema::Node>().value();
    return to_reply(Lease{10s});
  }

  actor::Answer<door::Reply> hear_heartbeat() {
    ++heartbeats;
    if (heartbeat_refusal) return *heartbeat_refusal;
    heard_order += 'h';
    was_heard_of = true;
    return to_reply(Lease{.ttl = 10s, .awaits_reports = gave_up});
  }

  actor::Answer<door::Reply> hear_watch(FakeServers::pointer self, const door::Ask& msg) {
    ++watches;
    auto promise = self->make_response_promise<door::Reply>();
    *held = promise;
    held_index = msg->getWatchAllocs();
    if (held_index == 0) answer_held();
    return promise;
  }

  actor::Answer<door::Reply> hear_update(const door::Ask& msg) {
    if (refusal) return *refusal;
    if (gave_up && !was_heard_of) return Error{Errc::conflict, "not allowed to update allocs"};
    gave_up = false;
    heard_order += 'u';
    batches.push_back(msg.rows.size());
    report_number = msg->getUpdateAllocs();
    const auto allocs = door::objects_of<schema::Allocation>(msg.rows);
    for (const auto& alloc : *allocs)
      heard[std::string{alloc->id()}] = alloc;
    return door::done(++index);
  }

  actor::Answer<door::Reply> hear_services(const door::Ask& msg) {
    if (services_refusal) return *services_refusal;
    const auto registered = door::objects_of<schema::ServiceRegistration>(msg.rows);
    for (const auto& service : *registered)
      services[copy(service->getId())] = service;
    return door::done(++index);
  }

  actor::Answer<door::Reply> hear_deregistration(const door::Ask& msg) {
    const auto gone = msg->getDeregisterServices();
    const auto ids = texts_of(gone.getIds());
    std::erase_if(services, [&](const auto& entry) {
      return view(entry.second->getAllocId()) == view(gone.getAllocId())
             && (ids.empty() || std::ranges::count(ids, entry.first) > 0);
    });
    return door::done(++index);
  }

  actor::Answer<door::Reply> hear_events(const door::Ask& msg) {
    if (refusal) return *refusal;
    const auto events = door::objects_of<schema::NodeEvent>(msg.rows);
    for (const auto& event : *events)
      node_events.push_back(copy(event->getSubsystem()) + ": " + copy(event->getMessage()));
    return door::done(++index);
  }

  actor::Answer<door::Reply> tell_of_previous(FakeServers::pointer self, const door::Ask& msg) {
    previous_asked.push_back(copy(msg->getAwaitPrevious()));
    if (previous && !*previous) return previous->error();
    if (previous) return to_reply(**previous);
    held_previous = self->make_response_promise<door::Reply>();
    return held_previous;
  }

  /// Answers the awaitPrevious that is held.
  void end_previous(Previous news) {
    news_of_previous = std::move(news);
    push();
    settle();
  }

  actor::Answer<door::Reply> tell_of_data(FakeServers::pointer self, const door::Ask& msg) {
    ++data_questions;
    if (data_refusal) return *data_refusal;
    const auto query = query_of(msg);
    const auto known = msg->getWatchData().getKnown();
    auto& there = data[query];
    if (there.digest == 0) there.digest = 1;
    if (there.digest != known) return to_reply(there);
    auto promise = self->make_response_promise<door::Reply>();
    held_data.insert_or_assign(query, std::pair{known, promise});
    return promise;
  }

  /// The token says what it is of, and how many have been made: "job/web/db #7".
  actor::Answer<door::Reply> sign_identities(const door::Ask& msg) {
    const auto wanted = msg->getSignIdentities();
    identity_questions.push_back(wanted.size());
    if (signing_failure) return *signing_failure;
    return door::make_reply(++index, [&](auto& reply) {
      auto list = reply.initIdentities(wanted.size());
      for (unsigned i = 0; i < wanted.size(); ++i) {
        list[i].setRefused(text(identity_refusal));
        if (!identity_refusal.empty()) continue;
        list[i].setToken(text(fmt::format("{}/{} #{}", view(wanted[i].getTask()),
                                          view(wanted[i].getName()), identity_questions.size())));
        list[i].setIssuedAt(unix_now());
        if (identity_life.count() > 0) list[i].setExpiresAt(unix_now() + identity_life.count());
      }
    });
  }

  void answer_data() {
    for (auto at = held_data.begin(); at != held_data.end();) {
      const auto& there = data[at->first];
      const auto [known, promise] = at->second;
      if (there.digest == known && !data_refusal) {
        ++at;
        continue;
      }
      at = held_data.erase(at);
      if (data_refusal)
        promise.deliver(*data_refusal);
      else
        promise.deliver(to_reply(there));
    }
  }

  /// Variable `path` of the default namespace has these items from now on.
  void set_variable(const std::string& path, const security::Items& items) {
    auto& there = data[{
        .kind = templates::ClusterQuery::Kind::variable, .name_space = "default", .name = path}];
    Draft<schema::Variable> draft;
    draft->setNamespace("default");
    draft->setPath(text(path));
    there.variables = {draft.freeze()};
    there.items = std::make_shared<const security::Secret>(security::encode_items(items));
    there.digest = ++index + 1;
    push();
    settle();
  }

  /// They have not heard from the client for too long.
  void give_up() {
    gave_up = true;
    was_heard_of = false;
  }

  /// Answers the client's question with all that the node should have.
  void push() { tell(servers, Push{}); }

  void answer_held() {
    answer_data();
    if (held_registration.pending())
      std::exchange(held_registration, {}).deliver(to_reply(Lease{10s}));
    if (!*held) return;
    auto promise = **held;
    held->reset();
    promise.deliver(to_reply(AssignedAllocs{++index, true, assigned}));
  }

  /// The plugins of the tests: the real one, with a machine that is made up.
  virtual client::PluginCatalog plugins() {
    auto made = client::builtin_plugins(true);
    // Others look for engines and virtual machines on the machine that the tests run on.
    std::erase_if(made.drivers, [](const auto& driver) {
      return driver.first != "mock_driver" && driver.first != "raw_exec";
    });
    made.fingerprinters = {{"test", [](const host::FingerprintOptions&, host::NodeFacts& facts) {
                              facts.attributes["kernel.name"] = "linux";
                              facts.cpu_total_compute = 1000;
                              facts.cpu_cores = 1;
                              facts.memory_mb = 1000;
                              return Result<>{};
                            }}};
    made.builtin_hooks = [real = made.builtin_hooks](const client::HookParts& parts) {
      auto hooks = real(parts);
      for (auto& hook : hooks.of_tasks)
        if (hook.name == "task_dir") hook.spawn = without_mounts(hook.spawn);
      return hooks;
    };
    return made;
  }

  /// Tests mount nothing.
  static client::SpawnHook without_mounts(const client::SpawnHook& real) {
    return [real](const actor::Owner& owner, const client::PluginAgent& agent,
                  client::HookScope scope) {
      Draft<schema::plugin::HookTarget> target{*scope.target};
      target->getDriver().setSecretsInMemory(false);
      scope.target = target.freeze();
      return real(owner, agent, scope);
    };
  }

  client::ClientOptions options() {
    client::ClientOptions made;
    made.state_dir = dir.file("state");
    made.alloc_dir = dir.file("allocs");
    made.node_name = "test";
    made.unix_now = [this] { return unix_now(); };
    made.seed = 7;
    return made;
  }

  client::BlockingPool steps = adopt(client::spawn_inline_blocking_pool(system()));

  /// What was found before the client's start; null: nothing.
  std::shared_ptr<const std::vector<host::NodeFacts>> first_look;

  /// Starts a client; with `durable`, over the state that an earlier one of the test left.
  void start(bool durable = false, std::optional<client::ClientOptions> with = std::nullopt) {
    std::filesystem::create_directories(dir.file("allocs"));
    if (durable && !store) {
      auto opened = storage::ClientStore::open(dir.file("state.db"));
      REQUIRE(opened.has_value());
      store = std::make_shared<storage::ClientStore>(std::move(*opened));
    }
    auto db = adopt(durable ? client::spawn_client_db_inline(system(), store)
                            : client::spawn_forgetful_client_db(system()));
    client = client::spawn_client(
        system(), with ? *with : options(),
        {.servers = servers,
         .db = db,
         .steps = steps,
         .make_usage_reader =
             [this](const actor::Owner&, const client::UsageReaderOptions&) {
               return adopt(actor::spawn(
                   system(),
                   [](client::UsageReader::pointer) -> client::UsageReader::behavior_type {
                     return {
                         [](client::usage::ReadHost) { return client::client_api::HostUsage{}; },
                         [](const client::usage::ReadTasks&) {
                           return client::usage::TaskUsages{};
                         },
                         [](const client::usage::ForgetTask&) {}};
                   }));
             },
         .make_runner =
             [this](const actor::Owner& owner,
                    const std::shared_ptr<const client::AllocParts>& parts,
                    client::AllocSetup setup) {
               auto& runner = runners[std::string{setup.alloc->id()}];
               runner = client::spawn_alloc_runner(owner, parts, std::move(setup));
               return runner;
             },
         .plugins = std::make_shared<const client::PluginCatalog>(plugins()),
         .share_cpus = share_cpus,
         .task_metrics = task_metrics,
         .first_look = first_look});
    settle();
  }

  /// kill -9 of the agent: nothing of it is left but what is on disk.
  void crash() {
    actor::kill(client);
    client = client::Client{};
    held->reset();
    settle();
  }

  /// A bug in the runner of this allocation ends it.
  void crash_runner(int number) {
    caf::anon_send_exit(actor::as_caf(runners.at(alloc_id(number)).ref()),
                        caf::exit_reason::unhandled_exception);
    settle();
  }

  /// Lets `count` messages be handled, no more.
  void run_steps(int count) {
    while (count-- > 0 && run_one_message())
      continue;
  }

  /// The servers want this allocation here.
  void assign(const Object<schema::Allocation>& alloc, const Object<schema::Job>& job) {
    for (auto& known : assigned)
      if (known.alloc->id() == alloc->id()) {
        known = {alloc, job};
        push();
        settle();
        return;
      }
    assigned.push_back({alloc, job});
    push();
    settle();
  }

  void stop_alloc(int number, std::uint64_t at_index) {
    for (auto& known : assigned)
      if (known.alloc->id() == alloc_id(number))
        known.alloc = changed(known.alloc, at_index, [](auto& draft) {
          draft.setDesiredStatus(schema::DesiredStatus::STOP);
        });
    push();
    settle();
  }

  /// The servers forget the allocation.
  void forget(int number) {
    std::erase_if(assigned,
                  [number](const auto& known) { return known.alloc->id() == alloc_id(number); });
    push();
    settle();
  }

  schema::ClientStatus status(int number) {
    const auto found = heard.find(alloc_id(number));
    REQUIRE(found != heard.end());
    return found->second->client_status();
  }

  schema::TaskState::Reader task(int number, std::string_view name = "web") {
    const auto found = heard.find(alloc_id(number));
    REQUIRE(found != heard.end());
    for (const auto entry : found->second->task_states())
      if (view(entry.getKey()) == name) return entry.getValue();
    FAIL("no state of task ", name);
    return {};
  }

  std::vector<std::string> events(int number, std::string_view name = "web") {
    std::vector<std::string> types;
    for (const auto event : task(number, name).getEvents())
      types.push_back(copy(event.getType()));
    return types;
  }
};

}  // namespace nomad::test
