// Handles: how actors are named and told things. A handle's type lists what its actor understands,
// so that a wrong message does not compile.
#pragma once

#include <compare>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "actors/core/mail.hpp"

namespace caf {
class actor_control_block;
class actor_system;
}  // namespace caf

namespace nomad::actor {

/// Where actors live: threads, clock, registry. Made by the wiring from a SystemConfig.
using System = caf::actor_system;

template <class Interface>
class TypedSelf;

template <class Interface, class State>
class StatefulSelf;

template <class Interface>
class Behavior;

/// Which actor it is, also after its end. None is 0.
struct Address {
  std::uint64_t id = 0;

  friend auto operator<=>(Address, Address) = default;
};

/// Keeps an actor reachable, whatever it understands. Copies are cheap; thread-safe as a pointer
/// is.
class Ref {
public:
  Ref() = default;
  explicit Ref(caf::actor_control_block* at);  ///< Null is fine.
  Ref(const Ref& other);

  Ref(Ref&& other) noexcept : at_(std::exchange(other.at_, nullptr)) {}

  Ref& operator=(Ref other) noexcept {
    std::swap(at_, other.at_);
    return *this;
  }

  ~Ref();

  explicit operator bool() const { return at_ != nullptr; }

  caf::actor_control_block* get() const { return at_; }

  Address address() const;

  /// Sends from code that is no actor. Thread-safe; nothing happens when the actor is gone.
  void tell(Mail mail, Priority priority) const;

  friend bool operator==(const Ref&, const Ref&) = default;

private:
  caf::actor_control_block* at_ = nullptr;
};

namespace detail {

template <class T>
struct Id {
  using type = T;
};

template <class Signature>
struct Understood;

template <class Reply, class Request>
struct Understood<Reply(Request)> {
  static Id<Reply> reply_to(Id<Request>);
};

template <class... Signatures>
struct Protocol : Understood<Signatures>... {
  using Understood<Signatures>::reply_to...;
};

template <>
struct Protocol<> {
  static void reply_to();
};

template <class Signature, class... Others>
inline constexpr bool is_one_of = (std::is_same_v<Signature, Others> || ...);

}  // namespace detail

/// The handle type of an actor, written as the list of what it understands:
/// `Interface<Lease(Renew), void(Forget)>` answers `Renew` and just takes `Forget`. A handle
/// converts to any interface that lists less: depend on the role you need.
template <class... Signatures>
class Interface {
public:
  using pointer = TypedSelf<Interface>*;
  template <class State>
  using stateful_pointer = StatefulSelf<Interface, State>*;
  using behavior_type = Behavior<Interface>;
  template <class... More>
  using extend = Interface<Signatures..., More...>;
  using Protocol = detail::Protocol<Signatures...>;

  Interface() = default;

  Interface(std::nullptr_t) {}

  explicit Interface(Ref ref) : ref_(std::move(ref)) {}

  template <class... Wider>

  requires(!std::is_same_v<Interface,
                           Interface<Wider...>> && (detail::is_one_of<Signatures, Wider...> && ...))
      Interface(const Interface<Wider...>& other)
      : ref_(other.ref()) {}

  /// An actor's handle to itself.
  template <class... Wider>

  requires(detail::is_one_of<Signatures, Wider...>&&...)
      Interface(const TypedSelf<Interface<Wider...>>* self)
      : ref_(self->ref()) {}

  explicit operator bool() const { return static_cast<bool>(ref_); }

  const Ref& ref() const { return ref_; }

  Address address() const { return ref_.address(); }

  friend bool operator==(const Interface&, const Interface&) = default;

private:
  Ref ref_;
};

/// Any actor: what is only watched or stopped.
using Any = Interface<>;

/// `Interface` plus messages that only the actor sends to itself, such as timers.
template <class Interface, class... Signatures>
using WithInternal = typename Interface::template extend<Signatures...>;

/// What `Handle` answers to an `M`; ill-formed when it does not understand it.
template <class Handle, class M>
using ReplyOf = typename decltype(std::remove_cvref_t<Handle>::Protocol::reply_to(
    detail::Id<std::remove_cvref_t<M>>{}))::type;

template <class Handle, class M>
concept Understands = Message<M> && requires {
  typename ReplyOf<Handle, M>;
};

/// Sends from code that is no actor (I/O threads, callbacks). Thread-safe.
template <class Handle, Message M>
requires Understands<Handle, M>

void tell(const Handle& dest, M&& message) {
  dest.ref().tell(Mail::of(std::forward<M>(message)), Priority::normal);
}

/// The same, ahead of normal messages.
template <class Handle, Message M>
requires Understands<Handle, M>

void tell_urgent(const Handle& dest, M&& message) {
  dest.ref().tell(Mail::of(std::forward<M>(message)), Priority::urgent);
}

/// A handle that does not keep its actor alive: for callbacks that other threads hold.
template <class Handle>
class Weak;

/// What all `Weak` share.
class WeakRef {
public:
  WeakRef() = default;
  explicit WeakRef(const Ref& ref);
  WeakRef(const WeakRef& other);

  WeakRef(WeakRef&& other) noexcept : at_(std::exchange(other.at_, nullptr)) {}

  WeakRef& operator=(WeakRef other) noexcept {
    std::swap(at_, other.at_);
    return *this;
  }

  ~WeakRef();

  Ref lock() const;

private:
  caf::actor_control_block* at_ = nullptr;
};

template <class... Signatures>
class Weak<Interface<Signatures...>> {
public:
  Weak() = default;

  explicit Weak(const Interface<Signatures...>& handle) : ref_(handle.ref()) {}

  /// Null when the actor is gone.
  Interface<Signatures...> lock() const { return Interface<Signatures...>{ref_.lock()}; }

private:
  WeakRef ref_;
};

template <class... Signatures>
Weak<Interface<Signatures...>> weak(const Interface<Signatures...>& handle) {
  return Weak<Interface<Signatures...>>{handle};
}

}  // namespace nomad::actor
