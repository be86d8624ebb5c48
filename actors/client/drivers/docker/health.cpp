#include "actors/client/drivers/docker/health.hpp"

#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include "runtime/base/log.hpp"
#include "runtime/base/text.hpp"
#include "runtime/config/address_template.hpp"

namespace nomad::client {

using docker::EngineOutcome;

namespace {

constexpr auto health_time = std::chrono::seconds{5};
constexpr auto health_pause = std::chrono::seconds{1};

/// Where containers find this machine; "" where it is not known.
std::string bridge_ip(const docker::BridgeNetwork& bridge) {
  if (!bridge.gateway.empty() || bridge.interface.empty()) return bridge.gateway;
  for (const auto& address : config::LocalAddresses::read().all)
    if (address.interface == bridge.interface && address.ip.find(':') == std::string::npos)
      return address.ip;
  return {};
}

}  // namespace

actor::Answer<driver::Answered> DockerHealth::ask() {
  // Machines without an engine get no thread for one.
  if (!was_there_ && ::access(context_.settings().socket.c_str(), F_OK) != 0)
    return driver::fingerprinted(
        driver::make_fingerprint(false, false, "Failed to connect to docker daemon"));
  auto answer = context_.self()->make_response_promise<driver::Answered>();
  look_.waiters.push_back(answer);
  begin();
  return answer;
}

void DockerHealth::begin() {
  if (std::exchange(is_asking_, true)) return;
  look_.attributes.clear();
  context_.ask({.target = "/version"}, health_time, [this](const EngineOutcome& answer) {
    if (!answer) return failed(answer.error().what);
    const auto version = docker::read_version(answer->body);
    if (!version) return failed(version.error().what);
    got_version(*version);
  });
}

void DockerHealth::got_version(const docker::EngineVersion& version) {
  const auto api = docker::choose_api(version);
  if (!api) {
    is_there_ = false;
    return finish(driver::make_fingerprint(true, false, api.error().what));
  }
  context_.engine().set_api(*api);
  context_.log_engine().set_api(*api);
  auto& attributes = look_.attributes;
  attributes = {{"driver.docker", "true"}, {"driver.docker.version", version.version}};
  const auto& settings = context_.settings();
  if (settings.allows_privileged) attributes["driver.docker.privileged.enabled"] = "true";
  if (settings.pids_limit > 0)
    attributes["driver.docker.pids.limit"] = std::to_string(settings.pids_limit);
  if (settings.allows_volumes) attributes["driver.docker.volumes.enabled"] = "true";
  ask_information();
}

void DockerHealth::ask_information() {
  context_.ask({.target = "/info"}, health_time, [this](const EngineOutcome& answer) {
    if (!answer) return failed(answer.error().what);
    const auto info = docker::read_info(answer->body);
    if (!info) return failed(info.error().what);
    auto& attributes = look_.attributes;
    attributes["driver.docker.runtimes"] = join(info->runtimes, ",");
    attributes["driver.docker.os_type"] = info->os_type;
    attributes["driver.docker.cgroup_driver"] = info->cgroup_driver;
    if (info->cgroup_version == "2" && ::geteuid() != 0)
      return finish(driver::make_fingerprint(false, false, "Driver must run as root"));
    ask_network();
  });
}

void DockerHealth::ask_network() {
  context_.ask({.target = "/networks/bridge"}, health_time, [this](const EngineOutcome& answer) {
    if (answer)
      if (auto ip = bridge_ip(docker::read_bridge(answer->body)); !ip.empty())
        look_.attributes["driver.docker.bridge_ip"] = std::move(ip);
    const bool came = !std::exchange(is_there_, true);
    was_there_ = true;
    finish(driver::make_fingerprint(true, true, "Healthy", look_.attributes));
    watch();
    if (came) came_();
  });
}

void DockerHealth::failed(const std::string& why) {
  if (is_there_) log::warn("client", "docker: {}", why);
  is_there_ = false;
  finish(driver::make_fingerprint(was_there_, false, "Failed to connect to docker daemon"));
}

void DockerHealth::finish(const Fingerprint& outcome) {
  is_asking_ = false;
  for (const auto& waiter : std::exchange(look_.waiters, {}))
    waiter.deliver(driver::fingerprinted(outcome));
  if (std::exchange(tells_, false))
    context_.self()->send(context_.options().host, driver::felt(context_.options().name, outcome));
  if (!was_there_ || is_there_ || std::exchange(looks_again_, true)) return;
  context_.after(health_pause, [this] {
    looks_again_ = false;
    tells_ = true;
    begin();
  });
}

/// Of the daemon itself there is nearly never an event: what counts is that the stream is open.
void DockerHealth::watch() {
  if (std::exchange(is_watching_, true)) return;
  context_.engine().follow(
      {.target = "/events?filters=" + percent_encode(R"({"type":["daemon"],"event":["reload"]})")},
      {.header = std::chrono::milliseconds{0}},
      {.piece = [](std::string_view) { return Result<>{}; },
       .ended = context_.in_turn([this](const EngineOutcome&) { watch_ended(); })});
}

void DockerHealth::watch_ended() {
  is_watching_ = false;
  if (!is_there_) return;
  tells_ = true;
  begin();
}

}  // namespace nomad::client
