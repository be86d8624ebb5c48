// runtime/docker/infra_machine: transcripts of how the container of a group's network is made,
// joined and removed, and tasks of a group in a world where engine and agent fail. After a wanted
// change of behaviour run with NOMAD_REWRITE_TRANSCRIPTS=1 and review the difference.
#include "runtime/docker/infra_machine.hpp"

#include <cstdint>
#include <stdexcept>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/base/overloaded.hpp"
#include "test/support/transcript.hpp"
#include "test/unit/runtime/docker/engine_transcript.hpp"
#include "test/unit/runtime/docker/infra_world.hpp"

using namespace nomad;

namespace {

namespace infra_action = docker::infra_action;

class InfraPlayer {
public:
  std::vector<std::string> play(const std::string& line) {
    std::istringstream words{line};
    std::string first, second;
    words >> first >> second;
    if (first == "join")
      machine_.join({.alloc_id = "a",
                     .agent = "us",
                     .image = "busybox:1",
                     .hostname = {},
                     .program = {},
                     .network_namespace = "/ns"});
    else if (first == "leave")
      machine_.leave();
    else
      answer(std::stoull(first), second, words);
    std::vector<std::string> done;
    for (const auto& action : machine_.take())
      done.push_back(show(action));
    return done;
  }

private:
  void answer(std::uint64_t round, const std::string& what, std::istringstream& words) {
    if (what == "time") return machine_.time_over(round);
    if (what == "inside") return machine_.compared(round, true);
    if (what == "elsewhere") return machine_.compared(round, false);
    machine_.answered(round, test::outcome_of(what, words).value());
  }

  static std::string show(const docker::InfraAction& action) {
    return std::visit(
        Overloaded{[](const auto& it) { return test::show(it); },
                   [](const infra_action::Compare& it) {
                     return test::awaited(
                         it.round, fmt::format("compare {} with {}", it.pid, it.network_namespace));
                   },
                   [](const infra_action::TellJoined& it) {
                     if (it.container) return "tell joined " + *it.container;
                     return fmt::format("tell failed{}: {}", it.may_pass ? ", may pass" : "",
                                        it.container.error().what);
                   },
                   [](const infra_action::TellLeft&) -> std::string { return "tell left"; },
                   [](const infra_action::End&) -> std::string { return "end"; }},
        action);
  }

  docker::InfraMachine machine_{{.name = "nomad_init_a", .agent = "us"}};
};

}  // namespace

TEST_CASE("infra_machine: transcripts") {
  test::check_transcripts(NOMAD_TRANSCRIPTS "/infra", test::replay<InfraPlayer>);
}

TEST_CASE(
    "infra_machine: whatever happens, what a task has joined stays, and then nothing is left") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    const auto broken = test::run_infra_world(seed);
    CHECK_MESSAGE(!broken, broken.value_or(""));
  }
}
