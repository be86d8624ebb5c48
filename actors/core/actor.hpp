// The one header that knows which CAF this program builds on (0.17.6). What differs between CAF
// releases (interfaces, message registration, priorities, delays, error conversion) is spelled
// here once and used through these names; supervise.hpp and system.hpp hold the rest of CAF.
#pragma once

#include <chrono>
#include <string>
#include <type_traits>
#include <utility>

#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include "runtime/base/result.hpp"

namespace nomad::actor {

/// A message is a plain struct that says so with `using is_message = void;`. Messages stay within
/// one process (Cap'n Proto carries what leaves it), so they need neither CAF serialization nor
/// type ids and may hold any copyable value.
template <class T>
concept Message = requires {
  typename std::remove_cvref_t<T>::is_message;
};

namespace detail {

template <class Signature>
struct signature;

template <class Reply, class... Request>
struct signature<Reply(Request...)> {
  using type = typename caf::replies_to<Request...>::template with<Reply>;
};

template <class... Request>
struct signature<void(Request...)> {
  using type = caf::reacts_to<Request...>;
};

}  // namespace detail

/// The handle type of an actor, written as the list of what it understands:
/// `Interface<Lease(Renew), void(Forget)>` answers `Renew` and just takes `Forget`. A handle
/// converts to any interface that lists less: depend on the role you need.
template <class... Signatures>
using Interface = caf::typed_actor<typename detail::signature<Signatures>::type...>;

/// `Interface` plus messages that only the actor sends to itself, such as timers.
template <class Interface, class... Signatures>
using WithInternal =
    typename Interface::template extend<typename detail::signature<Signatures>::type...>;

/// The answer a handler owes; kept in the state and answered in one place, on every path.
template <class Reply>
using Promise = caf::typed_response_promise<Reply>;

/// Sends ahead of normal messages. CAF hands out two urgent messages for each normal one, so this
/// is a fast lane, not an absolute priority, and it overtakes earlier normal messages of the same
/// sender.
template <class Self, class Dest, Message M>
void send_urgent(Self* self, const Dest& dest, M&& msg) {
  self->template send<caf::message_priority::high>(dest, std::forward<M>(msg));
}

/// `send_urgent` from code that is no actor (I/O threads, callbacks). Thread-safe.
template <class Dest, Message M>
void tell_urgent(const Dest& dest, M&& msg) {
  caf::anon_send<caf::message_priority::high>(dest, std::forward<M>(msg));
}

/// Sends from code that is no actor. Thread-safe.
template <class Dest, Message M>
void tell(const Dest& dest, M&& msg) {
  caf::anon_send(dest, std::forward<M>(msg));
}

/// A request ahead of normal messages; otherwise as `self->request`.
template <class Self, class Dest, class Rep, class Period, Message M>
auto request_urgent(Self* self,
                    const Dest& dest,
                    std::chrono::duration<Rep, Period> timeout,
                    M&& msg) {
  return self->template request<caf::message_priority::high>(dest, timeout, std::forward<M>(msg));
}

/// Sends `msg` to `self` after `delay`. A pending timer keeps the actor alive: an actor that
/// re-arms itself must be stopped explicitly.
template <class Self, class Rep, class Period, Message M>
void send_self_after(Self* self, std::chrono::duration<Rep, Period> delay, M&& msg) {
  self->delayed_send(self, delay, std::forward<M>(msg));
}

/// Wraps `err` so that CAF can carry it as the answer to a request.
inline caf::error to_caf(const Error& err) {
  return {static_cast<std::uint8_t>(err.code), caf::atom("nomad"), caf::make_message(err.what)};
}

/// Recovers our error from CAF's; failures of CAF itself become `timeout`, `unavailable` or
/// `internal`. Asking a dead actor and asking an empty handle both are `unavailable`.
inline Error from_caf(const caf::error& err) {
  if (err.category() == caf::atom("nomad")) {
    const auto& context = err.context();
    auto what
        = context.match_elements<std::string>() ? context.get_as<std::string>(0) : std::string{};
    return {static_cast<Errc>(err.code()), std::move(what)};
  }
  if (err == caf::sec::request_timeout) return {Errc::timeout, "no answer in time"};
  if (err == caf::sec::request_receiver_down || err == caf::sec::invalid_argument)
    return {Errc::unavailable, "the actor is gone"};
  return {Errc::internal, caf::to_string(err)};
}

/// Turns a `Result` into what a message handler returns.
template <class T>
caf::result<T> answer(Result<T> outcome) {
  if (!outcome) return to_caf(outcome.error());
  return std::move(*outcome);
}

/// Answers a kept promise with a `Result`.
template <class T>
void answer(Promise<T>& promise, Result<T> outcome) {
  if (!promise.pending()) return;
  if (outcome)
    promise.deliver(std::move(*outcome));
  else
    promise.deliver(to_caf(outcome.error()));
}

}  // namespace nomad::actor

template <nomad::actor::Message T>
struct caf::allowed_unsafe_message_type<T> : std::true_type {};
