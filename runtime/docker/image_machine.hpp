// ImageMachine: decides what happens to the images of tasks: how each is found, loaded or pulled
// before a container is made of it, and when it is removed after the last that needed it.
//
// The idea: whoever wants an image asks as a user, and the image's id is told once the engine has
// said that it is here. From then on the user keeps it, until he releases it.
//
// (1) Each `get` is told once how it went, unless it was forgotten before.
// (2) There is one pull of a name at a time, whoever asks for it shares it, and it is withdrawn
// when
//     nobody waits for it any more.
// (3) An image is removed when it has had no user for the delay, in three attempts. Those that
//     somebody else uses, or has removed, are no business of ours.
// (4) While a removal is under way nobody looks whether an image is here, and none begins while
//     somebody looks: what is told to be here does not go a moment later.
//
// clang-format off
//
//   a user:    looking (or held, until it may) ──is here──▶ told
//                 │ is not, or may be another one by now      ▲
//                 ├──▶ loading ──────────────────▶ looking ───┤
//                 └──▶ finding_auth ─▶ pulling ──▶ looking ───┘
//
//   an image:  used ─released─▶ delayed ─▶ removing ─▶ (forgotten)
//                ◀──told again──┘   ◀─refused─┘
//
// clang-format on
//
// May depend on: runtime/base.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "runtime/docker/engine_machine.hpp"
#include "runtime/docker/image_name.hpp"

namespace nomad::docker {

namespace image_action {

using engine_action::Ask;
using engine_action::LogWarning;
using engine_action::Round;
using engine_action::Wait;
using engine_action::Withdraw;

/// Give the engine the archive that the user has. Answer: `ready`.
struct Load {
  Round round;
  std::string user;
};

/// Answer: `ready`, with a header's text for the pull, "" without credentials.
struct FindAuth {
  Round round;
  std::string user;
};

/// Answer: `answered`, when it has ended; an error is also what the pull itself said went wrong.
struct Pull {
  Round round;
  EngineRequest request;
  Nanoseconds timeout;
};

/// An event of the user's history.
struct TellUser {
  std::string user;
  std::string text;
};

/// How far the pull of this round is.
struct TellProgress {
  Round pull;
  std::set<std::string> users;
};

/// The image's id; without one, whether another try may do.
struct TellReady {
  std::string user;
  Result<std::string> image;
  bool may_pass;
};

}  // namespace image_action

using ImageAction = std::variant<image_action::Ask,
                                 image_action::Withdraw,
                                 image_action::Wait,
                                 image_action::LogWarning,
                                 image_action::Load,
                                 image_action::FindAuth,
                                 image_action::Pull,
                                 image_action::TellUser,
                                 image_action::TellProgress,
                                 image_action::TellReady>;

/// What never changes for the images of an agent.
struct ImageTraits {
  bool removes = true;  ///< Those that nobody needs.
  Nanoseconds removal_delay = std::chrono::minutes{3};
};

/// What one user asks for.
struct ImageOrder {
  std::string user;
  ImageName name;
  bool force_pull = false;
  bool has_archive = false;     ///< That may be loaded instead of a pull.
  bool needs_auth = false;      ///< There may be credentials.
  bool auth_soft_fail = false;  ///< Without any a pull is tried all the same.
  Nanoseconds timeout = std::chrono::minutes{5};
};

class ImageMachine : public EngineMachine<ImageAction> {
public:
  static constexpr int removal_tries = 3;
  static constexpr int get_tries = 3;

  explicit ImageMachine(ImageTraits traits) : traits_{traits} {}

  // Orders. A user asks for one image at a time.

  void get(ImageOrder order);

  /// The user waits no more.
  void forget(const std::string& user);

  /// A task that was found running needs the image.
  void adopt(const std::string& id, const std::string& user);

  /// Needs none any more.
  void release(const std::string& user);

  // Answers to actions.

  void answered(Round round, const EngineOutcome& outcome);
  void ready(Round round, const Result<std::string>& what);
  void time_over(Round round);

  bool is_idle() const { return gets_.empty() && pulls_.empty() && kept_.empty(); }

private:
  enum class State : std::uint8_t { held, looking, loading, finding_auth, pulling };
  enum class Keeping : std::uint8_t { used, delayed, removing };

  struct Get {
    ImageOrder order;
    State state = State::looking;
    bool was_fetched = false;  ///< Loaded or pulled: nothing else is tried.
    int tries = 0;
    int removals = 0;  ///< `removals_` when it was fetched.
    Round round = 0;
  };

  struct SharedPull {
    Round round = 0;
    Round news_round = 0;
    std::set<std::string> users{};
  };

  struct Kept {
    std::set<std::string> users{};
    Keeping keeping = Keeping::used;
    int tries = 0;  ///< To remove it, since it got a user.
    Round round = 0;
  };

  void look(Get& get);
  void looked(Get& get, const EngineOutcome& outcome);
  void fetch(Get& get);
  void found_auth(Get& get, const Result<std::string>& auth);
  void pull(Get& get, const std::string& auth);
  void pull_ended(const std::string& name, const EngineOutcome& outcome);
  void tell(const std::string& user, const Result<std::string>& id, bool may_pass);

  bool is_any_removing() const;
  void keep(const std::string& id, const std::string& user);
  void delay(Kept& kept, Nanoseconds pause);
  void remove(const std::string& id, Kept& kept);
  void removed(const std::string& id, const EngineOutcome& outcome);
  void judge_removal(const std::string& id, const EngineOutcome& outcome);

  ImageTraits traits_;
  std::map<std::string, Get> gets_;          ///< By user.
  std::map<std::string, SharedPull> pulls_;  ///< By the image's name.
  std::map<std::string, Kept> kept_;         ///< By id.
  int removals_ = 0;                         ///< That have been tried.
};

}  // namespace nomad::docker
