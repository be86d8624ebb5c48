#include "runtime/workload/task_record.hpp"

#include <algorithm>

#include "runtime/object/entries.hpp"
#include "runtime/workload/alloc_update.hpp"

namespace nomad::workload {
namespace {

TaskHandle read_handle(schema::LocalTask::Reader saved) {
  if (saved.getHandleVersion() == 0) return {.version = 0, .data = copy(saved.getHandle())};
  const auto data = saved.getHandleData();
  return {.version = saved.getHandleVersion(),
          .data = std::string{reinterpret_cast<const char*>(data.begin()), data.size()}};
}

std::shared_ptr<const HookRecord> share(HookRecord record) {
  static const auto nothing = std::make_shared<const HookRecord>();
  static const auto done = std::make_shared<const HookRecord>(HookRecord{.done = true});
  static const auto made = std::make_shared<const HookRecord>(
      HookRecord{.data = {{"is_done", "true"}}});  // What makes directories leaves that.
  if (record == *nothing) return nothing;
  if (record == *done) return done;
  if (record == *made) return made;
  return std::make_shared<const HookRecord>(std::move(record));
}

/// Whether an event of this type has come since the task was started last.
bool happened_in_last_run(const TaskState& state, std::string_view type) {
  for (auto each = state.events.rbegin(); each != state.events.rend(); ++each) {
    if (each->type == task_event::started) return false;
    if (each->type == type) return true;
  }
  return false;
}

}  // namespace

void write_mounts(const std::vector<TaskMount>& from,
                  capnp::List<schema::plugin::Mount>::Builder to) {
  for (unsigned i = 0; i < to.size(); ++i) {
    to[i].setTaskPath(text(from[i].task_path));
    to[i].setHostPath(text(from[i].host_path));
    to[i].setReadOnly(from[i].read_only);
    to[i].setPropagation(text(from[i].propagation));
  }
}

void write_devices(const std::vector<TaskDevice>& from,
                   capnp::List<schema::plugin::Device>::Builder to) {
  for (unsigned i = 0; i < to.size(); ++i) {
    to[i].setTaskPath(text(from[i].task_path));
    to[i].setHostPath(text(from[i].host_path));
    to[i].setPermissions(text(from[i].permissions));
  }
}

std::vector<TaskMount> read_mounts(capnp::List<schema::plugin::Mount>::Reader from) {
  std::vector<TaskMount> mounts;
  for (const auto mount : from)
    mounts.push_back({.task_path = copy(mount.getTaskPath()),
                      .host_path = copy(mount.getHostPath()),
                      .read_only = mount.getReadOnly(),
                      .propagation = copy(mount.getPropagation())});
  return mounts;
}

std::vector<TaskDevice> read_devices(capnp::List<schema::plugin::Device>::Reader from) {
  std::vector<TaskDevice> devices;
  for (const auto device : from)
    devices.push_back({.task_path = copy(device.getTaskPath()),
                       .host_path = copy(device.getHostPath()),
                       .permissions = copy(device.getPermissions())});
  return devices;
}

const HookRecord& TaskRecord::hook(const std::string& name) {
  for (const auto& [known, left] : hooks)
    if (known == name) return *left;
  return *hooks.emplace_back(NamedHook{name, share({})}).left;
}

void TaskRecord::leave(const std::string& name, HookRecord left) {
  auto shared = share(std::move(left));
  for (auto& hook : hooks)
    if (hook.name == name) {
      hook.left = std::move(shared);
      return;
    }
  hooks.push_back({name, std::move(shared)});
}

std::map<std::string, std::string> TaskRecord::data_of(const std::string& name) const {
  for (const auto& [known, left] : hooks)
    if (known == name) return left->data;
  return {};
}

std::optional<bool> TaskRecord::unjudged_exit() const {
  if (!run_id.empty() || state->state != schema::TaskRunState::RUNNING) return {};
  if (is_pause(state->paused)) return {};
  if (happened_in_last_run(*state, task_event::restart_signaled)) return {};
  const auto& events = state->events;
  const auto last
      = std::ranges::find(events.rbegin(), events.rend(), task_event::terminated, &TaskEvent::type);
  if (last == events.rend()) return {};
  return last->detail("exit_code") == "0" && last->detail("signal") == "0"
         && last->detail("exit_message").empty();
}

bool TaskRecord::was_being_killed() const {
  return happened_in_last_run(*state, task_event::killing);
}

void TaskRecord::add(TaskEvent event) {
  auto changed = std::make_shared<TaskState>(*state);
  changed->append(std::move(event));
  state = std::move(changed);
}

void TaskRecord::add_uncounted(TaskEvent event) {
  auto changed = std::make_shared<TaskState>(*state);
  changed->append_uncounted(std::move(event));
  state = std::move(changed);
}

void TaskRecord::set_paused(TaskScheduleState paused) {
  if (state->paused == paused) return;
  auto changed = std::make_shared<TaskState>(*state);
  changed->paused = paused;
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
  if (record.handle.version == 0)
    draft->setHandle(text(record.handle.data));
  else
    draft->setHandleData({reinterpret_cast<const capnp::byte*>(record.handle.data.data()),
                          record.handle.data.size()});
  draft->setHandleVersion(record.handle.version);
  draft->setRunComplete(record.run_complete);
  draft->setScheduleOrder(record.schedule_order);
  auto hooks = draft->initHooks(record.hooks.size());
  for (unsigned i = 0; i < hooks.size(); ++i) {
    hooks[i].setName(text(record.hooks[i].name));
    const auto& state = *record.hooks[i].left;
    hooks[i].setDone(state.done);
    fill_entries(hooks[i].initData(state.data.size()), state.data);
    fill_entries(hooks[i].initEnv(state.env.size()), state.env);
    write_mounts(state.mounts, hooks[i].initMounts(static_cast<unsigned>(state.mounts.size())));
    write_devices(state.devices, hooks[i].initDevices(static_cast<unsigned>(state.devices.size())));
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
  record.handle = read_handle(saved);
  record.run_complete = saved.getRunComplete();
  record.schedule_order = saved.getScheduleOrder();
  for (const auto hook : saved.getHooks()) {
    HookRecord state;
    state.done = hook.getDone();
    read_entries(hook.getData(), state.data);
    read_entries(hook.getEnv(), state.env);
    state.mounts = read_mounts(hook.getMounts());
    state.devices = read_devices(hook.getDevices());
    record.leave(copy(hook.getName()), std::move(state));
  }
  record.network.ip = copy(saved.getNetworkIp());
  record.network.auto_advertise = saved.getNetworkAdvertise();
  for (const auto port : saved.getNetworkPorts())
    record.network.port_map.emplace(copy(port.getKey()), static_cast<int>(port.getValue()));
  return record;
}

}  // namespace nomad::workload
