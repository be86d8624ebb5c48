#include "test/unit/actors/api/api_fixture.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "actors/core/supervise.hpp"

namespace nomad::api {
namespace {

namespace sa = server::server_api;
namespace ca = client::client_api;

/// The refusal that the test asked for, or `reply`.
template <class Reply>
actor::Answer<Reply> answer(Played& played, Reply reply) {
  if (played.refusal) return *played.refusal;
  return reply;
}

/// Notes the message in `list`, then answers.
template <class Reply, class Message>
actor::Answer<Reply> note(Played& played,
                          std::vector<Message>& list,
                          const Message& message,
                          Reply reply) {
  const std::lock_guard lock{played.guard};
  list.push_back(message);
  return answer(played, std::move(reply));
}

sa::JobRegistered registered() {
  return {"eval-1", 21, 20, 22};
}

sa::JobPlanned planned(const sa::PlanJob& message) {
  sa::JobPlanned plan;
  plan.index = 31;
  sa::DesiredUpdates updates;
  updates.place = 2;
  plan.desired_updates.emplace_back("web", updates);
  Draft<schema::AllocMetric> metric;
  metric->setNodesEvaluated(3);
  plan.failed_groups.emplace_back("web", metric.freeze());
  static_cast<void>(message);
  return plan;
}

/// Copies one of the sealed commands.
void set_command(schema::Command::Builder to, schema::Command::Reader from) {
  using Which = schema::Command::Which;
  if (from.which() == Which::VARIABLE_APPLY) to.setVariableApply(from.getVariableApply());
  if (from.which() == Which::ROOT_KEY_UPSERT) to.setRootKeyUpsert(from.getRootKeyUpsert());
  if (from.which() == Which::ROOT_KEY_DELETE) to.setRootKeyDelete(from.getRootKeyDelete());
}

struct Nameless {
  static constexpr const char* name = "played";
};

server::ServerApi::behavior_type play_server(server::ServerApi::stateful_pointer<Nameless>,
                                             std::shared_ptr<Played> p) {
  return {
      [p](const sa::RegisterJob& m) { return note(*p, p->registered, m, registered()); },
      [p](const sa::DeregisterJob& m) { return note(*p, p->deregistered, m, registered()); },
      [p](const sa::EvaluateJob& m) { return note(*p, p->evaluated, m, registered()); },
      [p](const sa::RevertJob&) { return answer(*p, registered()); },
      [p](const sa::ScaleJob&) { return answer(*p, registered()); },
      [p](const sa::SetJobStability&) { return answer(*p, sa::Written{41}); },
      [p](const sa::DispatchJob& m) {
        return note(*p, p->dispatched, m, sa::JobDispatched{"web/dispatch-1", "eval-1", 5, 4, 6});
      },
      [p](const sa::ForcePeriodic&) {
        return answer(*p, sa::EvalCreated{"eval-1", 42});
      },
      [p](const sa::PlanJob& m) { return note(*p, p->planned, m, planned(m)); },
      [p](const sa::StopAlloc& m) {
        return note(*p, p->stopped, m, sa::EvalCreated{"eval-1", 43});
      },
      [p](const sa::DeleteEvals&) { return answer(*p, sa::Written{44}); },
      [p](const sa::SetNodeEligibility& m) {
        return note(*p, p->eligibility, m, sa::NodeChanged{{"eval-1"}, 45, 0, 45});
      },
      [p](const sa::EvaluateNode&) {
        return answer(*p, sa::NodeChanged{{}, 0, 0, 46});
      },
      [p](const sa::PurgeNode&) {
        return answer(*p, sa::NodeChanged{{}, 0, 0, 47});
      },
      [p](const sa::FailDeployment&) {
        return answer(*p, sa::DeploymentChanged{"eval-1", 48, 48, std::nullopt, 48});
      },
      [p](const sa::PauseDeployment&) {
        return answer(*p, sa::DeploymentChanged{"eval-1", 49, 49, 3, 49});
      },
      [p](const sa::PromoteDeployment&) { return answer(*p, sa::DeploymentChanged{}); },
      [p](const sa::SetAllocHealth&) { return answer(*p, sa::DeploymentChanged{}); },
      [p](const sa::CollectGarbage&) { return answer(*p, sa::Written{50}); },
      [p](const sa::SetSchedulerConfiguration&) {
        return answer(*p, sa::SchedulerConfigured{true, 51});
      },
      [p](const sa::SetAutopilot&) { return answer(*p, sa::Written{57}); },
      [p](const sa::PutNamespace&) { return answer(*p, sa::Written{52}); },
      [p](const sa::DeleteNamespace&) { return answer(*p, sa::Written{53}); },
      [p](const sa::WriteSealed& m) { return answer(*p, p->write_sealed(m.command)); },
      [p](const sa::RestoreState&) { return answer(*p, sa::Written{56}); },
      [p](const sa::PutNodePool&) { return answer(*p, sa::Written{54}); },
      [p](const sa::DeleteNodePool&) { return answer(*p, sa::Written{55}); },
  };
}

/// The reply, if the allocation is the one this client runs.
template <class Reply>
actor::Answer<Reply> if_own(Played& played, const std::string& alloc, Reply reply) {
  if (alloc != own_alloc) return Error{Errc::not_found, "Unknown allocation \"" + alloc + '"'};
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

client::ClientApi::behavior_type play_client(client::ClientApi::stateful_pointer<Nameless>,
                                             std::shared_ptr<Played> p) {
  return {
      [p](const ca::Exec& m) -> actor::Answer<ca::ExecStarted> {
        const std::lock_guard lock{p->guard};
        p->executed.push_back(m);
        auto session = p->start_session();
        if (!session) return session.error();
        return ca::ExecStarted{std::move(*session)};
      },
      [p](const ca::RestartTask& m) -> actor::Answer<ca::Done> {
        {
          const std::lock_guard lock{p->guard};
          p->restarted.push_back(m);
        }
        return if_own(*p, m.alloc_id, ca::Done{});
      },
      [p](const ca::SignalTask& m) -> actor::Answer<ca::Done> {
        {
          const std::lock_guard lock{p->guard};
          p->signalled.push_back(m);
        }
        return if_own(*p, m.alloc_id, ca::Done{});
      },
      [p](const ca::CollectGarbage& m) {
        return if_own(*p, m.alloc_id.empty() ? own_alloc : m.alloc_id, ca::Done{});
      },
      [p](const ca::AllocStats& m) {
        return if_own(*p, m.alloc_id, p->task_started ? usage() : ca::AllocUsage{});
      },
      [](const ca::HostStats&) {
        ca::HostUsage host;
        host.memory_total = 1 << 20;
        host.cpu.push_back({"cpu0", 1, 2, 97, 3});
        host.disks.push_back({"/dev/x", "/", 100, 40, 60, 40.5, 1});
        return host;
      },
      [p](const ca::AllocDirOf& m) {
        const std::lock_guard lock{p->guard};
        return if_own(*p, m.alloc_id,
                      ca::AllocDir{p->alloc_dir, {{"server", p->task_started, p->task_started}}});
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
  };
}

RaftReader::behavior_type play_raft(RaftReader::stateful_pointer<Nameless>,
                                    std::shared_ptr<Played> p) {
  return {
      [p](const raft::ReadIndex&) -> actor::Answer<raft::ReadReady> {
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

}  // namespace

std::string uuid(unsigned number) {
  return fmt::format("{:08x}-1111-4222-8333-{:012x}", number * 0x01010101U, number);
}

ApiFixture::ApiFixture(const std::function<void(ApiOptions&)>& change) {
  lease->set(raft::LeaderLease::unlimited);
  played->alloc_dir = directory.path();
  server_ = actor::spawn(system_, play_server, played);
  client_ = actor::spawn(system_, play_client, played);
  raft_ = actor::spawn(system_, play_raft, played);
  ApiOptions options;
  options.http.listen = {"127.0.0.1:0"};
  options.agent.name = "vm";
  options.agent.server_id = "server-1";
  options.agent.node_id = own_node;
  options.agent.http_address = "127.0.0.1:4646";
  options.agent.rpc_address = "127.0.0.1:4647";
  options.agent.serf_address = "127.0.0.1:4648";
  options.agent.config_json = [] { return std::string{R"({"Region":"global"})"}; };
  options.store = std::shared_ptr<state::Store>{state_, &state_->store};
  options.lease = lease;
  options.raft = raft_;
  options.server = server_;
  options.client = client_;
  keyring = *security::Keyring::open({.server_id = "server-1"});
  options.keyring = keyring;
  options.upload_directory = uploads.file("uploads");
  played->write_sealed = [this](const Object<schema::Command>& command) {
    const auto outcome
        = state().run([&](schema::Command::Builder to) { set_command(to, *command); });
    sa::SealedWritten written;
    written.conflict = outcome.error && outcome.variable;
    written.variable = outcome.variable;
    written.index = outcome.index;
    return written;
  };
  options.metrics = std::make_shared<telemetry::Registry>(telemetry::Options{.prefix = "nomad"});
  if (change) change(options);
  auto started = start_api(system_, std::move(options));
  REQUIRE(started.has_value());
  api = std::make_unique<Api>(std::move(*started));
}

ApiFixture::~ApiFixture() {
  api.reset();
  actor::stop(server_);
  actor::stop(client_);
  actor::stop(raft_);
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
