// FakeEngine: what a container engine has and answers, for tests: containers, images, and the
// questions that the driver docker asks, by HTTP's words. No time, no thread, no socket: who
// carries questions to it decides when they come, and which answers are lost.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/docker/engine.hpp"

namespace nomad::test {

struct FakeContainer {
  std::string id;
  std::string name;
  std::string image;
  std::string network_mode;
  std::vector<std::string> command;
  docker::Texts labels;
  std::string status = "created";  ///< "running", "exited"
  int exit_code = 0;
  int signals = 0;       ///< That it was sent.
  std::int64_t pid = 0;  ///< While it runs; 0: the test's own.

  bool is_running() const { return status == "running"; }

  std::string label(const char* name) const;
};

class FakeEngine {
public:
  /// Nothing: the question is answered when something has changed; ask again then.
  std::optional<docker::EngineAnswer> answer(const docker::EngineRequest& request);

  std::vector<FakeContainer> containers;
  std::set<std::string> images;      ///< That are here, by name.
  std::set<std::string> registry;    ///< That can be pulled; empty: all.
  std::string log;                   ///< What each container has said: frames.
  std::map<std::string, int> asked;  ///< "POST /containers/{}/start": how often.

  /// Before a container runs, and after it has ended, also by its removal.
  std::function<void(const FakeContainer&)> on_start = [](const FakeContainer&) {};
  std::function<void(const FakeContainer&)> on_end = [](const FakeContainer&) {};
  /// Who is asked to end ends; else only those that are killed.
  std::function<bool(const FakeContainer&)> obeys = [](const FakeContainer&) { return true; };

  FakeContainer* find(std::string_view id_or_name);
  void end(std::string_view id_or_name, int exit_code);
  void forget(std::string_view id_or_name);

private:
  std::optional<docker::EngineAnswer> answer_container(const docker::EngineRequest& request,
                                                       FakeContainer& container,
                                                       std::string_view what,
                                                       std::string_view query);
  docker::EngineAnswer create(std::string_view query, std::string_view body);
  docker::EngineAnswer answer_image(const docker::EngineRequest& request,
                                    std::string_view path,
                                    std::string_view query);
  docker::EngineAnswer list(std::string_view query) const;

  std::uint64_t ids_ = 0;
};

/// Carries questions to a FakeEngine, as the way to a real one does, but when and how the test
/// wants: on its one thread, late, never, or twice.
class FakeEngineCalls {
public:
  enum class Fate : std::uint8_t {
    answered,
    lost,  ///< Done, but the connection breaks.
    refused,
    twice,
  };

  FakeEngine engine;
  bool is_away = false;
  std::function<Fate(const docker::EngineRequest&)> fate
      = [](const docker::EngineRequest&) { return Fate::answered; };
  /// Whether the question has to wait for now.
  std::function<bool(const docker::EngineRequest&)> holds
      = [](const docker::EngineRequest&) { return false; };
  /// How a question reaches the engine, and its answer whoever asked.
  std::function<void(std::function<void()>)> later
      = [](const std::function<void()>& action) { action(); };

  /// For the driver; it may end before this, and after which nobody is told anything.
  std::unique_ptr<docker::Engine> connect();

  /// Questions that wait are asked again: something has changed.
  void look_again();

  /// All connections break, and there are no new ones until `is_away` is false.
  void die();

  /// Whoever asked is gone. What has not arrived yet does so all the same if `arrives` says so.
  void abandon(const std::function<bool()>& arrives);

  std::size_t waiting() const { return calls_.size(); }

private:
  friend class FakeEngineLink;

  struct Call {
    docker::EngineRequest request;
    docker::Engine::Follower follower;
    bool has_arrived = false;
  };

  docker::Engine::CallId begin(docker::EngineRequest request, docker::Engine::Follower follower);
  void serve(docker::Engine::CallId id);
  void end(docker::Engine::CallId id, const Result<docker::EngineAnswer>& outcome, bool twice);

  std::map<docker::Engine::CallId, Call> calls_;
  docker::Engine::CallId ids_ = 0;
};

/// An answer with the status and the message of an engine.
docker::EngineAnswer engine_refusal(unsigned status, std::string_view message);

}  // namespace nomad::test
