// Result<T> and Error: how every expected failure travels in this program.
//
// May be included by everything. An Error is a code for programs and a sentence for people that
// names the object and the rule; nothing depends on the sentence. Exceptions are for bugs:
// libraries' exceptions are caught where the library is called.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace nomad {

/// Why an operation failed. One meaning per code; the HTTP status of each stands in
/// runtime/net/http/error_status.hpp. The numbers travel between agents of different versions: new
/// codes go to the end.
enum class Errc : std::uint8_t {
  invalid_argument = 1,  ///< The caller sent something we cannot accept.
  permission_denied,     ///< The caller lacks the capability.
  not_found,             ///< No such object.
  conflict,              ///< A check-and-set lost, or somebody else's change forbids it.
  too_large,             ///< A bound on size, count or depth was exceeded.
  rejected,              ///< Well-formed, but a rule or what the object is now forbids it.
  cancelled,             ///< The caller, or a shutdown, withdrew the work.
  timeout,               ///< No answer in time; the work may still happen.
  unavailable,           ///< The peer, or what the work needs, is gone; try again later.
  overloaded,            ///< A bounded queue is full; try again later.
  io,                    ///< The operating system refused (disk, socket, process).
  corrupt,               ///< Stored or received bytes fail their check.
  internal,              ///< A bug; logged where it happens.
  no_leader,             ///< Nobody leads the servers: nothing was done; try again later.
};

/// For who reads codes from elsewhere: a greater number is of a newer version.
inline constexpr Errc last_errc = Errc::no_leader;

/// The code's name as it is written in logs: "not_found".
std::string_view to_string(Errc code);

/// An expected failure.
struct Error {
  Errc code = Errc::internal;
  std::string what;

  friend bool operator==(const Error&, const Error&) = default;

  /// The same failure seen one layer up: "<context>: <what>".
  Error within(std::string_view context) const {
    return {code, std::string{context} + ": " + what};
  }
};

namespace detail {

/// Unwrapping unchecked is a bug: throws a std::logic_error that names the error.
[[noreturn]] void unwrapped(const Error& err);

/// What `error()` of a success refers to.
extern const Error no_error;

}  // namespace detail

/// Either a value or the `Error` that prevented it.
///
/// By hand, and not boost::system::result, because that costs 73 ms of compile time for each type
/// and source, this 14 ms: with some thousand pairs of them it was a fifth of the build.
template <class T = void>
class [[nodiscard]] Result {
public:
  using value_type = T;

  Result() requires std::is_default_constructible_v<T> : Result(T()) {}

  Result(T value) : has_value_(true) { std::construct_at(&value_, std::move(value)); }

  Result(Error error) : has_value_(false) { std::construct_at(&error_, std::move(error)); }

  /// From what a `T` is made of without a word.
  template <class U>

  requires(
      std::is_convertible_v<
          U&&,
          T> && !std::is_same_v<std::remove_cvref_t<U>, T> && !std::is_same_v<std::remove_cvref_t<U>, Error> && !std::is_same_v<std::remove_cvref_t<U>, Result>)
      Result(U&& value)
      : Result(T(std::forward<U>(value))) {}

  Result(const Result& other) requires std::is_copy_constructible_v<T>
      : has_value_(other.has_value_) {
    take(other);
  }

  Result(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>)
      : has_value_(other.has_value_) {
    take(std::move(other));
  }

  Result& operator=(const Result& other) requires std::is_copy_constructible_v<T> {
    return *this = Result(other);
  }

  Result& operator=(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) {
    if (this == &other) return *this;
    clear();
    has_value_ = other.has_value_;
    take(std::move(other));
    return *this;
  }

  ~Result() { clear(); }

  explicit operator bool() const { return has_value_; }

  bool has_value() const { return has_value_; }

  bool has_error() const { return !has_value_; }

  const Error& error() const { return has_value_ ? detail::no_error : error_; }

  /// Unchecked: for after a look at `has_value`.
  T& operator*() & { return value_; }

  const T& operator*() const& { return value_; }

  T&& operator*() && { return std::move(value_); }

  T* operator->() { return &value_; }

  const T* operator->() const { return &value_; }

  T& value() & {
    if (!has_value_) detail::unwrapped(error_);
    return value_;
  }

  const T& value() const& {
    if (!has_value_) detail::unwrapped(error_);
    return value_;
  }

  T&& value() && {
    if (!has_value_) detail::unwrapped(error_);
    return std::move(value_);
  }

  /// Unchecked, like `*`: the value itself.
  T take() && { return std::move(value_); }

  /// The same; an error as it is seen one layer up.
  Result within(std::string_view context) && {
    if (!has_value_) error_ = error_.within(context);
    return std::move(*this);
  }

  template <class U>
  T value_or(U&& instead) const& {
    return has_value_ ? value_ : T(std::forward<U>(instead));
  }

  template <class U>
  T value_or(U&& instead) && {
    return has_value_ ? std::move(value_) : T(std::forward<U>(instead));
  }

  friend bool operator==(const Result& a, const Result& b) {
    if (a.has_value_ != b.has_value_) return false;
    return a.has_value_ ? a.value_ == b.value_ : a.error_ == b.error_;
  }

private:
  template <class Other>
  void take(Other&& other) {
    if (has_value_)
      std::construct_at(&value_, std::forward<Other>(other).value_);
    else
      std::construct_at(&error_, std::forward<Other>(other).error_);
  }

  void clear() {
    if (has_value_)
      std::destroy_at(&value_);
    else
      std::destroy_at(&error_);
  }

  union {
    T value_;
    Error error_;
  };

  bool has_value_;
};

template <>
class [[nodiscard]] Result<void> {
public:
  using value_type = void;

  Result() = default;

  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const { return !error_; }

  bool has_value() const { return !error_; }

  bool has_error() const { return error_.has_value(); }

  const Error& error() const { return error_ ? *error_ : detail::no_error; }

  void value() const {
    if (error_) detail::unwrapped(*error_);
  }

  void take() && {}

  Result within(std::string_view context) && {
    if (error_) error_ = error_->within(context);
    return std::move(*this);
  }

  friend bool operator==(const Result&, const Result&) = default;

private:
  std::optional<Error> error_;
};

/// An `Error` from `errno`: "<what was tried>: <strerror>". `code` defaults to `io`.
Error errno_error(std::string_view attempt, int error_number, Errc code = Errc::io);

}  // namespace nomad

/// The value of `expression`, a Result. Its error is returned from the enclosing function. Stands
/// alone or as a whole initializer: `const auto rows = NOMAD_TRY(read_rows());`.
#define NOMAD_TRY(expression)                          \
  __extension__({                                      \
    auto outcome_ = (expression);                      \
    if (outcome_.has_error()) return outcome_.error(); \
    std::move(outcome_).take();                        \
  })
