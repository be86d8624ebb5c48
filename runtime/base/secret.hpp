// Comparing secrets, and texts that are some.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace nomad {

/// Whether two secrets are the same, in a time that tells nothing of where they differ. How long
/// they are is no secret.
bool same_secret(std::string_view left, std::string_view right);

/// A text that nobody else is to read: it has no printer, compares in constant time and is wiped
/// when it goes. For what passes through; keys that stay are a security::Secret.
class SecretText {
public:
  SecretText() = default;

  explicit SecretText(std::string text) : text_{std::move(text)} {}

  explicit SecretText(std::string_view text) : text_{text} {}

  explicit SecretText(const char* text) : text_{text} {}

  SecretText(const SecretText&) = default;
  SecretText(SecretText&& other) noexcept;
  SecretText& operator=(SecretText other) noexcept;
  ~SecretText();

  bool empty() const { return text_.empty(); }

  /// For sending it on, or looking it up.
  const std::string& reveal() const { return text_; }

  friend bool operator==(const SecretText& left, const SecretText& right) {
    return same_secret(left.text_, right.text_);
  }

private:
  std::string text_;
};

}  // namespace nomad
