// OutputQueue: the bytes that a socket has not taken yet, in order: text that is appended to, and
// behind and between it large bodies that are shared and not copied. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace nomad::net {

class OutputQueue {
public:
  /// To be appended to, until the next call.
  std::string& text() { return later_.empty() ? text_ : later_.back().text; }

  /// Sent from where it is; never changed meanwhile.
  void append(std::shared_ptr<const std::string> body) {
    if (body->empty()) return;
    if (!later_.empty()) later_bytes_ += later_.back().text.size();
    later_bytes_ += body->size();
    later_.push_back({std::move(body), {}});
  }

  /// What is sent next, and what comes right behind it.
  std::array<std::string_view, 2> parts() const {
    const auto text = std::string_view{text_}.substr(text_taken_);
    if (later_.empty()) return {text, {}};
    const auto& next = later_.front();
    const auto body = std::string_view{*next.body}.substr(body_taken_);
    return text.empty() ? std::array{body, std::string_view{next.text}} : std::array{text, body};
  }

  /// The socket has taken `count` bytes.
  void take(std::size_t count) {
    taken_ += count;
    for (;;) {
      const auto of_text = std::min(count, text_.size() - text_taken_);
      text_taken_ += of_text;
      count -= of_text;
      if (!give_up_text() || later_.empty()) return;
      const auto& body = *later_.front().body;
      const auto of_body = std::min(count, body.size() - body_taken_);
      body_taken_ += of_body;
      later_bytes_ -= of_body;
      count -= of_body;
      if (body_taken_ != body.size()) return;
      body_taken_ = 0;
      text_ = std::move(later_.front().text);
      later_.pop_front();
      if (!later_.empty()) later_bytes_ -= text_.size();
    }
  }

  void clear() {
    text_.clear();
    text_taken_ = 0;
    later_.clear();
    body_taken_ = 0;
    later_bytes_ = 0;
  }

  std::size_t size() const {
    return text_.size() - text_taken_ + later_bytes_
           + (later_.empty() ? 0 : later_.back().text.size());
  }

  bool empty() const { return size() == 0; }

  /// Bytes taken since the beginning.
  std::uint64_t taken() const { return taken_; }

private:
  static constexpr std::size_t kept_bytes = 16 * 1024;  ///< Memory that an idle one may keep.

  struct Later {
    std::shared_ptr<const std::string> body;
    std::string text;  ///< Behind it.
  };

  /// Lets go of the text that has left; false if some is still there.
  bool give_up_text() {
    if (text_taken_ == text_.size()) {
      text_.clear();
      text_taken_ = 0;
      if (text_.capacity() > kept_bytes) text_.shrink_to_fit();
      return true;
    }
    if (text_taken_ > 4 * kept_bytes) text_.erase(0, std::exchange(text_taken_, 0));
    return false;
  }

  std::string text_;
  std::size_t text_taken_ = 0;
  std::list<Later> later_;
  std::size_t body_taken_ = 0;   ///< Of the first body.
  std::size_t later_bytes_ = 0;  ///< Left in `later_`, but for the last text, which may grow.
  std::uint64_t taken_ = 0;
};

}  // namespace nomad::net
