// OutputQueue: the bytes that a socket has not taken yet, in order: text that is appended to, and
// behind it at most one large body that is shared and not copied. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace nomad::net {

class OutputQueue {
public:
  /// To be appended to. What is left of a shared body is copied first, so that the order holds.
  std::string& text() {
    if (shared_) {
      text_ += std::string_view{*shared_}.substr(shared_taken_);
      shared_.reset();
    }
    return text_;
  }

  /// Sent from where it is; never changed meanwhile.
  void append(std::shared_ptr<const std::string> body) {
    if (shared_) text();
    shared_ = std::move(body);
    shared_taken_ = 0;
  }

  /// What is sent next, and what comes right behind it.
  std::array<std::string_view, 2> parts() const {
    const auto text = std::string_view{text_}.substr(text_taken_);
    const auto body
        = shared_ ? std::string_view{*shared_}.substr(shared_taken_) : std::string_view{};
    return text.empty() ? std::array{body, std::string_view{}} : std::array{text, body};
  }

  /// The socket has taken `count` bytes.
  void take(std::size_t count) {
    taken_ += count;
    const auto of_text = std::min(count, text_.size() - text_taken_);
    text_taken_ += of_text;
    if (shared_ && (shared_taken_ += count - of_text) == shared_->size()) shared_.reset();
    if (text_taken_ == text_.size()) {
      text_.clear();
      text_taken_ = 0;
      if (text_.capacity() > kept_bytes) text_.shrink_to_fit();
    } else if (text_taken_ > 4 * kept_bytes) {
      text_.erase(0, std::exchange(text_taken_, 0));
    }
  }

  void clear() {
    text_.clear();
    text_taken_ = 0;
    shared_.reset();
  }

  std::size_t size() const {
    return text_.size() - text_taken_ + (shared_ ? shared_->size() - shared_taken_ : 0);
  }

  bool empty() const { return size() == 0; }

  /// Bytes taken since the beginning.
  std::uint64_t taken() const { return taken_; }

private:
  static constexpr std::size_t kept_bytes = 16 * 1024;  ///< Memory that an idle one may keep.

  std::string text_;
  std::size_t text_taken_ = 0;
  std::shared_ptr<const std::string> shared_;
  std::size_t shared_taken_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace nomad::net
