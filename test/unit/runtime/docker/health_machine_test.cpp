// runtime/docker/health_machine: transcripts of how an engine is looked at, and a world in which it
// goes and comes. After a wanted change of behaviour run with NOMAD_REWRITE_TRANSCRIPTS=1 and
// review the difference.
#include "runtime/docker/health_machine.hpp"

#include <cstdint>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/base/overloaded.hpp"
#include "test/support/transcript.hpp"
#include "test/unit/runtime/docker/engine_transcript.hpp"
#include "test/unit/runtime/docker/health_world.hpp"

using namespace nomad;

namespace {

namespace health_action = docker::health_action;

class HealthPlayer {
public:
  std::vector<std::string> play(const std::string& line) {
    std::istringstream words{line};
    std::string first, second;
    words >> first >> second;
    if (first == "user")
      machine_ = docker::HealthMachine{{.is_root = false}};
    else if (first == "ask")
      machine_.ask_health(second.empty());
    else if (second == "time")
      machine_.time_over(std::stoull(first));
    else
      machine_.answered(std::stoull(first), test::outcome_of(second, words).value());
    std::vector<std::string> done;
    for (const auto& action : machine_.take())
      done.push_back(show(action));
    return done;
  }

private:
  static std::string show(const docker::EngineHealth& health) {
    auto text = fmt::format("{}, {}: {}", health.detected ? "detected" : "undetected",
                            health.healthy ? "healthy" : "unhealthy", health.description);
    for (const auto& [name, value] : health.attributes)
      text += fmt::format(" {}={}", name, value);
    return text + (health.bridge_interface.empty() ? "" : " bridge " + health.bridge_interface);
  }

  static std::string show(const docker::HealthAction& action) {
    return std::visit(
        Overloaded{
            [](const auto& it) { return test::show(it); },
            [](const health_action::SetApi& it) { return "set api " + it.api; },
            [](const health_action::Watch& it) { return test::awaited(it.round, "watch"); },
            [](const health_action::TellAsked& it) { return "tell asked " + show(it.health); },
            [](const health_action::TellChange& it) { return "tell change " + show(it.health); },
            [](const health_action::TellCame&) -> std::string { return "tell came"; }},
        action);
  }

  docker::HealthMachine machine_{
      {.is_root = true, .attributes = {{"driver.docker.volumes.enabled", "true"}}}};
};

}  // namespace

TEST_CASE("health_machine: transcripts") {
  test::check_transcripts(NOMAD_TRANSCRIPTS "/health", test::replay<HealthPlayer>);
}

TEST_CASE("health_machine: whatever happens, the engine's going and coming is told, and once") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    const auto broken = test::run_health_world(seed);
    CHECK_MESSAGE(!broken, broken.value_or(""));
  }
}
