#include "actors/client/hooks/hook_objects.hpp"

#include "runtime/object/entries.hpp"

namespace nomad::client {

void write_exit(const workload::ExitResult& from, schema::plugin::ExitResult::Builder to) {
  to.setCode(from.code);
  to.setSignal(from.signal);
  to.setOomKilled(from.oom_killed);
  to.setError(text(from.error));
}

workload::ExitResult read_exit(schema::plugin::ExitResult::Reader from) {
  return {.code = from.getCode(),
          .signal = from.getSignal(),
          .oom_killed = from.getOomKilled(),
          .error = copy(from.getError())};
}

void write_network(const workload::DriverNetwork& from, schema::plugin::DriverNetwork::Builder to) {
  auto ports = to.initPorts(from.port_map.size());
  unsigned at = 0;
  for (const auto& [label, port] : from.port_map) {
    ports[at].setKey(text(label));
    ports[at++].setValue(port);
  }
  to.setIp(text(from.ip));
  to.setAutoAdvertise(from.auto_advertise);
}

workload::DriverNetwork read_network(schema::plugin::DriverNetwork::Reader from) {
  workload::DriverNetwork network{
      .port_map = {}, .ip = copy(from.getIp()), .auto_advertise = from.getAutoAdvertise()};
  for (const auto port : from.getPorts())
    network.port_map.emplace(copy(port.getKey()), static_cast<int>(port.getValue()));
  return network;
}

workload::HookRecord record_of(const Object<schema::plugin::HookAnswer>& answer) {
  workload::HookRecord record;
  if (!answer) return record;
  record.done = answer->getDone();
  read_entries(answer->getData(), record.data);
  read_entries(answer->getEnvironment(), record.env);
  read_entries(answer->getSecretEnvironment(), record.secret_env);
  record.mounts = workload::read_mounts(answer->getMounts());
  record.devices = workload::read_devices(answer->getDevices());
  return record;
}

workload::TaskEvent read_event(schema::plugin::Event::Reader from) {
  auto event = from.getMessage().size() == 0
                   ? workload::task_event::make(view(from.getType()), from.getTime())
                   : workload::task_event::message(view(from.getType()), from.getTime(),
                                                   copy(from.getMessage()));
  for (const auto entry : from.getDetails())
    std::move(event).with(view(entry.getKey()), copy(entry.getValue()));
  if (from.getFailsTask()) std::move(event).failing_task();
  return event;
}

Object<schema::plugin::TaskStates> task_states(
    const std::vector<std::string>& names,
    const std::vector<std::shared_ptr<const workload::TaskState>>& states,
    bool alloc_failed,
    const std::vector<workload::CheckStanding>& checks) {
  Draft<schema::plugin::TaskStates> draft;
  auto tasks = draft->initTasks(states.size());
  for (unsigned i = 0; i < tasks.size(); ++i) {
    const auto& state = *states[i];
    tasks[i].setName(text(names[i]));
    tasks[i].setState(state.state);
    tasks[i].setFailed(state.failed);
    tasks[i].setRestarts(state.restarts);
    tasks[i].setStartedAt(state.started_at);
    tasks[i].setFinishedAt(state.finished_at);
    tasks[i].setPaused(state.paused);
  }
  draft->setAllocFailed(alloc_failed);
  write_standings(checks, draft->initChecks(checks.size()));
  return draft.freeze();
}

void write_standings(const std::vector<workload::CheckStanding>& from, CheckStandings::Builder to) {
  for (unsigned i = 0; i < to.size(); ++i) {
    to[i].setTask(text(from[i].task));
    to[i].setService(text(from[i].service));
    to[i].setKind(static_cast<schema::plugin::CheckStanding::Kind>(from[i].kind));
  }
}

std::vector<workload::CheckStanding> read_standings(CheckStandings::Reader from) {
  using Kind = workload::CheckStanding::Kind;
  std::vector<workload::CheckStanding> standings;
  for (const auto one : from)
    standings.push_back({.task = copy(one.getTask()),
                         .service = copy(one.getService()),
                         .kind = one.getKind() <= schema::plugin::CheckStanding::Kind::PASSING
                                     ? static_cast<Kind>(one.getKind())
                                     : Kind::missing});
  return standings;
}

workload::TaskState read_summary(schema::plugin::TaskSummary::Reader from) {
  workload::TaskState state;
  state.state = from.getState();
  state.failed = from.getFailed();
  state.restarts = from.getRestarts();
  state.started_at = from.getStartedAt();
  state.finished_at = from.getFinishedAt();
  state.paused = from.getPaused();
  return state;
}

network::Resolvers resolvers_of(schema::NetworkResource::Reader network,
                                const workload::TaskEnv& env) {
  const auto replaced = [&env](capnp::List<capnp::Text>::Reader texts) {
    std::vector<std::string> list;
    for (const auto each : texts)
      list.push_back(env.replace(view(each)));
    return list;
  };
  const auto dns = network.getDns();
  return {.servers = replaced(dns.getServers()),
          .searches = replaced(dns.getSearches()),
          .options = replaced(dns.getOptions())};
}

}  // namespace nomad::client
