#include "actors/client/drivers/docker/context.hpp"

#include <algorithm>
#include <utility>

#include "actors/core/supervise.hpp"

namespace nomad::client {

using docker::EngineRequest;

DockerContext::DockerContext(Driver::pointer self,
                             const DriverOptions& options,
                             docker::AgentSettings settings,
                             const EngineFactory& make_engine)
    : self_{self},
      turns_{actor::turns_of(self)},
      options_{options},
      settings_{std::move(settings)},
      engine_{make_engine(settings_.socket, "docker")},
      logs_{make_engine(settings_.socket, "docker-logs")} {}

docker::Engine::Done DockerContext::in_turn(Then then) const {
  const auto call
      = turns_.callback([then = std::move(then)](docker::EngineOutcome outcome) { then(outcome); });
  return [call](Result<docker::EngineAnswer> answer) { call(docker::judged(std::move(answer))); };
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
  actor::post_after(self_, std::max(delay, Nanoseconds{0}), std::move(action));
}

void DockerContext::tell(const driver::TaskId& id, std::string_view message) {
  self_->send(options_.agent, driver::message(id, options_.unix_now(), message));
}

}  // namespace nomad::client
