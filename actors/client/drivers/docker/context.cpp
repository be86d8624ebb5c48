#include "actors/client/drivers/docker/context.hpp"

#include <algorithm>
#include <utility>

#include "actors/core/supervise.hpp"

namespace nomad::client {

using docker::EngineRequest;
using docker_driver::Turn;

DockerContext::DockerContext(DockerSelf::pointer self,
                             const DriverOptions& options,
                             docker::AgentSettings settings,
                             const EngineFactory& make_engine)
    : self_{self},
      options_{options},
      settings_{std::move(settings)},
      engine_{make_engine(settings_.socket, "docker")},
      logs_{make_engine(settings_.socket, "docker-logs")} {}

std::function<void(DockerContext::Action)> DockerContext::caller() const {
  return [internal = DockerSelf{self_}](Action action) {
    actor::tell(internal, Turn{std::move(action)});
  };
}

docker::Engine::Done DockerContext::in_turn(Then then) const {
  return [call = caller(), then = std::move(then)](Result<docker::EngineAnswer> answer) {
    auto shared = std::make_shared<docker::EngineOutcome>(docker::judged(std::move(answer)));
    call([then, shared] { then(*shared); });
  };
}

DockerContext::CallId DockerContext::ask(EngineRequest request,
                                         std::chrono::milliseconds timeout,
                                         const Then& then) {
  return engine_->ask(std::move(request), timeout, in_turn(then));
}

DockerContext::CallId DockerContext::ask(EngineRequest request, const Then& then) {
  return ask(std::move(request), docker::engine_patience, then);
}

void DockerContext::after(Nanoseconds delay, Action action) {
  actor::send_self_after(self_, std::max(delay, Nanoseconds{0}), Turn{std::move(action)});
}

void DockerContext::tell(const driver::TaskId& id, std::string_view message) {
  self_->send(options_.host, driver::message(id, options_.unix_now(), message));
}

}  // namespace nomad::client
