// runtime/docker/image_machine: transcripts of how images are found, pulled and removed, and users
// of images in a world where engine and agent fail. After a wanted change of behaviour run with
// NOMAD_REWRITE_TRANSCRIPTS=1 and review the difference.
#include "runtime/docker/image_machine.hpp"

#include <cstdint>
#include <stdexcept>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/base/overloaded.hpp"
#include "runtime/base/text.hpp"
#include "test/support/transcript.hpp"
#include "test/unit/runtime/docker/engine_transcript.hpp"
#include "test/unit/runtime/docker/image_world.hpp"

using namespace nomad;

namespace {

namespace image_action = docker::image_action;

class ImagePlayer {
public:
  std::vector<std::string> play(const std::string& line) {
    std::istringstream words{line};
    std::string first, second;
    words >> first >> second;
    if (first.find_first_not_of("0123456789") == std::string::npos)
      answer(std::stoull(first), second, words);
    else
      order(first, second, words);
    std::vector<std::string> done;
    for (const auto& action : machine_.take())
      done.push_back(show(action));
    return done;
  }

private:
  void order(const std::string& what, const std::string& user, std::istringstream& words) {
    std::string image, word;
    words >> image;
    if (what == "forget") return machine_.forget(user);
    if (what == "release") return machine_.release(user);
    if (what == "adopt") return machine_.adopt(image, user);
    if (what != "get") throw std::invalid_argument{"unknown order: " + what};
    docker::ImageOrder order{.user = user, .name = docker::parse_image_name(image).value()};
    while (words >> word)
      (word == "force"     ? order.force_pull
       : word == "archive" ? order.has_archive
       : word == "auth"    ? order.needs_auth
                           : order.auth_soft_fail)
          = true;
    machine_.get(order);
  }

  void answer(std::uint64_t round, const std::string& what, std::istringstream& words) {
    const Error err{Errc::rejected, "no luck"};
    if (what == "time") return machine_.time_over(round);
    if (what == "loaded") return machine_.ready(round, std::string{});
    if (what == "auth") return machine_.ready(round, std::string{"secret"});
    if (what == "fails") return machine_.ready(round, err);
    if (what == "here")
      return machine_.answered(round, docker::judged({{200, R"({"Id":"sha256:1"})"}}));
    if (what == "missing")
      return machine_.answered(round, {err, {.kind = docker::EngineError::Kind::image_missing}});
    machine_.answered(round, test::outcome_of(what, words).value());
  }

  static std::string show(const docker::ImageAction& action) {
    using test::awaited;
    return std::visit(
        Overloaded{
            [](const auto& it) { return test::show(it); },
            [](const image_action::Load& it) { return awaited(it.round, "load for " + it.user); },
            [](const image_action::FindAuth& it) {
              return awaited(it.round, "find auth for " + it.user);
            },
            [](const image_action::Pull& it) {
              std::string text = "pull " + it.request.target;
              for (const auto& header : it.request.headers)
                text += fmt::format(" {}: {}", header.name, header.value);
              return awaited(it.round, text);
            },
            [](const image_action::TellUser& it) { return it.user + " hears: " + it.text; },
            [](const image_action::TellProgress& it) {
              return fmt::format("progress of {} to {}", it.pull, join(it.users, ","));
            },
            [](const image_action::TellReady& it) {
              if (it.image) return fmt::format("{} gets {}", it.user, *it.image);
              return fmt::format("{} fails{}: {}", it.user, it.may_pass ? ", may pass" : "",
                                 it.image.error().what);
            }},
        action);
  }

  docker::ImageMachine machine_{docker::ImageTraits{}};
};

}  // namespace

TEST_CASE("image_machine: transcripts") {
  test::check_transcripts(NOMAD_TRANSCRIPTS "/images", test::replay<ImagePlayer>);
}

TEST_CASE("image_machine: those that are not to be removed stay in the engine") {
  docker::ImageMachine machine{{.removes = false}};
  machine.adopt("sha256:1", "web");

  machine.release("web");

  CHECK(machine.take().empty());
  CHECK(machine.is_idle());
}

TEST_CASE("image_machine: whatever happens, what somebody needs stays, and the rest goes") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    const auto broken = test::run_image_world(seed);
    CHECK_MESSAGE(!broken, broken.value_or(""));
  }
}
