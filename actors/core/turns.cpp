#include "actors/core/turns.hpp"

#include <memory>
#include <utility>

#include "actors/core/caf_actor.hpp"

namespace nomad::actor {
namespace {

class ActorTurns final : public Turns::Taker {
public:
  ActorTurns(CafActor& actor, Priority priority)
      : actor_{actor.ref()}, incarnation_{actor.incarnation()}, priority_{priority} {}

  bool take(Turns::Action& action) override {
    const auto actor = actor_.lock();
    if (!actor) return false;
    auto mail = Mail::of(CafActor::Turn{std::move(action)});
    mail.set_incarnation(incarnation_);
    actor.tell(std::move(mail), priority_);
    return true;
  }

private:
  const WeakRef actor_;
  const std::uint32_t incarnation_;
  const Priority priority_;
};

}  // namespace

Turns turns_of(const Self* self, Priority priority) {
  return Turns{std::make_shared<ActorTurns>(self->caf_actor(), priority)};
}

Timer post_after(Self* self, std::chrono::nanoseconds delay, Turns::Action action) {
  return self->send_mail_after(delay, Mail::of(CafActor::Turn{std::move(action)}));
}

}  // namespace nomad::actor
