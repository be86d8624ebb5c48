#include "actors/client/task_local.hpp"

#include "runtime/object/draft.hpp"
#include "runtime/workload/alloc_update.hpp"

namespace nomad::client {
namespace {

template <class Map>
void write_map(const Map& from, capnp::List<schema::TextEntry>::Builder to) {
  unsigned at = 0;
  for (const auto& [key, value] : from) {
    to[at].setKey(text(key));
    to[at++].setValue(text(value));
  }
}

template <class Map>
void read_map(capnp::List<schema::TextEntry>::Reader from, Map& to) {
  for (const auto entry : from)
    to.emplace(copy(entry.getKey()), copy(entry.getValue()));
}

}  // namespace

HookState& TaskLocal::hook(const std::string& name) {
  for (auto& [known, state] : hooks)
    if (known == name) return state;
  return hooks.emplace_back(name, HookState{}).second;
}

Object<schema::LocalTask> to_object(const TaskLocal& local) {
  Draft<schema::LocalTask> draft;
  workload::write_task_state(*local.state, draft->initState());
  draft->setRunId(text(local.run_id));
  draft->setHasHandle(local.has_handle);
  draft->setHandle(text(local.handle));
  draft->setRunComplete(local.run_complete);
  auto hooks = draft->initHooks(local.hooks.size());
  for (unsigned i = 0; i < hooks.size(); ++i) {
    const auto& [name, state] = local.hooks[i];
    hooks[i].setName(text(name));
    hooks[i].setDone(state.done);
    write_map(state.data, hooks[i].initData(state.data.size()));
    write_map(state.env, hooks[i].initEnv(state.env.size()));
  }
  draft->setNetworkIp(text(local.network.ip));
  draft->setNetworkAdvertise(local.network.auto_advertise);
  auto ports = draft->initNetworkPorts(local.network.port_map.size());
  unsigned at = 0;
  for (const auto& [label, port] : local.network.port_map) {
    ports[at].setKey(text(label));
    ports[at++].setValue(port);
  }
  return draft.freeze();
}

TaskLocal to_task_local(schema::LocalTask::Reader saved) {
  TaskLocal local;
  local.state = std::make_shared<workload::TaskState>(workload::read_task_state(saved.getState()));
  local.run_id = copy(saved.getRunId());
  local.has_handle = saved.getHasHandle();
  local.handle = copy(saved.getHandle());
  local.run_complete = saved.getRunComplete();
  for (const auto hook : saved.getHooks()) {
    auto& state = local.hook(copy(hook.getName()));
    state.done = hook.getDone();
    read_map(hook.getData(), state.data);
    read_map(hook.getEnv(), state.env);
  }
  local.network.ip = copy(saved.getNetworkIp());
  local.network.auto_advertise = saved.getNetworkAdvertise();
  for (const auto port : saved.getNetworkPorts())
    local.network.port_map.emplace(copy(port.getKey()), static_cast<int>(port.getValue()));
  return local;
}

}  // namespace nomad::client
