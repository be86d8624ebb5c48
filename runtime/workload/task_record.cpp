#include "runtime/workload/task_record.hpp"

#include "runtime/object/entries.hpp"
#include "runtime/workload/alloc_update.hpp"

namespace nomad::workload {
HookRecord& TaskRecord::hook(const std::string& name) {
  for (auto& [known, state] : hooks)
    if (known == name) return state;
  return hooks.emplace_back(name, HookRecord{}).second;
}

std::map<std::string, std::string> TaskRecord::data_of(const std::string& name) const {
  for (const auto& [known, state] : hooks)
    if (known == name) return state.data;
  return {};
}

void TaskRecord::add(TaskEvent event) {
  auto changed = std::make_shared<TaskState>(*state);
  changed->append(std::move(event));
  state = std::move(changed);
}

void TaskRecord::enter(TaskRunState next, std::int64_t now) {
  if (state->state == next) return;
  auto changed = std::make_shared<TaskState>(*state);
  changed->enter(next, now);
  state = std::move(changed);
}

Object<schema::LocalTask> to_object(const TaskRecord& record) {
  Draft<schema::LocalTask> draft;
  write_task_state(*record.state, draft->initState());
  draft->setRunId(text(record.run_id));
  draft->setHasHandle(record.has_handle);
  draft->setHandle(text(record.handle));
  draft->setRunComplete(record.run_complete);
  auto hooks = draft->initHooks(record.hooks.size());
  for (unsigned i = 0; i < hooks.size(); ++i) {
    const auto& [name, state] = record.hooks[i];
    hooks[i].setName(text(name));
    hooks[i].setDone(state.done);
    fill_entries(hooks[i].initData(state.data.size()), state.data);
    fill_entries(hooks[i].initEnv(state.env.size()), state.env);
  }
  draft->setNetworkIp(text(record.network.ip));
  draft->setNetworkAdvertise(record.network.auto_advertise);
  auto ports = draft->initNetworkPorts(record.network.port_map.size());
  unsigned at = 0;
  for (const auto& [label, port] : record.network.port_map) {
    ports[at].setKey(text(label));
    ports[at++].setValue(port);
  }
  return draft.freeze();
}

TaskRecord to_task_record(schema::LocalTask::Reader saved) {
  TaskRecord record;
  record.state = std::make_shared<const TaskState>(read_task_state(saved.getState()));
  record.run_id = copy(saved.getRunId());
  record.has_handle = saved.getHasHandle();
  record.handle = copy(saved.getHandle());
  record.run_complete = saved.getRunComplete();
  for (const auto hook : saved.getHooks()) {
    auto& state = record.hook(copy(hook.getName()));
    state.done = hook.getDone();
    read_entries(hook.getData(), state.data);
    read_entries(hook.getEnv(), state.env);
  }
  record.network.ip = copy(saved.getNetworkIp());
  record.network.auto_advertise = saved.getNetworkAdvertise();
  for (const auto port : saved.getNetworkPorts())
    record.network.port_map.emplace(copy(port.getKey()), static_cast<int>(port.getValue()));
  return record;
}

}  // namespace nomad::workload
