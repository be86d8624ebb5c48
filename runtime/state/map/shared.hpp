// Shared<T>: a counted reference of eight bytes to a value that is immutable once shared. The
// writer may change the value in place while nobody else refers to it (`writable`).
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace nomad::state {

template <class T>
class Shared {
public:
  Shared() = default;

  Shared(const Shared& other) noexcept : block_{other.block_} {
    if (block_ != nullptr) block_->references.fetch_add(1, std::memory_order_relaxed);
  }

  Shared(Shared&& other) noexcept : block_{std::exchange(other.block_, nullptr)} {}

  Shared& operator=(Shared other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }

  ~Shared() {
    if (block_ != nullptr && block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete block_;
  }

  template <class... Args>
  static Shared make(Args&&... args) {
    Shared result;
    result.block_ = new Block{1, T{std::forward<Args>(args)...}};
    return result;
  }

  explicit operator bool() const noexcept { return block_ != nullptr; }

  const T& operator*() const noexcept { return block_->value; }

  const T* operator->() const noexcept { return &block_->value; }

  /// The value for changing: this very one if nobody else refers to it, else a copy that this
  /// reference points to from now on. Only for the owner of the reference.
  T& writable() {
    if (block_->references.load(std::memory_order_acquire) != 1) *this = make(block_->value);
    return block_->value;
  }

  /// Asks for the cache line of the count, which is about to change.
  [[gnu::always_inline]] void prefetch() const noexcept { __builtin_prefetch(block_, 1); }

  bool is_same(const Shared& other) const noexcept { return block_ == other.block_; }

private:
  struct Block {
    std::atomic<std::uint32_t> references;
    T value;
  };

  Block* block_ = nullptr;
};

}  // namespace nomad::state
