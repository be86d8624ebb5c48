#include "runtime/host/executor_start.hpp"

#include <vector>

namespace nomad::host {

void fill_start(schema::executor::Start::Builder start,
                const TaskCommand& command,
                const CgroupScope& cgroup,
                const std::string& search_path) {
  start.setRunId(command.run_id);
  start.setCommand(command.command);
  start.setTaskDirectory(command.task_directory);
  start.setSearchPath(command.search_path.empty() ? search_path : command.search_path);
  start.setNetworkNamespace(command.network_namespace);
  auto fill_texts = [](auto list, const std::vector<std::string>& texts) {
    for (unsigned i = 0; i < texts.size(); ++i)
      list.set(i, texts[i]);
  };
  auto size = [](const auto& list) { return static_cast<unsigned>(list.size()); };
  fill_texts(start.initArguments(size(command.arguments)), command.arguments);
  fill_texts(start.initEnvironment(size(command.environment)), command.environment);
  fill_texts(start.initCgroupDirectories(size(cgroup.directories)), cgroup.directories);
  start.setCgroupUnified(cgroup.unified);
  start.setCgroupShared(cgroup.shared);
  if (!cgroup.memory.empty())
    start.setOomEvents(cgroup.memory
                       + (cgroup.memory_is_v2 ? "/memory.events" : "/memory.oom_control"));
  if (command.user) {
    auto user = start.initUser();
    user.setUid(command.user->uid);
    user.setGid(command.user->gid);
    auto groups = user.initGroups(size(command.user->groups));
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
  auto limits = start.initLimits(size(command.limits));
  for (unsigned i = 0; i < limits.size(); ++i) {
    limits[i].setResource(command.limits[i].resource);
    limits[i].setSoft(command.limits[i].soft);
    limits[i].setHard(command.limits[i].hard);
  }
}

}  // namespace nomad::host
