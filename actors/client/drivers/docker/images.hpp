// DockerImages: the images of tasks: found, loaded or pulled before a container is made of one, and
// removed a while after the last task that needed it. What is to be done decides an ImageMachine
// (runtime/docker); here that is done. Lives in the driver's actor.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "actors/client/drivers/docker/performer.hpp"
#include "runtime/docker/image_machine.hpp"

namespace nomad::client {

struct ImageRequest {
  docker::ImageName name;
  std::string user;     ///< Who keeps it from being removed: a task, or an allocation's network.
  driver::TaskId task;  ///< Who is told of the progress.
  bool force_pull = false;
  std::string archive{};       ///< To be loaded: a file of the host; empty: none.
  std::string archive_root{};  ///< What that must not lead out of.
  docker::Auth auth{};
  bool auth_soft_fail = false;
  Nanoseconds timeout = std::chrono::minutes{5};
};

class DockerImages {
public:
  /// The image's id; without one, whether another try may do.
  using Done = std::function<void(const Result<std::string>& id, bool may_pass)>;

  explicit DockerImages(DockerContext& context);

  /// `done` is called once, in a later turn, unless `forget` came before.
  void get(const ImageRequest& request, Done done);

  /// Who waits for an image does no more. A pull that nobody waits for is broken off.
  void forget(const std::string& user);

  /// A task that was found running needs the image.
  void adopt(const std::string& id, const std::string& user);

  /// Needs it no more.
  void release(const std::string& user);

private:
  struct Waiter {
    ImageRequest request;
    Done done;
  };

  struct SharedProgress;

  struct Life : EngineLife<docker::ImageMachine> {
    std::map<docker::ImageMachine::Round, std::shared_ptr<SharedProgress>> pulls{};
    std::map<std::string, Waiter> waiters{};  ///< By user.
  };

  struct Performer;

  void hear(const std::function<void(Life&)>& event);

  DockerContext& context_;
  Life life_;
};

}  // namespace nomad::client
