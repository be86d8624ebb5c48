#include "test/unit/runtime/docker/image_world.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "runtime/base/overloaded.hpp"
#include "runtime/base/text.hpp"
#include "runtime/docker/image_machine.hpp"
#include "test/unit/runtime/docker/engine_world.hpp"

namespace nomad::test {
namespace {

namespace images = docker::image_action;
using docker::EngineOutcome;
using docker::ImageMachine;

class ImageWorld : public EngineWorld {
public:
  explicit ImageWorld(std::uint64_t seed) : EngineWorld{seed} {
    engine_.images = {"busybox:1"};
    engine_.registry = {"busybox:1", "redis:7", "web:latest"};
  }

  void step() {
    const auto dice = random_.below(100);
    if (dice < 60)
      something_comes(/*may_fail=*/true);
    else if (dice < 75)
      get();
    else if (dice < 90)
      let_go();
    else if (dice < 93)
      is_away_ = !is_away_;
    else if (dice < 95)
      lose_image();
    else if (dice < 96)
      crash();
    else
      say_nonsense();
    carry_out();
  }

  /// Nothing fails any more, and nobody needs an image: those that were needed go.
  void drain() {
    is_away_ = false;
    for (int i = 0; i < 2'000 && (is_owed() || !users_.empty()); ++i) {
      if (random_.chance(0.3)) let_go();
      carry_out();
      something_comes(/*may_fail=*/false);
      carry_out();
    }
    require(users_.empty() && machine_.is_idle(), "nobody waits for an image");
    for (const auto& name : told_)
      require(!engine_.images.contains(name), "images that nobody needs are removed");
  }

private:
  struct User {
    std::string name;    ///< Of the image.
    bool holds = false;  ///< Was told that it is here.
    bool is_lost = false;
  };

  // -- users -------------------------------------------------------------------------------------

  void get() {
    static const std::vector<std::string> names{"busybox:1", "redis:7", "web:latest", "gone:1"};
    const auto user = fmt::format("user-{}", ++numbers_);
    const auto name = names[random_.below(names.size())];
    users_[user] = {.name = name};
    docker::ImageOrder order{.user = user, .name = *docker::parse_image_name(name)};
    order.force_pull = random_.chance(0.2);
    order.has_archive = random_.chance(0.2);
    order.needs_auth = random_.chance(0.2);
    order.auth_soft_fail = random_.chance(0.5);
    machine_.get(order);
  }

  /// As a run does when it is over.
  void let_go() {
    if (users_.empty()) return;
    const auto user
        = std::next(users_.begin(), static_cast<std::ptrdiff_t>(random_.below(users_.size())));
    const auto name = user->first;
    users_.erase(user);
    machine_.forget(name);
    machine_.release(name);
  }

  /// Those that run are found again; of what nobody needed any more nobody knows.
  void crash() {
    lose_words();
    pulls_.clear();
    told_.clear();
    machine_ = ImageMachine{{}};
    std::erase_if(users_, [](const auto& entry) { return !entry.second.holds; });
    for (const auto& [user, state] : users_) {
      machine_.adopt("sha256:" + state.name, user);
      told_.insert(state.name);
    }
  }

  // -- the engine --------------------------------------------------------------------------------

  /// Somebody else removes it.
  void lose_image() {
    if (engine_.images.empty()) return;
    const auto name = *std::next(engine_.images.begin(),
                                 static_cast<std::ptrdiff_t>(random_.below(engine_.images.size())));
    engine_.images.erase(name);
    for (auto& [user, state] : users_)
      if (state.name == name) state.is_lost = true;
  }

  void arrives(const docker::EngineRequest& request) override {
    if (request.method != "DELETE") return;
    for (const auto& [user, state] : users_)
      require(!state.holds || state.is_lost || request.target != removal_target(state.name),
              "what somebody needs is not removed");
    std::erase_if(told_, [&](const auto& name) { return request.target == removal_target(name); });
  }

  static std::string removal_target(const std::string& name) {
    return "/images/" + percent_encode("sha256:" + name);
  }

  // -- what the machine hears and wants ----------------------------------------------------------

  void hear_answer(Round round, const EngineOutcome& outcome) override {
    if (pulls_.erase(round) == 0 || !outcome) return machine_.answered(round, outcome);
    docker::PullProgress progress;
    require(progress.take(outcome->body).has_value(), "progress is read");
    const auto& failure = progress.failure();
    if (failure.empty()) return machine_.answered(round, outcome);
    machine_.answered(
        round, {Error{Errc::rejected, failure}, {.kind = docker::engine_error_kind(failure)}});
  }

  void hear_time(Round round) override { machine_.time_over(round); }

  bool wants_nothing() override { return machine_.take().empty(); }

  void carry_out() {
    for (const auto& action : machine_.take())
      carry_out(action);
    for (const auto& [round, name] : pulls_)
      require(std::ranges::any_of(users_,
                                  [&name = name](const auto& entry) {
                                    return entry.second.name == name && !entry.second.holds;
                                  }),
              "what is pulled is waited for");
  }

  void carry_out(const docker::ImageAction& action) {
    std::visit(
        Overloaded{[this](const images::Ask& it) { perform(it); },
                   [this](const images::Wait& it) { perform(it); },
                   [this](const images::Withdraw& it) {
                     pulls_.erase(it.round);
                     perform(it);
                   },
                   [this](const images::LogWarning& it) { note_warning(it.image); },
                   [this](const images::Load& it) { make_ready(it.round, it.user, true); },
                   [this](const images::FindAuth& it) { make_ready(it.round, it.user, false); },
                   [this](const images::Pull& it) { note_pull(it); },
                   [this](const images::TellReady& it) { note_ready(it); }, [](const auto&) {}},
        action);
  }

  void make_ready(Round round, const std::string& user, bool loads) {
    owe(round, [this, round, user, loads](bool may_fail) {
      if (may_fail && random_.chance(0.2))
        return machine_.ready(round, Error{Errc::rejected, "no luck"});
      if (loads && users_.contains(user)) engine_.images.insert(users_.at(user).name);
      machine_.ready(round, std::string{});
    });
  }

  void note_pull(const images::Pull& pull) {
    std::string name = "gone:1";
    for (const auto& each : engine_.registry)
      if (pull.request.target.find(each.substr(0, each.find(':'))) != std::string::npos)
        name = each;
    for (const auto& [round, other] : pulls_)
      require(name != other, "an image is pulled once at a time");
    pulls_[pull.round] = name;
    ask_later(pull.round, pull.request);
  }

  void note_ready(const images::TellReady& told) {
    const auto user = users_.find(told.user);
    require(user != users_.end() && !user->second.holds, "only those that wait are told, once");
    auto& state = user->second;
    if (!told.image) {
      users_.erase(user);
      return;
    }
    state.holds = true;
    require(*told.image == "sha256:" + state.name, "the image is the one that was asked for");
    require(state.is_lost || engine_.images.contains(state.name), "what is told to be here is");
    told_.insert(state.name);
  }

  /// Its removal was refused often enough.
  void note_warning(const std::string& text) {
    std::erase_if(told_, [&text](const auto& name) { return text.find(name) != text.npos; });
  }

  ImageMachine machine_{docker::ImageTraits{}};
  std::map<std::string, User> users_;
  std::map<Round, std::string> pulls_;  ///< Names.
  std::set<std::string> told_;          ///< Names of images that are not to be left.
  int numbers_ = 0;
};

}  // namespace

std::optional<std::string> run_image_world(std::uint64_t seed) {
  return run_world<ImageWorld>(seed);
}

}  // namespace nomad::test
