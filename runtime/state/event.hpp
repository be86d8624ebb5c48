// Event: one change as the event stream shows it: the object as it is after the change (or was
// before its removal). Everything but topic and type is read from the object, so an event costs
// one reference. Who shows it leaves secrets out (the JSON codec does).
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "runtime/object/object.hpp"
#include "schema/alloc.capnp.h"
#include "schema/deployment.capnp.h"
#include "schema/eval.capnp.h"
#include "schema/job.capnp.h"
#include "schema/node.capnp.h"
#include "schema/service.capnp.h"

namespace nomad::state {

struct Event {
  using Payload = std::variant<Object<schema::Job>,
                               Object<schema::Evaluation>,
                               Object<schema::Allocation>,
                               Object<schema::Deployment>,
                               Object<schema::Node>,
                               Object<schema::NodePool>,
                               Object<schema::ServiceRegistration>>;

  /// "JobRegistered", "PlanResult": by the command, the same for all events of one.
  std::string_view type;
  Payload payload;

  /// "Job", "Evaluation": also the name of the payload's object in the stream.
  std::string_view topic() const;
  /// The object's id or name.
  std::string_view key() const;
  /// Empty for objects outside namespaces.
  std::string_view ns() const;
  /// What else a subscription's key may name: the job's id, the deployment's.
  std::vector<std::string_view> filter_keys() const;
};

}  // namespace nomad::state
