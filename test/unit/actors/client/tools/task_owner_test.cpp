#include "actors/client/tools/task_owner.hpp"

#include <unistd.h>

#include <doctest/doctest.h>

#include "runtime/host/users.hpp"
#include "runtime/object/draft.hpp"
#include "schema/job.capnp.h"

using namespace nomad;

namespace {

host::FileOwner owner(std::string_view driver, std::string_view user) {
  Draft<schema::Task> task;
  task->setDriver(text(driver));
  task->setUser(text(user));
  return client::owner_of_secrets(*task.freeze(), {});
}

}  // namespace

TEST_CASE("task_owner: raw_exec runs tasks as the agent, unless the job names a user") {
  CHECK(owner("raw_exec", "").user == ::geteuid());
  CHECK(owner("raw_exec", "").group == ::getegid());
  const auto nobody = host::find_user("nobody");
  REQUIRE(nobody.has_value());
  CHECK(owner("raw_exec", "nobody").user == nobody->uid);
  CHECK(owner("raw_exec", "nobody").group == nobody->gid);
}

TEST_CASE("task_owner: isolated tasks are nobody's without a user of their own") {
  const auto nobody = host::find_user("nobody");
  REQUIRE(nobody.has_value());
  for (const auto* driver : {"exec", "java"}) {
    CHECK(owner(driver, "").user == nobody->uid);
    CHECK(owner(driver, "root").user == 0);
  }
}

TEST_CASE("task_owner: who is in a container or unknown here is not known") {
  CHECK_FALSE(owner("docker", "root").user);
  CHECK_FALSE(owner("mock_driver", "").user);
  CHECK_FALSE(owner("raw_exec", "a user that nobody has made").user);
}

TEST_CASE("task_owner: a plugin's tasks may have users of images, whatever their names are") {
  CHECK(client::has_users_of_machine("exec"));
  for (const auto* driver : {"docker", "podman", "qemu", ""})
    CHECK_FALSE(client::has_users_of_machine(driver));
}
