#include "test/unit/runtime/docker/container_transcript.hpp"

#include <optional>
#include <sstream>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "runtime/base/overloaded.hpp"
#include "runtime/docker/container_machine.hpp"
#include "test/support/transcript.hpp"

namespace nomad::test {
namespace {

using namespace docker;
using namespace docker::container_action;

/// "exited, run other, exit 3": a container as the engine shows it.
std::string container_json(std::istringstream& words) {
  std::string status, run = "run", agent = "us", network = "bridge", exit = "0", logs, word;
  words >> status;
  while (words >> word)
    if (word == "run")
      words >> run;
    else if (word == "agent")
      words >> agent;
    else if (word == "exit")
      words >> exit;
    else if (word == "joined")
      network = "container:n1";
    else if (word == "logs")
      logs = R"(,"nomadctl.logs":"2 100 /alloc")";
    else
      throw std::invalid_argument{"no word of a container: " + word};
  return fmt::format(
      R"({{"Id":"c1","Name":"/web-a","Image":"sha256:1","State":{{"Status":"{}","Running":{},"ExitCode":{}}},)"
      R"("Config":{{"Labels":{{"nomadctl.run":"{}","nomadctl.agent":"{}"{}}}}},"HostConfig":{{"NetworkMode":"{}"}}}})",
      status, status == "running", exit, run, agent, logs, network);
}

class Player {
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
    if (what == "start")
      machine_.start({.run_id = "run", .image = "busybox:1", .joins_network = first == "joined"});
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
    if (what == "ok") return machine_.answered(round, judged(EngineAnswer{204, {}}));
    if (what == "created")
      return machine_.answered(round, judged(EngineAnswer{201, R"({"Id":"c1"})"}));
    if (what == "container")
      return machine_.answered(round, judged(EngineAnswer{200, container_json(words)}));
    words >> why;
    const Error err{Errc::rejected, "no luck"};
    if (what == "away")
      return machine_.answered(round, {Error{Errc::unavailable, "cannot connect"}});
    if (what == "refused")
      return machine_.answered(round, judged(EngineAnswer{static_cast<unsigned>(std::stoi(why)),
                                                          R"({"message":"no"})"}));
    if (what == "no" && why == "image") return machine_.ready(round, err, true);
    if (what == "no" && why == "network") return machine_.ready(round, err, false);
    if (what == "no" && why == "body") return machine_.ready(round, err, false);
    if (what == "no" && why == "logs") return machine_.done(round, err);
    throw std::invalid_argument{"unknown answer: " + what};
  }

  static std::string show(const ContainerAction& action) {
    const auto waits
        = [](Round round, const std::string& text) { return fmt::format("{}: {}", round, text); };
    return std::visit(
        Overloaded{
            [&](const GetImage& it) { return waits(it.round, "get image"); },
            [](const AdoptImage& it) { return "adopt image " + it.image; },
            [](const ReleaseImage&) -> std::string { return "release image"; },
            [&](const JoinNetwork& it) { return waits(it.round, "join network"); },
            [&](const LeaveNetwork& it) { return waits(it.round, "leave network"); },
            [&](const Prepare& it) {
              return waits(it.round, fmt::format("prepare {} {}", it.image, it.network_container));
            },
            [&](const Ask& it) {
              return waits(it.round, fmt::format("{} {}", it.request.method, it.request.target));
            },
            [](const Withdraw& it) { return fmt::format("withdraw {}", it.round); },
            [&](const Wait& it) { return waits(it.round, "wait " + format_duration(it.delay)); },
            [&](const OpenLogs& it) {
              return waits(it.round, it.is_new ? "open new logs" : "open logs");
            },
            [&](const FollowLogs& it) {
              return waits(it.round, it.is_rest ? "read the rest of the logs" : "follow logs");
            },
            [](const CloseLogs&) -> std::string { return "close logs"; },
            [&](const ForgetLogs& it) { return waits(it.round, "forget logs"); },
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
            [](const LogError& it) { return "log " + it.text; },
            [](const End&) -> std::string { return "end"; }},
        action);
  }

  ContainerMachine machine_{{.name = "web-a", .agent = "us"}};
};

}  // namespace

std::string replay_container(const std::string& transcript) {
  return replay<Player>(transcript);
}

}  // namespace nomad::test
