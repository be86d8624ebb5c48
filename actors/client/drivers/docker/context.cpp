#include "actors/client/drivers/docker/context.hpp"

#include <algorithm>
#include <utility>

#include "actors/core/supervise.hpp"

namespace nomad::client {

using docker_driver::Turn;

namespace {

/// As long as Nomad gives the engine.
constexpr auto engine_patience = std::chrono::minutes{5};

}  // namespace

bool is_away(const Error& err) {
  return err.code == Errc::unavailable || err.code == Errc::timeout || err.code == Errc::io
         || err.code == Errc::corrupt;
}

DockerContext::DockerContext(DockerSelf::pointer self,
                             const DriverOptions& options,
                             docker::AgentSettings settings)
    : self_{self},
      options_{options},
      settings_{std::move(settings)},
      engine_{docker::connect_engine(settings_.socket, "docker")},
      logs_{docker::connect_engine(settings_.socket, "docker-logs")} {}

std::function<void(DockerContext::Action)> DockerContext::caller() const {
  return [internal = DockerSelf{self_}](Action action) {
    actor::tell(internal, Turn{std::move(action)});
  };
}

void DockerContext::ask(docker::EngineRequest request,
                        std::chrono::milliseconds timeout,
                        Then then) {
  engine_->ask(std::move(request), timeout,
               [call = caller(), then = std::move(then)](Result<docker::EngineAnswer> answer) {
                 auto shared
                     = std::make_shared<docker::EngineOutcome>(docker::judged(std::move(answer)));
                 call([then, shared] { then(*shared); });
               });
}

void DockerContext::ask(docker::EngineRequest request, Then then) {
  ask(std::move(request), engine_patience, std::move(then));
}

docker::Engine::CallId DockerContext::follow(docker::EngineRequest request,
                                             docker::Engine::Limits limits,
                                             Piece piece,
                                             Then ended) {
  return engine_->follow(
      std::move(request), limits,
      {.piece = std::move(piece),
       .ended = [call = caller(), ended = std::move(ended)](Result<docker::EngineAnswer> answer) {
         auto shared = std::make_shared<docker::EngineOutcome>(docker::judged(std::move(answer)));
         call([ended, shared] { ended(*shared); });
       }});
}

void DockerContext::after(Nanoseconds delay, Action action) {
  actor::send_self_after(self_, std::max(delay, Nanoseconds{0}), Turn{std::move(action)});
}

void DockerContext::tell(const driver::TaskId& id, std::string_view message) {
  self_->send(options_.host, driver::message(id, options_.unix_now(), message));
}

}  // namespace nomad::client
