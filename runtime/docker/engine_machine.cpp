#include "runtime/docker/engine_machine.hpp"

#include "runtime/base/text.hpp"

namespace nomad::docker {

bool ends_wait(engine_action::Round& awaited, engine_action::Round round) {
  if (round == 0 || round != awaited) return false;
  awaited = 0;
  return true;
}

bool is_away(const Error& err) {
  return err.code == Errc::unavailable || err.code == Errc::timeout || err.code == Errc::io
         || err.code == Errc::corrupt;
}

std::string container_path(std::string_view container) {
  return "/containers/" + percent_encode(container);
}

EngineRequest creation_of(std::string_view name, std::string body) {
  return {.method = "POST",
          .target = "/containers/create?name=" + percent_encode(name),
          .body = std::move(body)};
}

EngineRequest inspection_of(std::string_view container) {
  return {.target = container_path(container) + "/json"};
}

Result<Container> container_of(const EngineOutcome& outcome) {
  return outcome ? read_container(outcome->body) : Result<Container>{outcome.error()};
}

std::string label_of(const Container& container, const char* name) {
  const auto found = container.labels.find(name);
  return found == container.labels.end() ? std::string{} : found->second;
}

EngineRequest removal_of(std::string_view container) {
  return {.method = "DELETE", .target = container_path(container) + "?force=1&v=1"};
}

}  // namespace nomad::docker
