// ServiceWrites: changes of services that wait for their log entry. One entry is written at a time,
// and what comes meanwhile goes into the next one together, up to a bound. Part of the node
// endpoint and of its thread.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>

#include "actors/roles/node_door.hpp"
#include "actors/server/actor_proposer.hpp"
#include "runtime/cluster/service_commands.hpp"

namespace nomad::server {

class ServiceWrites {
public:
  using Promise = actor::Promise<door::Reply>;
  using Write = std::function<void(const Object<schema::Command>&, ActorProposer::Then)>;

  /// `write` proposes a command and calls back, in a later turn.
  explicit ServiceWrites(Write write) : write_{std::move(write)} {}

  /// `overloaded` when too much waits already.
  Result<> check_room(const cluster::ServiceChange& change) const;

  /// Writes the change, which is not empty, and answers `promise` when that is durable.
  void add(cluster::ServiceChange change, Promise promise);

private:
  struct Waiting {
    cluster::ServiceChange change;
    Promise promise;
  };

  void write_next();

  Write write_;
  std::deque<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool is_writing_ = false;
};

}  // namespace nomad::server
