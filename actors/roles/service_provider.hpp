// ServiceProvider: where services of jobs are registered that name a plugin as their provider.
// Asked by the hooks of an allocation, for all services of its group, or of one of its tasks, at
// once.
//
// Rules: what is registered under an id takes the place of what was there; to deregister what is
// not there is done, too. So whoever does not know what became of a question asks again.
#pragma once

#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "runtime/object/object.hpp"
#include "runtime/workload/checks/check_result.hpp"
#include "schema/service.capnp.h"

namespace nomad::client {

namespace service_provider {

struct Register {
  using is_message = void;
  std::string provider;
  std::string alloc_id;
  std::string task;  ///< "": the group's.
  std::vector<Object<schema::ServiceRegistration>> services;
};

struct Deregister {
  using is_message = void;
  std::string provider;
  std::string alloc_id;
  std::vector<std::string> ids;
};

struct Done {
  using is_message = void;
};

/// How a check stands.
struct Check {
  std::string task;  ///< Whose service it is of; "": the group's.
  std::string service;
  std::string name;
  workload::CheckStatus status{};
  std::string output{};

  bool stands_as(const Check& other) const {
    return task == other.task && service == other.service && name == other.name
           && status == other.status;
  }
};

/// All checks of the allocation, whenever one has another status. Told, and not answered.
struct ChecksChanged {
  using is_message = void;
  std::string provider;
  std::string alloc_id;
  std::vector<Check> checks;
};

/// The provider knows nothing (any more): it is to be told everything.
struct Began {
  using is_message = void;
  std::string provider;
};

}  // namespace service_provider

using ServiceProvider = actor::Interface<service_provider::Done(service_provider::Register),
                                         service_provider::Done(service_provider::Deregister),
                                         void(service_provider::ChecksChanged)>;

/// Who has something registered.
using ProviderWatcher = actor::Interface<void(service_provider::Began)>;

}  // namespace nomad::client
