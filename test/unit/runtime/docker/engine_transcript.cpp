#include "test/unit/runtime/docker/engine_transcript.hpp"

#include <iterator>
#include <stdexcept>

#include <fmt/format.h>

#include "runtime/base/duration.hpp"

namespace nomad::test {

using namespace docker;

namespace {

/// "exited, run other, exit 3": a container as the engine shows it.
std::string container_json(std::istringstream& words) {
  std::string status, run = "run", agent = "us", network = "bridge", exit = "0", pid = "0",
                      name = "web-a", word;
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
    else if (word == "pid")
      words >> pid;
    else if (word == "named")
      words >> name;
    else
      throw std::invalid_argument{"no word of a container: " + word};
  return fmt::format(
      R"({{"Id":"c1","Name":"/{}","Image":"sha256:1","State":{{"Status":"{}","Running":{},"ExitCode":{},"Pid":{}}},)"
      R"("Config":{{"Labels":{{"nomadctl.run":"{}","nomadctl.agent":"{}"}}}},"HostConfig":{{"NetworkMode":"{}"}}}})",
      name, status, status == "running", exit, pid, run, agent, network);
}

std::string rest_of(std::istringstream& words) {
  return {std::istreambuf_iterator<char>{words >> std::ws}, {}};
}

}  // namespace

std::optional<EngineOutcome> outcome_of(const std::string& what, std::istringstream& words) {
  if (what == "ok") return judged(EngineAnswer{204, {}});
  if (what == "created") return judged(EngineAnswer{201, R"({"Id":"c1"})"});
  if (what == "container") return judged(EngineAnswer{200, container_json(words)});
  if (what == "says") return judged(EngineAnswer{200, rest_of(words)});
  if (what == "away") return EngineOutcome{Error{Errc::unavailable, "cannot connect"}};
  if (what != "refused") return {};
  unsigned status = 0;
  words >> status;
  return judged(EngineAnswer{status, R"({"message":"no"})"});
}

std::string awaited(engine_action::Round round, const std::string& what) {
  return fmt::format("{}: {}", round, what);
}

std::string show(const engine_action::Ask& action) {
  return awaited(action.round, fmt::format("{} {}", action.request.method, action.request.target));
}

std::string show(const engine_action::Withdraw& action) {
  return fmt::format("withdraw {}", action.round);
}

std::string show(const engine_action::Wait& action) {
  return awaited(action.round, "wait " + format_duration(action.delay));
}

std::string show(const engine_action::LogWarning& action) {
  return fmt::format("log {} {}{}: {}", action.text, action.image, action.container, action.error);
}

}  // namespace nomad::test
