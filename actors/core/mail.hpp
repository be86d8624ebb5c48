// Mail: a message on its way, whatever its type. CAF sees this one type only, so its templates are
// compiled once for the whole program and not once for each message and each place that sends it.
//
// A message has one receiver, who may take it apart. It stays within one process (Cap'n Proto
// carries what leaves it), so it needs no serialization and may hold any movable value.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace nomad::actor {

/// A message is a plain struct that says so with `using is_message = void;`.
template <class T>
concept Message = requires {
  typename std::remove_cvref_t<T>::is_message;
};

class Mail {
public:
  /// Empty: the answer of an actor that has nothing to say.
  Mail() = default;

  template <Message M>
  static Mail of(M&& message) {
    return Mail{new Holder<std::remove_cvref_t<M>>{std::forward<M>(message)}};
  }

  Mail(const Mail& other);

  Mail(Mail&& other) noexcept : content_(std::exchange(other.content_, nullptr)) {}

  Mail& operator=(Mail other) noexcept {
    std::swap(content_, other.content_);
    return *this;
  }

  ~Mail();

  /// `void` when empty.
  const std::type_info& type() const;

  /// Of which incarnation of its sender it is, if that sends it to itself (Policy::restart); 0:
  /// none.
  std::uint32_t incarnation() const { return content_ == nullptr ? 0 : content_->incarnation; }

  void set_incarnation(std::uint32_t incarnation) {
    if (content_ != nullptr) content_->incarnation = incarnation;
  }

  /// The message, if it is of this type.
  template <Message M>
  M* get() {
    return type() == typeid(M) ? &static_cast<Holder<M>*>(content_)->message : nullptr;
  }

private:
  struct Content {
    explicit Content(const std::type_info& of) : type(of) {}

    virtual ~Content() = default;

    const std::type_info& type;
    std::atomic<std::uint32_t> references{1};
    std::uint32_t incarnation = 0;
  };

  template <class M>
  struct Holder final : Content {
    template <class From>
    explicit Holder(From&& from) : Content(typeid(M)), message(std::forward<From>(from)) {}

    M message;
  };

  explicit Mail(Content* content) : content_(content) {}

  Content* content_ = nullptr;
};

/// Two urgent messages are handed out for each normal one: a fast lane, not an absolute priority,
/// and an urgent message overtakes earlier normal ones of the same sender.
enum class Priority : std::uint8_t { normal, urgent };

}  // namespace nomad::actor
