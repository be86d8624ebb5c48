#include "actors/client/node/node_sockets.hpp"

#include <chrono>
#include <vector>

#include "runtime/base/log.hpp"

namespace nomad::client {
namespace {

constexpr auto between_socket_looks = std::chrono::minutes{1};

void tell(const std::vector<TaskSockets::PutBack>& all) {
  for (const auto& [name, outcome] : all)
    if (outcome)
      log::warn("client", "a task's socket for the API was not where it had been, and is put back",
                {{"task", name}});
    else
      log::warn("client", "a task's socket for the API is gone, and can't be put back",
                {{"task", name}, {"error", outcome.error()}});
}

}  // namespace

void NodeSockets::begin() {
  sockets_ = parts_.plugins->sockets;
  if (sockets_) wait();
}

void NodeSockets::wait() {
  actor::send_self_after(self_, between_socket_looks, Due{});
}

void NodeSockets::due() {
  if (parts_.stopping) return;
  const auto look = [sockets = sockets_]() -> Result<std::vector<TaskSockets::PutBack>> {
    return sockets->put_back();
  };
  self_->request(parts_.steps, actor::infinite, blocking::make(look))
      .then(
          [this](const blocking::Outcome& outcome) {
            tell(outcome.as<std::vector<TaskSockets::PutBack>>());
            wait();
          },
          [this](const Error& err) {
            log::warn("client", "the sockets of tasks are not looked at", {{"error", err}});
            wait();
          });
}

}  // namespace nomad::client
