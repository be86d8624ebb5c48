// The registrations of an allocation's services in Nomad's own service discovery (provider
// "nomad"), or with a provider that a plugin brings: which a group and each of its tasks have, and
// what changes from one such list to the next. A group has one provider. Pure.
//
// A registration's id is Nomad's: "_nomad-task-<allocation>-<task, or group-<group>>-<service>-
// <port label>". Names, tags, port labels and addresses are interpolated; what the job leaves
// invalid by that is an error, which names the service, and nothing is registered then.
//
// Where Nomad registers an empty address (a port that is a mere number, no port and no network of
// one's own), it is the node's: these tasks have the network of their host.
//
// May depend on: runtime/base, object.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/object/alloc_view.hpp"
#include "runtime/object/object.hpp"
#include "runtime/workload/task_env.hpp"
#include "schema/service.capnp.h"

namespace nomad::workload {

using ServiceRegistration = Object<schema::ServiceRegistration>;

/// Whose services they are. Nothing in it is kept.
struct ServiceOwner {
  AllocView alloc;
  schema::Job::Reader job;
  const Variables& node;  ///< What `node_variables` made of it.
};

/// Of the group itself. `env` is of no task.
Result<std::vector<ServiceRegistration>> group_registrations(const ServiceOwner& owner,
                                                             const TaskEnv& env);

/// Of one task. `network` is what its driver made for it, null if that made none.
Result<std::vector<ServiceRegistration>> task_registrations(const ServiceOwner& owner,
                                                            std::string_view task,
                                                            const TaskEnv& env,
                                                            const DriverNetwork* network);

/// What leads from one list of an allocation's registrations to another.
struct RegistrationChanges {
  std::vector<ServiceRegistration> put;  ///< New ones, and those that differ.
  std::vector<std::string> gone;         ///< Ids of those that are no more.

  bool empty() const { return put.empty() && gone.empty(); }
};

RegistrationChanges registration_changes(const std::vector<ServiceRegistration>& before,
                                         const std::vector<ServiceRegistration>& after);

}  // namespace nomad::workload
