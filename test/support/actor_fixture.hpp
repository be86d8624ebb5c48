// ActorFixture: runs actors on one thread under a clock that moves only when told to. A test
// sends, settles, looks, advances the time, and looks again; nothing sleeps or races.
//
// Detached actors get real threads even here: tests replace them by a role (`record`, or a small
// actor that answers).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/core/supervise.hpp"

namespace nomad::test {

class ActorFixture {
public:
  ActorFixture();
  ActorFixture(const ActorFixture&) = delete;
  ActorFixture& operator=(const ActorFixture&) = delete;

  /// Kills every adopted actor: a self-ticking one would keep the system's destructor waiting.
  ~ActorFixture();

  actor::System& system();

  /// The time that only the test moves.
  std::chrono::steady_clock::time_point now() const;

  /// Makes the fixture responsible for stopping the actor.
  template <class Handle>
  Handle adopt(Handle handle) {
    adopted_.push_back(handle);
    return handle;
  }

  /// Sends `msg` and lets all actors work until no message is left.
  template <class Handle, actor::Message M>
  void tell(const Handle& dest, M msg) {
    actor::tell(dest, std::move(msg));
    settle();
  }

  /// What `ask` hands back: empty while the actor has not answered.
  template <class Reply>
  using Answer = std::shared_ptr<std::optional<Result<Reply>>>;

  /// Sends a request and lets all actors work until no message is left.
  template <class Reply, class Handle, actor::Message M>
  Answer<Reply> ask(const Handle& dest, M msg) {
    auto slot = std::make_shared<std::optional<Result<Reply>>>();
    adopt(actor::spawn(
        system(),
        [slot, dest, msg = std::move(msg)](actor::Any::pointer self) -> actor::Any::behavior_type {
          self->request(dest, actor::infinite, msg)
              .then(
                  [self, slot](Reply& reply) {
                    slot->emplace(std::move(reply));
                    self->quit();
                  },
                  [self, slot](const Error& err) {
                    slot->emplace(err);
                    self->quit();
                  });
          return {};
        }));
    settle();
    return slot;
  }

  /// An actor that writes down every `M` it gets.
  template <actor::Message M>
  struct Recorder {
    actor::Interface<void(M)> handle;
    std::shared_ptr<std::vector<M>> seen;
  };

  template <actor::Message M>
  Recorder<M> record() {
    using SelfPointer = typename actor::Interface<void(M)>::pointer;
    using Behavior = typename actor::Interface<void(M)>::behavior_type;
    auto seen = std::make_shared<std::vector<M>>();
    auto handle = actor::spawn(system(), [seen](SelfPointer) -> Behavior {
      return {[seen](const M& msg) { seen->push_back(msg); }};
    });
    return {adopt(handle), seen};
  }

  /// Lets all actors work until no message is left; the time stands still.
  void settle();

  /// Lets one actor handle one message; false when none is left.
  bool run_one_message();

  /// From now on actors of that kind handle nothing, as if each took very long: their mailboxes
  /// fill. "": nobody is held any more.
  void hold(std::string kind) { held_ = std::move(kind); }

  /// The fullest mailbox of that kind of actors.
  std::uint64_t fullest(std::string_view kind);

  /// Moves the time forward by `step`, stopping at each timer on the way so that actors re-arming
  /// one fire as often as they would in real life.
  void advance(std::chrono::nanoseconds step);

private:
  struct Core;

  std::unique_ptr<Core> core_;
  std::vector<actor::Any> adopted_;
  std::string held_;
};

}  // namespace nomad::test
