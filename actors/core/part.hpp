// Parts: objects that together make an actor. Each takes messages of its own (`handlers`), and all
// work in the actor's turns; whoever puts them together lists them, not their messages.
#pragma once

#include <chrono>
#include <concepts>
#include <tuple>
#include <utility>

#include "actors/core/actor.hpp"

namespace nomad::actor {

namespace detail {

template <class Whole, class... Parts>
struct Joined {
  using Type = Whole;
};

template <class Whole, class... Signatures, class... Parts>
struct Joined<Whole, Interface<Signatures...>, Parts...>
    : Joined<typename Whole::template extend<Signatures...>, Parts...> {};

}  // namespace detail

/// `Whole`, plus the messages of its parts that others need not know.
template <class Whole, class... Parts>
using WithParts = typename detail::Joined<Whole, typename Parts::Messages...>::Type;

/// What a part sees of its actor, which takes `Messages` among others.
template <class Messages>
class PartSelf {
public:
  template <class Whole>
  requires std::convertible_to < const TypedSelf<Whole>

  *, Messages >

         PartSelf(TypedSelf<Whole>* self) : self_{self} {}

  Self* operator->() const { return self_; }

  operator Self*() const { return self_; }

  operator Owner() const { return self_; }

  /// The actor, as those know it who tell the part something.
  Messages handle() const { return Messages{self_->ref()}; }

private:
  Self* self_;
};

template <class Messages, Message M>
Timer send_self_after(const PartSelf<Messages>& self, std::chrono::nanoseconds delay, M&& message) {
  static_assert(Understands<Messages, M>, "the part has no such message");
  return self->send_mail_after(delay, Mail::of(std::forward<M>(message)));
}

/// The handlers of a part, one for each message that it takes.
template <class... Functions>
std::tuple<Functions...> handlers(Functions... functions) {
  return {std::move(functions)...};
}

/// The behavior of an actor whose messages the parts take, each of these as its `handlers`.
template <class Whole, class... Parts>
Behavior<Whole> behavior_of(Parts... parts) {
  return std::apply([](auto... functions) { return Behavior<Whole>(std::move(functions)...); },
                    std::tuple_cat(std::move(parts)...));
}

}  // namespace nomad::actor
