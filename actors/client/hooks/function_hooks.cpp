#include "actors/client/hooks/function_hooks.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include "actors/client/hooks/function_hook.hpp"
#include "actors/client/tools/task_owner.hpp"
#include "runtime/base/text.hpp"
#include "runtime/host/alloc_dir.hpp"
#include "runtime/host/users.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/alloc_update.hpp"

namespace nomad::client {

namespace {

std::optional<schema::Task::Reader> task_of(const HookScope& scope) {
  return workload::find_task(*scope.alloc, *scope.job, view(scope.target->getTask()));
}

host::AllocDir directory_of(const HookCall& call) {
  return host::AllocDir{copy(call.target().getAllocRoot())};
}

/// A template's file may be somebody's who is not in the task, such as a worker's of its service.
bool has_files_of_others(schema::Task::Reader task) {
  for (const auto each : task.getTemplates())
    if (each.getUid().isValue() || each.getGid().isValue()) return true;
  return false;
}

Result<HookResult> make_task_dir(const HookCall& call) {
  host::SecretsFor whom;
  const auto task = task_of(call.scope);
  if (task && has_users_of_machine(view(task->getDriver())))
    whom = {call.environments ? owner_of_secrets(*task, call.env())
                              : owner_of_secrets_as(*task, copy(task->getUser())),
            has_files_of_others(*task)};
  NOMAD_TRY(directory_of(call).build_task(view(call.target().getTask()),
                                          call.target().getDriver().getSecretsInMemory(), whom));
  // Not `done`: a machine that restarted has lost what was in memory. Building again is cheap.
  return HookResult{.data = {{"is_done", "true"}}};
}

/// Nomad compares names alone; here "0" is root, too.
bool is_refused(const UserRules& rules, const std::string& user) {
  if (rules.refused.contains(user)) return true;
  const auto known = host::find_user(user);
  return known && rules.refused.contains(known->name);
}

Result<HookResult> validate(const UserRules& rules, const HookCall& call) {
  const auto task = task_of(call.scope);
  if (!task || task->getUser().size() == 0) return HookResult{.done = true};
  const auto user = call.env().replace(view(task->getUser()));
  if (is_refused(rules, user))
    return Error{Errc::rejected, fmt::format("running as user \"{}\" is disallowed", user)};
  return HookResult{.done = true};
}

bool is_host_volume(schema::TaskGroup::Reader group, std::string_view name) {
  for (const auto entry : group.getVolumes())
    if (view(entry.getKey()) == name) return view(entry.getValue().getType()) == "host";
  return false;
}

bool mounts_host_volumes(const HookScope& scope) {
  const auto group = workload::find_group(*scope.job, scope.alloc->task_group());
  const auto task = task_of(scope);
  if (!group || !task) return false;
  for (const auto mount : task->getVolumeMounts())
    if (is_host_volume(*group, view(mount.getVolume()))) return true;
  return false;
}

/// Where the volume is on this node. With `per_alloc` each allocation has its own: "data[3]".
Result<schema::HostVolume::Reader> find_volume(const HookCall& call,
                                               schema::VolumeRequest::Reader volume) {
  auto source = copy(volume.getSource());
  if (volume.getPerAlloc())
    source += fmt::format("[{}]", workload::alloc_index(call.scope.alloc->name()));
  for (const auto entry : call.target().getHostVolumes())
    if (view(entry.getKey()) == source) return entry.getValue();
  return Error{Errc::rejected,
               fmt::format("host volume validation error: missing {}; give this client a "
                           "host_volume of that name",
                           source)};
}

/// One whose folders this agent may not search can still be mounted by who mounts it.
Result<> check_volume_path(schema::HostVolume::Reader volume) {
  const auto path = copy(volume.getPath());
  const int failure = ::access(path.c_str(), F_OK) == 0 ? 0 : errno;
  if (failure != ENOENT && failure != ENOTDIR) return {};
  auto missing = errno_error(
      fmt::format("host volume \"{}\": \"{}\" on this client", view(volume.getName()), path),
      failure, Errc::unavailable);
  missing.what += "; create or mount it";
  return missing;
}

/// Looked at before each start: the node may have been configured anew.
Result<HookResult> mount_volumes(const HookCall& call) {
  const auto group = workload::find_group(*call.scope.job, call.scope.alloc->task_group());
  const auto task = task_of(call.scope);
  if (!group || !task) return HookResult{};
  if (!call.target().getDriver().getMounts())
    return Error{Errc::rejected,
                 fmt::format("task driver \"{}\" for \"{}\" does not support host volumes",
                             view(task->getDriver()), view(task->getName()))};
  HookResult result;
  const auto env = call.env();
  for (const auto mount : task->getVolumeMounts())
    for (const auto entry : group->getVolumes()) {
      const auto volume = entry.getValue();
      if (entry.getKey() != mount.getVolume() || view(volume.getType()) != "host") continue;
      const auto location = NOMAD_TRY(find_volume(call, volume));
      NOMAD_TRY(check_volume_path(location));
      result.mounts.push_back(
          {.task_path = env.replace(view(mount.getDestination())),
           .host_path = copy(location.getPath()),
           .read_only = location.getReadOnly() || volume.getReadOnly() || mount.getReadOnly(),
           .propagation = copy(mount.getPropagationMode())});
    }
  return result;
}

Result<HookResult> write_payload(const HookCall& call) {
  const auto task = task_of(call.scope);
  if (!task) return HookResult{.done = true};
  const auto payload = call.scope.job->getPayload();
  const auto alloc_root = copy(call.target().getAllocRoot());
  const auto root = NOMAD_TRY(host::Beneath::open(alloc_root, false));
  const auto file
      = call.env().client_path("local/" + copy(task->getDispatchPayload().getFile()), true);
  if (file.escapes)
    return Error{Errc::rejected, "the payload's file is outside the task's directory"};
  const auto relative = file.path.substr(alloc_root.size() + 1);
  const auto slash = relative.rfind('/');
  if (slash != relative.npos) NOMAD_TRY(root.make_directories(relative.substr(0, slash), 0777));
  NOMAD_TRY(root.write_file(
      relative, {reinterpret_cast<const char*>(payload.begin()), payload.size()}, 0777));
  return HookResult{.done = true};
}

/// What calls a function that gives nothing back.
template <class Function>
HookFunction plain(Function function) {
  return [function](const HookCall& call) -> Result<HookResult> {
    NOMAD_TRY(function(call));
    return HookResult{};
  };
}

}  // namespace

HookEntry alloc_dir_hook(BlockingPool steps) {
  return {.name = "alloc_dir",
          .phases = {HookPhase::PRERUN, HookPhase::POSTRUN, HookPhase::DESTROY},
          .spawn = function_hook(
              std::move(steps),
              {{HookPhase::PRERUN,
                plain([](const HookCall& call) { return directory_of(call).build(); })},
               {HookPhase::POSTRUN,
                plain([](const HookCall& call) { return directory_of(call).forget_secrets(); })},
               {HookPhase::DESTROY,
                plain([](const HookCall& call) { return directory_of(call).destroy(); })}})};
}

UserRules read_user_rules(const std::map<std::string, std::string>& options) {
  UserRules rules;
  const auto take = [&options](const char* key, auto& into) {
    const auto found = options.find(key);
    if (found == options.end()) return;
    into.clear();
    for (const auto name : split(found->second, ','))
      if (!trim(name).empty()) into.emplace(trim(name));
  };
  take("user.denylist", rules.refused);
  take("user.checked_drivers", rules.drivers);
  return rules;
}

HookEntry validate_hook(BlockingPool steps, const UserRules& rules) {
  return {.name = "validate",
          .phases = {HookPhase::PRESTART},
          .reads_environment = {HookPhase::PRESTART},
          .wanted =
              [rules](const HookScope& scope) {
                const auto task = task_of(scope);
                return task && task->getUser().size() > 0
                       && rules.drivers.contains(view(task->getDriver()));
              },
          .spawn
          = function_hook(std::move(steps), {{HookPhase::PRESTART, [rules](const HookCall& call) {
                                                return validate(rules, call);
                                              }}})};
}

HookEntry task_dir_hook(BlockingPool steps) {
  return {.name = "task_dir",
          .phases = {HookPhase::PRESTART},
          .reads_environment = {HookPhase::PRESTART},
          .needs_environment =
              [](const HookScope& scope) {
                const auto task = task_of(scope);
                return task && view(task->getUser()).find("${") != std::string_view::npos;
              },
          .announcement = "Building Task Directory",
          .spawn = function_hook(std::move(steps), {{HookPhase::PRESTART, make_task_dir}})};
}

HookEntry volumes_hook(BlockingPool steps) {
  return {.name = "volumes",
          .phases = {HookPhase::PRESTART},
          .reads_environment = {HookPhase::PRESTART},
          .wanted = mounts_host_volumes,
          .spawn = function_hook(std::move(steps), {{HookPhase::PRESTART, mount_volumes}})};
}

HookEntry dispatch_payload_hook(BlockingPool steps) {
  return {.name = "dispatch_payload",
          .phases = {HookPhase::PRESTART},
          .reads_environment = {HookPhase::PRESTART},
          .wanted =
              [](const HookScope& scope) {
                const auto task = task_of(scope);
                return task && task->hasDispatchPayload() && scope.job->getPayload().size() > 0
                       && task->getDispatchPayload().getFile().size() > 0;
              },
          .spawn = function_hook(std::move(steps), {{HookPhase::PRESTART, write_payload}})};
}

}  // namespace nomad::client
