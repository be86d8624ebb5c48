// Behavior: the handlers of an actor, one for each message of its interface. A missing or a strange
// one does not compile.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "actors/core/answer.hpp"
#include "actors/core/handle.hpp"

namespace nomad::actor {

class HandlerSet;

/// One handler, whatever actor it is of: which message it takes, and how `set` is called with one.
struct Handler {
  const std::type_info* type;
  Outcome (*handle)(HandlerSet& set, Mail& mail);  ///< `mail` is of the handler's type.
};

/// The handlers of one actor: their functions in one piece, behind a table that all of its kind
/// share.
class HandlerSet {
public:
  explicit HandlerSet(std::span<const Handler> table) : table_(table) {}

  virtual ~HandlerSet() = default;

  /// Null if there is none for the type.
  const Handler* find(const std::type_info& type) const;

private:
  std::span<const Handler> table_;
};

using Handlers = std::unique_ptr<HandlerSet>;

namespace detail {

template <class Function>
struct Callable : Callable<decltype(&Function::operator())> {};

template <class Class, class Returned, class Taken>
struct Callable<Returned (Class::*)(Taken) const> {
  using Request = std::remove_cvref_t<Taken>;
  using Reply = Returned;
};

template <class Class, class Returned, class Taken>
struct Callable<Returned (Class::*)(Taken)> : Callable<Returned (Class::*)(Taken) const> {};

template <class Reply>
Outcome released(Answer<Reply> answer) {
  return std::move(answer).release();
}

/// What a handler may return where `Reply` is promised.
template <class Returned, class Reply>
inline constexpr bool answers
    = std::is_void_v<Reply> ? std::is_void_v<Returned>
                            : std::is_convertible_v<Returned, Answer<Reply>>;

template <class Function>
using RequestOf = typename Callable<Function>::Request;

template <class Function>
auto call(Function& function, RequestOf<Function>& message) {
  if constexpr (std::is_invocable_v<Function&, RequestOf<Function>&>)
    return function(message);
  else
    return function(std::move(message));
}

template <class Handle, class... Functions>
class HandlersOf final : public HandlerSet {
public:
  explicit HandlersOf(Functions... functions)
      : HandlerSet(table), functions_(std::move(functions)...) {}

private:
  template <std::size_t location>
  static Outcome handle(HandlerSet& set, Mail& mail) {
    auto& function = std::get<location>(static_cast<HandlersOf&>(set).functions_);
    using Request = RequestOf<std::remove_reference_t<decltype(function)>>;
    auto& message = *mail.get<Request>();
    using Reply = ReplyOf<Handle, Request>;
    if constexpr (std::is_void_v<Reply>) {
      call(function, message);
      return {};
    } else {
      return released<Reply>(call(function, message));
    }
  }

  template <std::size_t... locations>
  static constexpr std::array<Handler, sizeof...(Functions)> list(
      std::index_sequence<locations...>) {
    return {Handler{&typeid(RequestOf<Functions>), &handle<locations>}...};
  }

  static constexpr auto table = list(std::index_sequence_for<Functions...>{});

  std::tuple<Functions...> functions_;
};

}  // namespace detail

template <class... Signatures>
class Behavior<Interface<Signatures...>> {
public:
  template <class... Functions>
  Behavior(Functions... functions) {
    static_assert(sizeof...(Functions) == sizeof...(Signatures),
                  "one handler for each message of the interface");
    (check<Functions>(), ...);
    handlers_ = std::make_unique<detail::HandlersOf<Interface<Signatures...>, Functions...>>(
        std::move(functions)...);
  }

  Handlers release() && { return std::move(handlers_); }

private:
  template <class Function>
  static constexpr void check() {
    using Call = detail::Callable<Function>;
    static_assert(Understands<Interface<Signatures...>, typename Call::Request>,
                  "a handler for a message that is not of the interface");
    using Reply = ReplyOf<Interface<Signatures...>, typename Call::Request>;
    static_assert(detail::answers<typename Call::Reply, Reply>,
                  "a handler that answers something else than its interface says");
  }

  Handlers handlers_;
};

}  // namespace nomad::actor
