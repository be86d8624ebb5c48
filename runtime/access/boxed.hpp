// Boxed: a value that is mostly not there, and then takes a pointer's room only. Otherwise as a
// std::optional. Pure.
#pragma once

#include <memory>
#include <utility>

namespace nomad::access {

template <class T>
class Boxed {
public:
  Boxed() = default;

  Boxed(T value) : value_{std::make_unique<T>(std::move(value))} {}

  Boxed(const Boxed& other) : value_{other ? std::make_unique<T>(*other) : nullptr} {}

  Boxed(Boxed&&) noexcept = default;

  Boxed& operator=(Boxed other) noexcept {
    value_ = std::move(other.value_);
    return *this;
  }

  ~Boxed() = default;

  bool has_value() const { return value_ != nullptr; }

  explicit operator bool() const { return has_value(); }

  T& operator*() { return *value_; }

  const T& operator*() const { return *value_; }

  T* operator->() { return value_.get(); }

  const T* operator->() const { return value_.get(); }

private:
  std::unique_ptr<T> value_;
};

}  // namespace nomad::access
