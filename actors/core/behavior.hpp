// Behavior: the handlers of an actor, one for each message of its interface. A missing or a strange
// one does not compile.
#pragma once

#include <memory>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "actors/core/answer.hpp"
#include "actors/core/handle.hpp"

namespace nomad::actor {

class Handler {
public:
  explicit Handler(const std::type_info& type) : type_(type) {}

  virtual ~Handler() = default;

  const std::type_info& type() const { return type_; }

  /// `mail` is of the handler's type.
  virtual Outcome handle(Mail& mail) = 0;

private:
  const std::type_info& type_;
};

using Handlers = std::vector<std::unique_ptr<Handler>>;

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

template <class Function, class Reply>
class HandlerOf final : public Handler {
  using Request = typename Callable<Function>::Request;

public:
  explicit HandlerOf(Function function)
      : Handler(typeid(Request)), function_(std::move(function)) {}

  Outcome handle(Mail& mail) override {
    auto& message = *mail.get<Request>();
    if constexpr (std::is_void_v<Reply>) {
      call(message);
      return {};
    } else {
      return released<Reply>(call(message));
    }
  }

private:
  auto call(Request& message) {
    if constexpr (std::is_invocable_v<Function&, Request&>)
      return function_(message);
    else
      return function_(std::move(message));
  }

  Function function_;
};

}  // namespace detail

template <class... Signatures>
class Behavior<Interface<Signatures...>> {
public:
  template <class... Functions>
  Behavior(Functions... functions) {
    static_assert(sizeof...(Functions) == sizeof...(Signatures),
                  "one handler for each message of the interface");
    handlers_.reserve(sizeof...(Functions));
    (add(std::move(functions)), ...);
  }

  Handlers release() && { return std::move(handlers_); }

private:
  template <class Function>
  void add(Function function) {
    using Call = detail::Callable<Function>;
    static_assert(Understands<Interface<Signatures...>, typename Call::Request>,
                  "a handler for a message that is not of the interface");
    using Reply = ReplyOf<Interface<Signatures...>, typename Call::Request>;
    static_assert(detail::answers<typename Call::Reply, Reply>,
                  "a handler that answers something else than its interface says");
    handlers_.push_back(std::make_unique<detail::HandlerOf<Function, Reply>>(std::move(function)));
  }

  Handlers handlers_;
};

}  // namespace nomad::actor
