// Rare: a value that is mostly not there, and then takes a pointer's room only. Otherwise as a
// std::optional. Pure.
#pragma once

#include <memory>
#include <utility>

namespace nomad::access {

template <class T>
class Rare {
public:
  Rare() = default;

  Rare(T value) : value_{std::make_unique<T>(std::move(value))} {}

  Rare(const Rare& other) : value_{other ? std::make_unique<T>(*other) : nullptr} {}

  Rare(Rare&&) noexcept = default;

  Rare& operator=(Rare other) noexcept {
    value_ = std::move(other.value_);
    return *this;
  }

  ~Rare() = default;

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
