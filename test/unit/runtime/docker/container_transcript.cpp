#include "test/unit/runtime/docker/container_transcript.hpp"

#include <sstream>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "runtime/base/overloaded.hpp"
#include "runtime/docker/container_machine.hpp"
#include "test/support/transcript.hpp"
#include "test/unit/runtime/docker/engine_transcript.hpp"

namespace nomad::test {
namespace {

using namespace docker;
using namespace docker::container_action;

class ContainerPlayer {
public:
  std::vector<std::string> play(const std::string& line) {
    std::istringstream words{line};
    std::string first;
    words >> first;
    if (first.find_first_not_of("0123456789") == std::string::npos)
      answer(std::stoull(first), words);
    else
      order(first, words);
    std::vector<std::string> done;
    for (const auto& action : machine_.take())
      done.push_back(show(action));
    return done;
  }

private:
  void order(const std::string& what, std::istringstream& words) {
    std::string first, second;
    words >> first >> second;
    const bool keeps_logs = first == "logged" || second == "logged";
    if (what == "start")
      machine_.start({.run_id = "run",
                      .image = "busybox:1",
                      .joins_network = first == "joined",
                      .keeps_logs = keeps_logs});
    else if (what == "recover")
      machine_.recover(first == "any" ? "" : "run", second);
    else if (what == "stop")
      machine_.stop(first == "-" ? "" : first, parse_duration(second).value());
    else if (what == "destroy")
      machine_.destroy();
    else
      throw std::invalid_argument{"unknown order: " + what};
  }

  void answer(Round round, std::istringstream& words) {
    std::string what, why;
    words >> what;
    if (what == "image") return machine_.ready(round, std::string{"sha256:1"}, true);
    if (what == "network") return machine_.ready(round, std::string{"n1"}, true);
    if (what == "prepared") return machine_.ready(round, std::string{"{}"}, false);
    if (what == "opened") return machine_.done(round);
    if (what == "time") return machine_.time_over(round);
    if (what == "done") return machine_.done(round);
    if (const auto outcome = outcome_of(what, words)) return machine_.answered(round, *outcome);
    words >> why;
    const Error err{Errc::rejected, "no luck"};
    if (what == "no" && why == "image") return machine_.ready(round, err, true);
    if (what == "no" && why == "network") return machine_.ready(round, err, false);
    if (what == "no" && why == "body") return machine_.ready(round, err, false);
    if (what == "no" && why == "logs") return machine_.done(round, err);
    throw std::invalid_argument{"unknown answer: " + what};
  }

  static std::string show(const ContainerAction& action) {
    return std::visit(
        Overloaded{[&](const GetImage& it) { return awaited(it.round, "get image"); },
                   [](const AdoptImage& it) { return "adopt image " + it.image; },
                   [](const ReleaseImage&) -> std::string { return "release image"; },
                   [&](const JoinNetwork& it) { return awaited(it.round, "join network"); },
                   [&](const LeaveNetwork& it) { return awaited(it.round, "leave network"); },
                   [&](const Prepare& it) {
                     return awaited(it.round,
                                    fmt::format("prepare {} {}", it.image, it.network_container));
                   },
                   [](const Ask& it) { return test::show(it); },
                   [](const Withdraw& it) { return test::show(it); },
                   [](const Wait& it) { return test::show(it); },
                   [&](const OpenLogs& it) { return awaited(it.round, "open logs"); },
                   [](const BeginLogs& it) -> std::string {
                     return it.is_terminal ? "begin logs of a terminal" : "begin logs";
                   },
                   [&](const EndLogs& it) { return awaited(it.round, "end logs"); },
                   [](const CloseLogs&) -> std::string { return "close logs"; },
                   [&](const ForgetLogs& it) { return awaited(it.round, "forget logs"); },
                   [](const TellRunning&) -> std::string { return "tell running"; },
                   [](const TellFailed& it) {
                     return fmt::format("tell failed{}: {}", it.recoverable ? ", recoverable" : "",
                                        it.error.what);
                   },
                   [](const TellExited& it) {
                     return fmt::format("tell exited {} {}", it.result.code, it.result.error);
                   },
                   [](const TellDestroyed&) -> std::string { return "tell destroyed"; },
                   [](const TellUser& it) { return "tell user: " + it.text; },
                   [](const LogError& it) {
                     return fmt::format("log {} {}: {}", it.text, it.container, it.error);
                   },
                   [](const End&) -> std::string { return "end"; }},
        action);
  }

  ContainerMachine machine_{{.name = "web-a", .agent = "us"}};
};

}  // namespace

std::string replay_container(const std::string& transcript) {
  return replay<ContainerPlayer>(transcript);
}

}  // namespace nomad::test
