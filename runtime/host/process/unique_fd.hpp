// UniqueFd: the one owner of a file descriptor. Used by the agent and by nomadctl-executor, so it
// depends on nothing.
#pragma once

#include <utility>

#include <unistd.h>

namespace nomad::host {

/// Closes its descriptor when it goes; movable, not copyable. -1 stands for none.
class UniqueFd {
public:
  UniqueFd() = default;

  explicit UniqueFd(int descriptor) : descriptor_(descriptor) {}

  UniqueFd(UniqueFd&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.descriptor_, -1));
    return *this;
  }

  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;

  ~UniqueFd() { reset(); }

  int get() const { return descriptor_; }

  explicit operator bool() const { return descriptor_ >= 0; }

  /// Hands the descriptor over to the caller.
  int release() { return std::exchange(descriptor_, -1); }

  void reset(int descriptor = -1) {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = descriptor;
  }

private:
  int descriptor_ = -1;
};

}  // namespace nomad::host
