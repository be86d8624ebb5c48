#include "actors/client/hooks/function_hooks.hpp"

#include <fmt/format.h>

#include "actors/client/task_config.hpp"
#include "runtime/host/alloc_dir.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::client {
namespace {

Result<hook::Prestarted> make_task_dir(const TaskScope& scope) {
  const host::AllocDir directory{scope.alloc_root};
  NOMAD_TRY(directory.build_task(scope.task, scope.driver.secrets_in_memory));
  // Not `done`: a machine that restarted has lost what was in memory. Building again is cheap.
  return hook::Prestarted{.data = {{"is_done", "true"}}, .env = {}, .done = false};
}

Result<hook::Prestarted> validate(const TaskScope& scope) {
  const auto task = find_task(*scope.alloc, *scope.job, scope.task);
  if (!task || task->getUser().size() == 0)
    return hook::Prestarted{.data = {}, .env = {}, .done = true};
  const auto user = scope.env()->replace(view(task->getUser()));
  if (user == "root" || user == "Administrator")
    return Error{Errc::rejected, fmt::format("running as user \"{}\" is disallowed", user)};
  return hook::Prestarted{.data = {}, .env = {}, .done = true};
}

bool is_host_volume(schema::TaskGroup::Reader group, std::string_view name) {
  for (const auto entry : group.getVolumes())
    if (view(entry.getKey()) == name) return view(entry.getValue().getType()) == "host";
  return false;
}

bool mounts_host_volumes(const TaskScope& scope) {
  const auto group = workload::find_group(*scope.job, view(scope.alloc->getTaskGroup()));
  const auto task = find_task(*scope.alloc, *scope.job, scope.task);
  if (!group || !task) return false;
  for (const auto mount : task->getVolumeMounts())
    if (is_host_volume(*group, view(mount.getVolume()))) return true;
  return false;
}

Result<hook::Prestarted> refuse_volumes(const TaskScope& scope) {
  const auto task = find_task(*scope.alloc, *scope.job, scope.task);
  return Error{Errc::rejected,
               fmt::format("task driver \"{}\" for \"{}\" does not support host volumes",
                           task ? view(task->getDriver()) : "", scope.task)};
}

Result<hook::Prestarted> write_payload(const TaskScope& scope) {
  const auto task = find_task(*scope.alloc, *scope.job, scope.task);
  const auto payload = scope.job->getPayload();
  const auto root = NOMAD_TRY(host::Beneath::open(scope.alloc_root, false));
  const auto file
      = scope.env()->client_path("local/" + copy(task->getDispatchPayload().getFile()), true);
  if (file.escapes)
    return Error{Errc::rejected, "the payload's file is outside the task's directory"};
  const auto relative = file.path.substr(scope.alloc_root.size() + 1);
  const auto slash = relative.rfind('/');
  if (slash != relative.npos) NOMAD_TRY(root.make_directories(relative.substr(0, slash), 0777));
  NOMAD_TRY(root.write_file(
      relative, {reinterpret_cast<const char*>(payload.begin()), payload.size()}, 0777));
  return hook::Prestarted{.data = {}, .env = {}, .done = true};
}

}  // namespace

AllocHookEntry alloc_dir_hook() {
  return {
      .name = "alloc_dir",
      .wanted = {},
      .prerun = [](const AllocScope& scope) { return host::AllocDir{scope.alloc_root}.build(); },
      .destroy = [](const AllocScope& scope) { return host::AllocDir{scope.alloc_root}.destroy(); },
      .spawn = {}};
}

TaskHookEntry validate_hook() {
  return {.name = "validate",
          .wanted =
              [](const TaskScope& scope) {
                const auto task = find_task(*scope.alloc, *scope.job, scope.task);
                if (!task || task->getUser().size() == 0) return false;
                const auto driver = view(task->getDriver());
                return driver == "exec" || driver == "qemu" || driver == "java";
              },
          .announcement = {},
          .prestart = validate,
          .spawn = {}};
}

TaskHookEntry task_dir_hook() {
  return {.name = "task_dir",
          .wanted = {},
          .announcement = "Building Task Directory",
          .prestart = make_task_dir,
          .spawn = {}};
}

TaskHookEntry volumes_hook() {
  return {
      .name = "volumes",
      .wanted
      = [](const TaskScope& scope) { return !scope.driver.mounts && mounts_host_volumes(scope); },
      .announcement = {},
      .prestart = refuse_volumes,
      .spawn = {}};
}

TaskHookEntry dispatch_payload_hook() {
  return {.name = "dispatch_payload",
          .wanted =
              [](const TaskScope& scope) {
                const auto task = find_task(*scope.alloc, *scope.job, scope.task);
                return task && task->hasDispatchPayload() && scope.job->getPayload().size() > 0
                       && task->getDispatchPayload().getFile().size() > 0;
              },
          .announcement = {},
          .prestart = write_payload,
          .spawn = {}};
}

}  // namespace nomad::client
