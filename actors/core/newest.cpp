#include "actors/core/newest.hpp"

#include "actors/core/caf_actor.hpp"
#include "actors/core/caf_bridge.hpp"

namespace nomad::actor::detail {

void tell_news(
    Self* self, const Ref& dest, Mail mail, Priority priority, const std::function<void()>& taken) {
  auto& actor = self->caf_actor();
  const auto go_on
      = [&actor, incarnation = actor.incarnation(), taken] { actor.run(incarnation, taken); };
  const auto listen = [&go_on](auto told) {
    told.then([go_on](Mail&) { go_on(); }, [go_on](const caf::error&) { go_on(); });
  };
  const auto to = as_caf(dest);
  if (priority == Priority::urgent)
    listen(actor.request<caf::message_priority::high>(to, caf::infinite, std::move(mail),
                                                      CafActor::News{}));
  else
    listen(actor.request(to, caf::infinite, std::move(mail), CafActor::News{}));
}

}  // namespace nomad::actor::detail
