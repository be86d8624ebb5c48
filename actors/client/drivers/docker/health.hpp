// DockerHealth: how the engine is: asked when the driver is, and told when it goes or comes. When
// it is looked at decides a HealthMachine (runtime/docker); here that is done. Lives in the
// driver's actor.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "actors/client/drivers/docker/performer.hpp"
#include "runtime/docker/health_machine.hpp"

namespace nomad::client {

class DockerHealth {
public:
  /// `came`: called each time the engine has come.
  DockerHealth(DockerContext& context, std::function<void()> came);

  /// Asks the engine. Answered once, in time also if it hangs.
  actor::Answer<driver::Answered> ask();

  bool is_there() const { return life_.machine.is_there(); }

private:
  struct Life : EngineLife<docker::HealthMachine> {
    std::vector<actor::Promise<driver::Answered>> asking{};
  };

  struct Performer;

  void hear(const std::function<void(Life&)>& event);

  DockerContext& context_;
  std::function<void()> came_;
  Life life_;
};

}  // namespace nomad::client
