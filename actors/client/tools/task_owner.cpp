#include "actors/client/tools/task_owner.hpp"

#include <unistd.h>

#include "runtime/host/users.hpp"

namespace nomad::client {

host::FileOwner owner_of_secrets(schema::Task::Reader task, const workload::TaskEnv& env) {
  return owner_of_secrets_as(task, env.replace(view(task.getUser())));
}

host::FileOwner owner_of_secrets_as(schema::Task::Reader task, std::string user) {
  const auto driver = view(task.getDriver());
  if (driver == "docker") return {};  // names and ids are the image's
  if (user.empty() && driver == "raw_exec") return {.user = ::geteuid(), .group = ::getegid()};
  if (user.empty() && (driver == "exec" || driver == "java")) user = "nobody";
  if (user.empty()) return {};
  const auto known = host::find_user(user);
  if (!known) return {};
  return {.user = known->uid, .group = known->gid};
}

bool has_users_of_machine(std::string_view driver) {
  return driver == "raw_exec" || driver == "exec" || driver == "java";
}

}  // namespace nomad::client
