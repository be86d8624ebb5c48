#include "actors/client/drivers/docker/infra.hpp"

#include <utility>

#include <sys/stat.h>

#include <fmt/format.h>

namespace nomad::client {
namespace {

/// Whether the process is in the namespace that the file stands for.
bool is_in_namespace(std::int64_t pid, const std::string& network_namespace) {
  struct stat of_process {};

  struct stat of_file {};

  return pid > 0 && ::stat(fmt::format("/proc/{}/ns/net", pid).c_str(), &of_process) == 0
         && ::stat(network_namespace.c_str(), &of_file) == 0 && of_process.st_ino == of_file.st_ino
         && of_process.st_dev == of_file.st_dev;
}

}  // namespace

struct DockerInfra::Performer : EnginePerformer<Network> {
  using EnginePerformer::operator();

  void operator()(const docker::infra_action::Compare& action) const {
    context.work<bool>(
        [action]() -> Result<bool> {
          return is_in_namespace(action.pid, action.network_namespace);
        },
        [hear = hear, round = action.round](const Result<bool>& is_inside) {
          hear([&](Network& to) { to.machine.compared(round, is_inside.value_or(false)); });
        });
  }

  // Whoever is told may give orders at once; so that waits for a turn of its own.

  void operator()(const docker::infra_action::TellJoined& action) const {
    for (const auto& done : std::exchange(life.joining, {}))
      context.turns().post([done, action] { done(action.container, action.may_pass); });
  }

  void operator()(const docker::infra_action::TellLeft&) const {
    for (const auto& done : std::exchange(life.leaving, {}))
      context.turns().post(done);
  }

  void operator()(const docker::infra_action::End&) const { life.is_over = true; }
};

DockerInfra::Network& DockerInfra::network_of(const std::string& alloc_id) {
  const auto found = networks_.find(alloc_id);
  if (found != networks_.end()) return found->second;
  return networks_
      .emplace(alloc_id, Network{{docker::InfraMachine{{.name = docker::infra_name(alloc_id),
                                                        .agent = context_.label()}}},
                                 ++numbers_})
      .first->second;
}

void DockerInfra::carry_out(const std::string& alloc_id) {
  auto& network = networks_.at(alloc_id);
  const auto hear = [this, alloc_id, number = network.number](const auto& event) {
    const auto found = networks_.find(alloc_id);
    if (found == networks_.end() || found->second.number != number) return;
    event(found->second);
    carry_out(alloc_id);
  };
  perform_all(Performer{{context_, network, hear}});
  if (network.is_over) networks_.erase(alloc_id);
}

void DockerInfra::join(const docker::InfraSpec& spec, Done done) {
  auto& network = network_of(spec.alloc_id);
  network.joining.push_back(std::move(done));
  network.machine.join(spec);
  carry_out(spec.alloc_id);
}

void DockerInfra::leave(const std::string& alloc_id, DockerContext::Action done) {
  auto& network = network_of(alloc_id);
  network.leaving.push_back(std::move(done));
  network.machine.leave();
  carry_out(alloc_id);
}

}  // namespace nomad::client
