#include "runtime/workload/volumes/volume_machine.hpp"

#include <sstream>
#include <stdexcept>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/base/overloaded.hpp"
#include "test/support/transcript.hpp"
#include "test/unit/runtime/workload/volumes/volume_world.hpp"

using namespace nomad;
using namespace nomad::workload;

namespace {

std::string shown_outcome(const Result<>& outcome) {
  return outcome ? "done" : outcome.error().what;
}

std::string shown_volume(const VolumeAction& action) {
  constexpr const char* phases[] = {"claiming", "mounting", "leaving", "releasing"};
  constexpr const char* steps[] = {"stage", "publish", "unpublish", "unstage"};
  return std::visit(
      Overloaded{
          [&](const volume_action::Save& it) {
            return fmt::format("{}: save {} {}", it.operation, it.row.key(),
                               phases[static_cast<int>(it.row.phase)]);
          },
          [](const volume_action::Erase& it) { return fmt::format("erase {}", it.key); },
          [](const volume_action::Claim& it) {
            return fmt::format("{}: claim {}", it.operation, it.row.key());
          },
          [](const volume_action::Look& it) {
            return fmt::format("{}: look {}", it.operation, it.row.key());
          },
          [&](const volume_action::Do& it) {
            return fmt::format("{}: {} {}", it.operation, steps[static_cast<int>(it.step)],
                               it.row.key());
          },
          [](const volume_action::Release& it) {
            return it.detached ? fmt::format("{}: release {}", it.operation, it.row.key())
                               : fmt::format("out of use {}", it.row.key());
          },
          [](const volume_action::Cancel& it) { return fmt::format("cancel {}", it.operation); },
          [](const volume_action::Answer& it) {
            return fmt::format("answer {}: {}", it.ticket, shown_outcome(it.outcome));
          },
          [](const volume_action::Tell& it) {
            return fmt::format("tell {} {}: {}", it.mounts ? "mount" : "unmount", it.row.key(),
                               shown_outcome(it.outcome));
          },
          [](const volume_action::Wait& it) {
            return fmt::format("wait until {}", format_duration(it.until));
          }},
      action);
}

/// Events are "acquire 1 alloc volume", "saved 3", "refused 4 why", … ; time is "at 5" (seconds).
class VolumePlayer {
public:
  std::vector<std::string> play(const std::string& line) {
    std::istringstream words{line};
    std::string what, first, second, third;
    words >> what >> first >> second >> third;
    happen(what, first, second, third);
    std::vector<std::string> done;
    for (const auto& each : machine_.take())
      done.push_back(shown_volume(each));
    return done;
  }

private:
  static MountSpec spec_of(const std::string& alloc, const std::string& volume) {
    return {.alloc = alloc, .ns = "default", .volume = volume, .usage = "rw"};
  }

  void happen(const std::string& what,
              const std::string& first,
              const std::string& second,
              const std::string& third) {
    if (what == "at")
      machine_.look(now_ = std::chrono::seconds{std::stoll(first)});
    else if (what == "acquire")
      machine_.acquire(spec_of(second, third), std::stoull(first), now_);
    else if (what == "cancel")
      machine_.cancel(std::stoull(first), now_);
    else if (what == "drop")
      machine_.drop(second, std::stoull(first), now_);
    else if (what == "detach")
      machine_.detach("default", second, third, std::stoull(first), now_);
    else if (what == "up")
      machine_.plugin(first, VolumeMachine::Plugin{"/csi/" + first, second != "plain"}, now_);
    else if (what == "down")
      machine_.plugin(first, std::nullopt, now_);
    else if (what == "left")
      restore(first, second, third);
    else
      answer(what, std::stoull(first), second);
  }

  void answer(const std::string& what, std::uint64_t operation, const std::string& word) {
    const VolumeMachine::Refusal refusal{{Errc::unavailable, word}, word == "busy"};
    if (what == "saved")
      machine_.saved(operation, now_);
    else if (what == "claimed")
      machine_.claimed(operation, {word, "ext"}, now_);
    else if (what == "unclaimed")
      machine_.not_claimed(operation, refusal, now_);
    else if (what == "looked")
      machine_.looked(operation, {word == "mounted", word == "mounted" || word == "staged"}, now_);
    else if (what == "done")
      machine_.done(operation, std::nullopt, now_);
    else if (what == "refused")
      machine_.done(operation, refusal, now_);
    else if (what == "released")
      machine_.released(operation, word != "unheard", now_);
    else
      throw std::invalid_argument{"no word of the machine: " + what};
  }

  /// "left PHASE ALLOC VOLUME": of an earlier agent, whose allocation is known unless it is "x".
  void restore(const std::string& phase, const std::string& alloc, const std::string& volume) {
    using Phase = VolumeRow::Phase;
    const VolumeRow row{.spec = spec_of(alloc, volume),
                        .phase = phase == "claiming"   ? Phase::claiming
                                 : phase == "mounting" ? Phase::mounting
                                 : phase == "leaving"  ? Phase::leaving
                                                       : Phase::releasing,
                        .plugin = "p",
                        .external = "ext",
                        .directory = "/csi/p",
                        .stages = true,
                        .touched = phase != "claiming"};
    machine_.restore({row}, alloc == "x" ? std::set<std::string>{} : std::set<std::string>{alloc},
                     now_);
  }

  VolumeMachine machine_;
  VolumeMachine::Time now_{};
};

}  // namespace

TEST_CASE("volume_machine: does what its transcripts say") {
  test::check_transcripts(NOMAD_VOLUME_TRANSCRIPTS, test::replay<VolumePlayer>);
}

TEST_CASE("volume_machine: says why a volume is not to be had") {
  VolumeMachine machine;
  const MountSpec spec{.alloc = "a", .ns = "default", .volume = "v", .usage = "rw"};
  auto other = spec;
  other.usage = "ro";
  const auto last_answer = [&machine] {
    std::string text;
    for (const auto& action : machine.take())
      if (const auto* const answer = std::get_if<volume_action::Answer>(&action))
        text = shown_outcome(answer->outcome);
    return text;
  };

  machine.acquire(spec, 1, {});
  machine.acquire(other, 2, {});
  CHECK(last_answer() == "the group asks for volume v in two ways");
  machine.cancel(1, {});
  CHECK(last_answer() == "it is not wanted any more");
  machine.acquire(spec, 3, {});
  CHECK(last_answer() == "volume v is being given back by this allocation");

  machine = VolumeMachine{};
  machine.acquire(spec, 1, {});
  machine.drop("a", 2, {});
  CHECK(last_answer() == "its allocation is over");

  machine = VolumeMachine{};
  machine.acquire(spec, 1, {});
  machine.saved(1, {});
  machine.not_claimed(2, {{Errc::not_found, "no volume"}, false}, {});
  CHECK(last_answer() == "claiming volumes: no volume");

  machine = VolumeMachine{};
  machine.acquire(spec, 1, {});
  machine.saved(1, {});
  machine.claimed(2, {"p", "ext"}, {});
  machine.look(std::chrono::minutes{1});
  CHECK(last_answer() == "mounting volumes: CSI plugin p is not healthy on this node");
}

TEST_CASE("volume_machine: keeps its rules in random worlds") {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const auto broken = test::run_volume_world(seed);
    CAPTURE(seed);
    CHECK_MESSAGE(!broken, broken.value_or(""));
  }
}
