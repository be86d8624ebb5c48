// DockerInfra: how containers come into the network of their group: each allocation has a container
// that holds it. What is to be done about one decides its InfraMachine (runtime/docker); here that
// is done. Lives in the driver's actor.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "actors/client/drivers/docker/performer.hpp"
#include "runtime/docker/infra_machine.hpp"

namespace nomad::client {

class DockerInfra {
public:
  /// The id of the container; if there is none, whether another try may do.
  using Done = std::function<void(const Result<std::string>& id, bool may_pass)>;

  explicit DockerInfra(DockerContext& context) : context_{context} {}

  /// One that is there and in the right namespace is taken. `done` is called once, in a later turn.
  void join(const docker::InfraSpec& spec, Done done);

  /// No task of the allocation needs it any more. `done` is called once, in a later turn.
  void leave(const std::string& alloc_id, DockerContext::Action done);

private:
  struct Network : EngineLife<docker::InfraMachine> {
    std::uint64_t number = 0;
    std::vector<Done> joining{};
    std::vector<DockerContext::Action> leaving{};
    bool is_over = false;
  };

  struct Performer;

  Network& network_of(const std::string& alloc_id);
  void carry_out(const std::string& alloc_id);

  DockerContext& context_;
  std::map<std::string, Network> networks_;  ///< By allocation.
  std::uint64_t numbers_ = 0;
};

}  // namespace nomad::client
