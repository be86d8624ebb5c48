#include "actors/client/drivers/docker/health.hpp"

#include <string>

#include <unistd.h>

#include "runtime/base/text.hpp"
#include "runtime/config/address_template.hpp"

namespace nomad::client {
namespace {

docker::HealthTraits traits_of(const docker::AgentSettings& settings) {
  docker::HealthTraits traits{.is_root = ::geteuid() == 0};
  auto& attributes = traits.attributes;
  if (settings.allows_privileged) attributes["driver.docker.privileged.enabled"] = "true";
  if (settings.pids_limit > 0)
    attributes["driver.docker.pids.limit"] = std::to_string(settings.pids_limit);
  if (settings.allows_volumes) attributes["driver.docker.volumes.enabled"] = "true";
  return traits;
}

/// The IPv4 address of an interface of this machine; "" where it is not known.
std::string address_of(const std::string& interface) {
  for (const auto& address : config::LocalAddresses::read().all)
    if (address.interface == interface && address.ip.find(':') == std::string::npos)
      return address.ip;
  return {};
}

Object<schema::plugin::Fingerprint> fingerprint_of(docker::EngineHealth health) {
  if (!health.bridge_interface.empty())
    if (auto ip = address_of(health.bridge_interface); !ip.empty())
      health.attributes["driver.docker.bridge_ip"] = std::move(ip);
  return driver::make_fingerprint(health.detected, health.healthy, health.description,
                                  health.attributes);
}

}  // namespace

struct DockerHealth::Performer : EnginePerformer<Life> {
  using EnginePerformer::operator();

  const std::function<void()>& came;

  void operator()(const docker::health_action::SetApi& action) const {
    context.engine().set_api(action.api);
    context.log_engine().set_api(action.api);
  }

  void operator()(const docker::health_action::Watch& action) const {
    context.engine().follow(
        {.target
         = "/events?filters=" + percent_encode(R"({"type":["daemon"],"event":["reload"]})")},
        {.header = std::chrono::milliseconds{0}},
        {.piece = [](std::string_view) { return Result<>{}; },
         .ended = context.in_turn(answered(action.round))});
  }

  void operator()(const docker::health_action::TellAsked& action) const {
    const auto outcome = fingerprint_of(action.health);
    for (const auto& asking : std::exchange(life.asking, {}))
      asking.deliver(driver::fingerprinted(outcome));
  }

  void operator()(const docker::health_action::TellChange& action) const {
    context.self()->send(context.options().agent,
                         driver::felt(context.options().name, fingerprint_of(action.health)));
  }

  void operator()(const docker::health_action::TellCame&) const { came(); }
};

DockerHealth::DockerHealth(DockerContext& context, std::function<void()> came)
    : context_{context},
      came_{std::move(came)},
      life_{{docker::HealthMachine{traits_of(context.settings())}}} {}

void DockerHealth::hear(const std::function<void(Life&)>& event) {
  event(life_);
  perform_all(Performer{{context_, life_, [this](const auto& next) { hear(next); }}, came_});
}

/// Machines without an engine get no thread for one.
actor::Answer<driver::Answered> DockerHealth::ask() {
  auto answer = context_.self()->make_response_promise<driver::Answered>();
  const bool may_be_there = ::access(context_.settings().socket.c_str(), F_OK) == 0;
  hear([&](Life& life) {
    life.asking.push_back(answer);
    life.machine.ask_health(may_be_there);
  });
  return answer;
}

}  // namespace nomad::client
