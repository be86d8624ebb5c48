// DockerImages: the images of tasks: found, loaded or pulled before a container is made of one, and
// removed a while after the last task that needed it.
//
// One pull for each image at a time, whoever asks for it shares it, and it ends when nobody waits
// any more. Lives in the driver's actor.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "actors/client/drivers/docker/context.hpp"
#include "runtime/docker/image_name.hpp"

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

  explicit DockerImages(DockerContext& context) : context_{context} {}

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

  struct Pull {
    std::uint64_t number = 0;
    docker::Engine::CallId call = 0;
    std::shared_ptr<SharedProgress> progress;
    std::vector<Waiter> waiters;
  };

  struct Kept {
    std::set<std::string> users;
    std::uint64_t removal = 0;  ///< Of the planned one; another number is void.
  };

  void look(const ImageRequest& request, const Done& done, bool is_last);
  void load(const ImageRequest& request, const Done& done);
  void find_auth(const ImageRequest& request, const Done& done);
  void pull(const ImageRequest& request, const Done& done, const std::string& auth);
  void begin_pull(const std::string& key, const ImageRequest& request, const std::string& auth);
  void pull_ended(const std::string& key,
                  std::uint64_t number,
                  const Result<>& outcome,
                  docker::EngineError::Kind why = {});
  void tell_progress(const std::string& key, std::uint64_t number);
  void keep(const std::string& id, const std::string& user);
  void plan_removal(const std::string& id);
  void remove(const std::string& id, std::uint64_t removal, int tries);

  DockerContext& context_;
  std::map<std::string, Pull> pulls_;  ///< By the image's text.
  std::map<std::string, Kept> kept_;   ///< By id.
  std::set<std::string> asking_;  ///< Users for whom something is asked, and who want it still.
  std::uint64_t numbers_ = 0;
};

}  // namespace nomad::client
