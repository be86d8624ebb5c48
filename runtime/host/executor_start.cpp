#include "runtime/host/executor_start.hpp"

#include <vector>

namespace nomad::host {

namespace {

void fill_texts(capnp::List<capnp::Text>::Builder list, const std::vector<std::string>& texts) {
  for (unsigned i = 0; i < texts.size(); ++i)
    list.set(i, texts[i]);
}

template <class List>
unsigned count(const List& list) {
  return static_cast<unsigned>(list.size());
}

schema::executor::Mount::Kind kind_of(PlannedMount::Kind kind) {
  using To = schema::executor::Mount::Kind;
  switch (kind) {
    case PlannedMount::Kind::bind:
      return To::BIND;
    case PlannedMount::Kind::overlay:
      return To::OVERLAY;
    case PlannedMount::Kind::fresh:
      return To::FRESH;
    case PlannedMount::Kind::link:
      return To::LINK;
    case PlannedMount::Kind::mask:
      return To::MASK;
    case PlannedMount::Kind::read_only:
      break;
  }
  return To::READ_ONLY;
}

void fill_isolation(schema::executor::Isolation::Builder to, const Isolation& from) {
  to.setRoot(from.root);
  to.setPivot(from.pivot);
  to.setPrivatePids(from.private_pids);
  to.setPrivateIpc(from.private_ipc);
  to.setRootAttributes(from.root_attributes);
  fill_texts(to.initPrograms(count(from.programs)), from.programs);
  to.setCapabilities(from.capabilities.bits());
  to.setAmbient(from.ambient);
  to.setNoNewPrivileges(from.no_new_privileges);
  to.setFilter(
      kj::arrayPtr(reinterpret_cast<const kj::byte*>(from.filter.data()), from.filter.size()));
  auto mounts = to.initMounts(count(from.mounts));
  for (unsigned i = 0; i < mounts.size(); ++i) {
    const auto& step = from.mounts[i];
    mounts[i].setKind(kind_of(step.kind));
    mounts[i].setTarget(step.target);
    mounts[i].setSource(step.source);
    fill_texts(mounts[i].initOptions(count(step.options)), step.options);
    mounts[i].setAttributes(step.attributes);
    mounts[i].setPropagation(step.propagation);
    mounts[i].setWork(step.work);
  }
}

}  // namespace

void fill_start(schema::executor::Start::Builder start,
                const TaskCommand& command,
                const CgroupScope& cgroup,
                const std::string& search_path) {
  start.setRunId(command.run_id);
  start.setCommand(command.command);
  start.setTaskDirectory(command.task_directory);
  start.setSearchPath(command.search_path.empty() ? search_path : command.search_path);
  start.setNetworkNamespace(command.network_namespace);
  fill_texts(start.initArguments(count(command.arguments)), command.arguments);
  fill_texts(start.initEnvironment(count(command.environment)), command.environment);
  fill_texts(start.initCgroupDirectories(count(cgroup.directories)), cgroup.directories);
  start.setCgroupUnified(cgroup.unified);
  start.setCgroupShared(cgroup.shared);
  if (!cgroup.memory.empty())
    start.setOomEvents(cgroup.memory
                       + (cgroup.memory_is_v2 ? "/memory.events" : "/memory.oom_control"));
  if (command.isolation) fill_isolation(start.initIsolation(), *command.isolation);
  if (command.user) {
    auto user = start.initUser();
    user.setUid(command.user->uid);
    user.setGid(command.user->gid);
    auto groups = user.initGroups(count(command.user->groups));
    for (unsigned i = 0; i < groups.size(); ++i)
      groups.set(i, command.user->groups[i]);
  }
  if (command.logs) {
    auto logs = start.initLogs();
    logs.setAllocRoot(command.logs->alloc_root);
    logs.setTask(command.logs->task);
    logs.setMaxFiles(command.logs->max_files);
    logs.setMaxFileBytes(command.logs->max_file_bytes);
  }
  auto limits = start.initLimits(count(command.limits));
  for (unsigned i = 0; i < limits.size(); ++i) {
    limits[i].setResource(command.limits[i].resource);
    limits[i].setSoft(command.limits[i].soft);
    limits[i].setHard(command.limits[i].hard);
  }
}

}  // namespace nomad::host
