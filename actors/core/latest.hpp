// Latest: a value that somebody sets and others read, each on a thread of his own; they get copies.
// Before it is set it is as T makes it, which tells its readers: not yet.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace nomad::actor {

/// Copies share the value.
template <class T>
class Latest {
public:
  Latest() = default;
  Latest(const Latest&) = default;  // Moves copy: one that is moved from is as good as before.
  Latest& operator=(const Latest&) = default;

  T get() const {
    const std::scoped_lock lock{core_->mutex};
    return core_->value;
  }

  void set(T value) {
    const std::scoped_lock lock{core_->mutex};
    std::swap(core_->value, value);
  }

private:
  struct Core {
    std::mutex mutex;
    T value{};
  };

  std::shared_ptr<Core> core_ = std::make_shared<Core>();
};

}  // namespace nomad::actor
