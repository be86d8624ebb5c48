#include "test/unit/actors/api/api_fixture.hpp"

#include <array>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "actors/core/supervise.hpp"
#include "actors/roles/node_replies.hpp"
#include "runtime/object/entries.hpp"

namespace nomad::api {
namespace {

namespace ca = client::client_api;

/// The refusal that the test asked for, or `reply`.
template <class Reply>
actor::Answer<Reply> answer(Played& played, Reply reply) {
  if (played.refusal) return *played.refusal;
  return reply;
}

struct Nameless {
  static constexpr const char* name = "played";
};

/// The reply, if the allocation is the one this client runs, and the caller may ask.
template <class Reply>
actor::Answer<Reply> if_own(Played& played,
                            const std::string& alloc,
                            const access::Asking& asking,
                            Reply reply) {
  if (alloc != own_alloc) return Error{Errc::not_found, "Unknown allocation \"" + alloc + '"'};
  NOMAD_TRY(access::authorize(asking, {played.alloc_ns}));
  return answer(played, std::move(reply));
}

ca::AllocUsage usage() {
  ca::AllocUsage all;
  ca::TaskUsage task;
  task.memory.rss = 4096;
  task.memory.measured = {"RSS"};
  task.cpu.percent = 1.5;
  task.timestamp = 77;
  task.processes.push_back({7, task.memory, task.cpu});
  all.tasks.emplace_back("server", task);
  return all;
}

/// Of a node with one task.
ca::ClientMetrics metrics(bool of_tasks) {
  Draft<schema::Node> node;
  node->setId(text(own_node));
  node->setDatacenter("dc1");
  node->setNodePool("default");
  node->initNodeResources().initMemory().setMemoryMb(1000);
  node->initReservedResources().initMemory().setMemoryMb(100);
  ca::ClientMetrics metrics{.node = node.freeze(),
                            .counts = {1, 2, 3},
                            .allocated = {.memory_mb = 64},
                            .host = ca::HostUsage{},
                            .tasks = {}};
  metrics.host->memory.total = 1 << 20;
  if (of_tasks)
    metrics.tasks.push_back({.labels = {{"alloc_id", own_alloc}, {"task", "server"}},
                             .allocated = {.cpu_mhz = 100, .memory_mb = 64},
                             .usage = usage().tasks.front().second});
  return metrics;
}

/// Of a node that had `zone`, and what it is told.
door::NodeReply meta(const door::NodeAsk& asked) {
  return door::make_node_reply([&](auto& reply) {
    auto meta = reply.initMeta();
    if (asked->isApplyMeta()) return meta.setDynamic(asked->getApplyMeta());
    fill_entries(meta.initMerged(1), {{"rack", "r2"}});
    fill_entries(meta.initFixed(1), {{"zone", "a"}});
    auto dynamic = meta.initDynamic(2);
    dynamic[0].setKey("rack");
    dynamic[0].setValue("r2");
    dynamic[1].setKey("zone");
    dynamic[1].setUnset(true);
  });
}

ca::HostUsage host_usage() {
  ca::HostUsage host;
  host.memory.total = 1 << 20;
  host.cpu.push_back({"cpu0", 1, 2, 97, 3});
  host.disks.push_back({"/dev/x", "/", 100, 40, 60, 40.5, 1});
  return host;
}

/// Of one task or, without a name, of the machine.
door::NodeReply history(std::string_view task) {
  return door::make_node_reply([&](auto& reply) {
    auto one = reply.initUsageHistory(1)[0];
    one.setTask(text(task));
    auto series = one.initSeries(1)[0];
    series.setInterval(10);
    series.setEnd(1'700'000'010);
    const std::array<float, 2> cpu{12.34F, -1};
    const std::array<float, 2> memory{5e7F, -1};
    const std::array<float, 2> network{-1, -1};
    series.setCpu(kj::arrayPtr(cpu.data(), cpu.size()));
    series.setMemory(kj::arrayPtr(memory.data(), memory.size()));
    series.setNetwork(kj::arrayPtr(network.data(), network.size()));
    one.setP95Cpu(12.5);
    one.setP95Memory(43'000'000);
    one.setP95Seconds(21'600);
    if (task.empty()) return;
    one.setRestarts(2);
    const std::array<std::int64_t, 1> restarts{77};
    one.setRestartTimes(kj::arrayPtr(restarts.data(), restarts.size()));
    one.setReservedCpu(100);
    one.setReservedMemory(300);
    auto advice = one.initAdvice(1)[0];
    advice.setResource("memory");
    advice.setUnit("MiB");
    advice.setReserved(300);
    advice.setUsed(41);
    advice.setSuggested(50);
    advice.setText("reserve less");
  });
}

actor::Answer<door::NodeReply> answer_of(Played& played, const door::NodeAsk& asked) {
  if (asked->isCsiController() || asked->isCsiNode()) {
    if (!played.volumes) return Error{Errc::not_found, "no such plugin"};
    auto said = played.volumes(asked);
    if (!said) return said.error();
    return *std::move(said);
  }
  if (asked->isReadMeta() || asked->isApplyMeta()) return meta(asked);
  if (asked->isReadHostUsage()) return client::usage_reply(host_usage());
  if (asked->isReadHostUsageHistory()) return history({});
  const auto alloc = asked->isCollectGarbage() ? own_alloc : copy(asked->getAllocId());
  auto reply = door::node_done();
  if (asked->isReadAllocUsage())
    reply = client::usage_reply(played.task_started ? usage() : ca::AllocUsage{});
  if (asked->isReadUsageHistory()) reply = history("server");
  if (asked->isReadPause())
    reply = door::make_node_reply(
        [](auto& out) { out.setScheduleState(schema::TaskScheduleState::SCHEDULED_PAUSE); });
  if (asked->isReadChecks()) reply = client::checks_reply(played.checks);
  if (asked->isReadIdentities()) reply = client::identities_reply(played.identities);
  return if_own(played, alloc, door::asking(asked), std::move(reply));
}

client::ClientApi::behavior_type play_client(client::ClientApi::stateful_pointer<Nameless>,
                                             std::shared_ptr<Played> p) {
  return {
      [p](const ca::Exec& m) -> actor::Answer<ca::ExecStarted> {
        NOMAD_TRY(access::authorize(m.asking, {p->alloc_ns}));
        const std::lock_guard lock{p->guard};
        p->executed.push_back(m);
        auto session = p->start_session();
        if (!session) return session.error();
        return ca::ExecStarted{std::move(*session)};
      },
      [p](const ca::MayExec& m) -> actor::Answer<ca::ExecAllowed> {
        NOMAD_TRY(access::authorize(m.who, access::Capability::alloc_exec, {p->alloc_ns}));
        return ca::ExecAllowed{};
      },
      [p](const door::NodeAsk& m) -> actor::Answer<door::NodeReply> {
        {
          const std::lock_guard lock{p->guard};
          p->asked.push_back(m);
        }
        return answer_of(*p, m);
      },
      [p](const ca::AllocDirOf& m) {
        const std::lock_guard lock{p->guard};
        return if_own(*p, m.alloc_id, m.asking,
                      ca::AllocDir{p->alloc_dir, {{"server", p->task_started, p->task_started}}});
      },
      [p](const ca::DiskOf& m) -> actor::Answer<ca::AllocDir> {
        if (m.alloc_id != own_alloc || m.migrate_token != migrate_token)
          return Error{Errc::permission_denied, "Permission denied"};
        const std::lock_guard lock{p->guard};
        return ca::AllocDir{p->alloc_dir, {{"server", true, false}}};
      },
      [](const ca::GetNode&) {
        ca::LocalNode node;
        node.last_heartbeat = 1;
        node.heartbeat_ttl = std::chrono::seconds{10};
        return node;
      },
      [](const ca::CountAllocs&) {
        return ca::AllocCounts{1, 2, 3};
      },
      [](const ca::ReadMetrics& m) { return metrics(m.of_tasks); },
  };
}

RaftReader::behavior_type play_raft(RaftReader::stateful_pointer<Nameless>,
                                    std::shared_ptr<Played> p) {
  return {
      [p](const raft::ReadIndex&) -> actor::Answer<raft::ReadReady> {
        p->before_read_index();
        const std::lock_guard lock{p->guard};
        if (!p->leads) return Error{Errc::unavailable, "not the leader"};
        return raft::ReadReady{1};
      },
      [p](const raft::GetStatus&) {
        const std::lock_guard lock{p->guard};
        raft::RaftStatus status;
        status.self = "server-1";
        status.role = p->leads ? raft::Role::leader : raft::Role::follower;
        status.leader = p->leads ? "server-1" : "";
        status.applied_index = 9;
        status.configuration.members = {{"server-1", "127.0.0.1:4647", true}};
        return status;
      },
      [](const raft::TakeSnapshot&) -> actor::Answer<raft::SnapshotTaken> {
        return Error{Errc::conflict, "nothing was applied yet that could be saved"};
      },
  };
}

server::LockTracker::behavior_type play_locks(server::LockTracker::stateful_pointer<Nameless>,
                                              std::shared_ptr<Played> p) {
  return {
      [](server::Lead) {},
      [](const server::LocksChanged&) {},
      [p](const server::RenewLock& m) -> actor::Answer<server::LockRenewed> {
        const std::lock_guard lock{p->guard};
        p->renewed.push_back(m);
        if (p->lost_lock) return *p->lost_lock;
        return server::LockRenewed{};
      },
  };
}

}  // namespace

std::string uuid(unsigned number) {
  return fmt::format("{:08x}-1111-4222-8333-{:012x}", number * 0x01010101U, number);
}

ApiFixture::ApiFixture(const std::function<void(ApiOptions&)>& change) {
  lease->set(raft::LeaderLease::unlimited);
  played->alloc_dir = directory.path();
  leader->set({.leads = true, .ready = true, .term = 1, .leader = "server-1"});
  log_->set_wake([this] { apply(); });
  client_ = actor::spawn(system_, play_client, played);
  raft_ = actor::spawn(system_, play_raft, played);
  locks_ = actor::spawn(system_, play_locks, played);
  ApiOptions options;
  options.http.listen = {"127.0.0.1:0"};
  options.agent.name = "vm";
  options.agent.server_id = "server-1";
  options.agent.node_id = own_node;
  options.agent.http_address = "127.0.0.1:4646";
  options.agent.rpc_address = "127.0.0.1:4647";
  options.agent.serf_address = "127.0.0.1:4648";
  options.agent.config_json = [] { return std::string{R"({"Region":"global"})"}; };
  options.state.store = std::shared_ptr<state::Store>{state_, &state_->store};
  options.state.lease = lease;
  options.state.leader = leader;
  options.state.raft = raft_;
  options.state.writer.emplace(options.state.store, raft::Proposer{log_}, leader);
  options.client = client_;
  auto ring = storage::RowRing::open(uploads.file("decisions.db"));
  REQUIRE(ring.has_value());
  auto decisions = server::start_decision_log_inline(
      system_, std::make_shared<storage::RowRing>(std::move(*ring)),
      telemetry::ServerMetrics::make({}));
  decisions_ = std::move(decisions.log);
  decision_feed = std::move(decisions.feed);
  options.server.decisions = decisions_;
  keyring = *security::Keyring::open({.server_id = "server-1"});
  options.server.keyring = keyring;
  options.server.locks = locks_;
  options.uploads.directory = uploads.file("uploads");
  options.metrics.registry
      = std::make_shared<telemetry::Registry>(telemetry::Options{.prefix = "nomad"});
  options.authenticator = test::open_to_all();
  if (change) change(options);
  auto started = start_api(system_, std::move(options));
  REQUIRE(started.has_value());
  api = std::make_unique<Api>(std::move(*started));
}

ApiFixture::~ApiFixture() {
  api.reset();
  actor::stop(client_);
  actor::stop(raft_);
  actor::stop(locks_);
  actor::stop(decisions_);
}

void ApiFixture::apply() {
  std::vector<std::pair<raft::ProposalCallback, Result<raft::Applied>>> answers;
  {
    const std::lock_guard lock{played->guard};
    for (auto& proposal : log_->take()) {
      if (played->keeps_commands) played->commands.push_back(proposal.payload);
      if (played->refusal) {
        answers.emplace_back(std::move(proposal.callback), *played->refusal);
        continue;
      }
      const raft::Entry entry{++state().index, 1, raft::EntryKind::command, proposal.payload};
      const auto outcomes = fsm_.apply({&entry, 1}, entry.index);
      answers.emplace_back(std::move(proposal.callback),
                           raft::Applied{entry.index, outcomes.front()});
    }
  }
  for (const auto& [answer, outcome] : answers)  // which may propose more
    answer(outcome);
}

void ApiFixture::add_root_key() {
  const auto key = keyring->make_root_key(uuid(9), 1, {});
  state().run([&](auto command) { command.initRootKeyUpsert().setKey(*key); });
}

void ApiFixture::add_namespace(const std::string& name) {
  state().run([&](auto command) { command.initNamespaceUpsert().setName(text(name)); });
}

net::HttpClient ApiFixture::client() const {
  auto client = net::HttpClient::make({.address = "http://" + address()});
  REQUIRE(client.has_value());
  return std::move(*client);
}

net::ClientResponse ApiFixture::send(const std::string& method,
                                     const std::string& target,
                                     const std::string& body) {
  auto response = client().send({.method = method, .target = target, .body = body});
  CAPTURE(target);
  REQUIRE(response.has_value());
  return std::move(*response);
}

net::ClientResponse ApiFixture::get(const std::string& target) {
  return send("GET", target);
}

ApiFixture::Json ApiFixture::json(const std::string& target) {
  const auto response = get(target);
  CAPTURE(target);
  CAPTURE(response.body);
  REQUIRE(response.status == 200);
  CHECK(response.header("Content-Type") == "application/json");
  return boost::json::parse(response.body);
}

std::string ApiFixture::refusal(const std::string& target) {
  return refusal("GET", target, "");
}

std::string ApiFixture::refusal(const std::string& method,
                                const std::string& target,
                                const std::string& body) {
  const auto response = send(method, target, body);
  CAPTURE(target);
  CHECK(response.status >= 400);
  if (!response.body.empty()) CHECK(response.header("Content-Type") == "text/plain; charset=utf-8");
  return std::to_string(response.status) + ' ' + response.body;
}

std::string texts_of(const boost::json::value& list, std::string_view member) {
  std::string out;
  for (const auto& one : list.as_array()) {
    if (!out.empty()) out += ',';
    const auto& text = one.as_object().at({member.data(), member.size()}).as_string();
    out.append(text.data(), text.size());
  }
  return out;
}

}  // namespace nomad::api
