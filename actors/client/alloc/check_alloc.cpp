// What has to be there for an allocation to be run here.
#include <fmt/format.h>

#include "actors/client/alloc_runner.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/alloc_update.hpp"

namespace nomad::client {

Result<> check_alloc(const KnownDrivers& drivers, AllocView alloc, schema::Job::Reader job) {
  const auto group = workload::find_group(job, alloc.task_group());
  if (!group)
    return Error{Errc::invalid_argument,
                 fmt::format("failed to lookup task group \"{}\"", alloc.task_group())};
  for (const auto task : group->getTasks()) {
    const auto name = view(task.getName());
    if (find_driver(drivers, copy(task.getDriver())) == nullptr)
      return Error{Errc::invalid_argument,
                   fmt::format("failed creating runner for task \"{}\": driver \"{}\" not found",
                               name, view(task.getDriver()))};
    if (!alloc.resources(name))
      return Error{Errc::invalid_argument,
                   fmt::format("failed creating runner for task \"{}\": no task resources found on "
                               "allocation",
                               name)};
  }
  return {};
}

}  // namespace nomad::client
