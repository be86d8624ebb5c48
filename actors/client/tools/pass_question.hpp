// Answers what a server asks by what another actor of the client says.
#pragma once

#include <utility>

#include "actors/core/actor.hpp"
#include "actors/roles/node_questions.hpp"

namespace nomad::client {

/// Puts `question` to `to`; `reply` makes the door's form of what that answers. `self` is the actor
/// in whose turn it is called.
template <class Answered, class Self, class Actor, class Question>
actor::Answer<door::NodeReply> pass_question(const Self& self,
                                             const Actor& to,
                                             Question question,
                                             door::NodeReply (*reply)(const Answered&)) {
  const auto promise = self->template make_response_promise<door::NodeReply>();
  self->request(to, actor::infinite, std::move(question))
      .then([promise, reply](const Answered& answered) { promise.deliver(reply(answered)); },
            [promise](const Error& err) { promise.deliver(err); });
  return promise;
}

}  // namespace nomad::client
