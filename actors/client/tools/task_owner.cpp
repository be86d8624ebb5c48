#include "actors/client/tools/task_owner.hpp"

#include <unistd.h>

#include "runtime/host/users.hpp"

namespace nomad::client {

host::FileOwner owner_of_secrets(schema::Task::Reader task, const workload::TaskEnv& env) {
  const auto driver = view(task.getDriver());
  auto name = env.replace(view(task.getUser()));
  if (driver == "docker") return {};  // names and ids are the image's
  if (name.empty() && driver == "raw_exec") return {.user = ::geteuid(), .group = ::getegid()};
  if (name.empty() && (driver == "exec" || driver == "java")) name = "nobody";
  if (name.empty()) return {};
  const auto user = host::find_user(name);
  if (!user) return {};
  return {.user = user->uid, .group = user->gid};
}

}  // namespace nomad::client
