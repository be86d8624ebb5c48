// DockerInfra: how containers come into the network of their group. The namespace was made for the
// allocation, as for all drivers; an engine lets a container join no namespace but another
// container's. So there is one container for each allocation, whose process enters the namespace
// and waits (`nomadctl-executor pause`); the tasks' containers join its network.
//
// It is made with the first task that needs it, and removed with the last. Lives in the driver's
// actor.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "actors/client/drivers/docker/context.hpp"
#include "runtime/docker/container_body.hpp"

namespace nomad::client {

class DockerInfra {
public:
  /// The id of the container; if there is none, whether another try may do.
  using Done = std::function<void(const Result<std::string>& id, bool may_pass)>;

  explicit DockerInfra(DockerContext& context) : context_{context} {}

  /// One that is there and in the right namespace is taken.
  void join(const docker::InfraSpec& spec, Done done);

  /// No task of the allocation needs it any more.
  void leave(const std::string& alloc_id, DockerContext::Action done);

private:
  struct Joining {
    docker::InfraSpec spec;
    std::vector<Done> waiters;
    std::vector<DockerContext::Action>
        leavers;            ///< Answered when there is a container to remove, or none.
    bool is_wanted = true;  ///< Whoever came last came to join.
  };

  struct Leaving {
    std::vector<DockerContext::Action> leavers;
    std::vector<std::pair<docker::InfraSpec, Done>>
        joins;  ///< What is being removed is not theirs.
  };

  void look(const std::string& alloc_id);
  void found(const std::string& alloc_id, const docker::Container& container);
  void make(const std::string& alloc_id, int tries);
  void replace(const std::string& alloc_id, int tries);
  void start(const std::string& alloc_id, const std::string& id);
  void compare(const std::string& alloc_id, std::int64_t pid, std::function<void(bool)> then);
  void judge(const std::string& alloc_id,
             const docker::Container& container,
             int looks,
             bool is_inside);
  void await_namespace(const std::string& alloc_id, const std::string& id, int looks);
  void finish(const std::string& alloc_id, const Result<std::string>& id, bool may_pass = false);
  void fail(const std::string& alloc_id, const docker::EngineOutcome& answer);

  DockerContext& context_;
  std::map<std::string, Joining> joining_;  ///< By allocation.
  std::map<std::string, Leaving> leaving_;
};

}  // namespace nomad::client
