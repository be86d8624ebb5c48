#include "runtime/base/secret.hpp"

#include <sodium.h>

namespace nomad {

bool same_secret(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  return left.empty() || sodium_memcmp(left.data(), right.data(), left.size()) == 0;
}

SecretText::SecretText(SecretText&& other) noexcept {
  text_.swap(other.text_);  // moving a short text would leave a copy
}

SecretText& SecretText::operator=(SecretText other) noexcept {
  text_.swap(other.text_);
  return *this;
}

SecretText::~SecretText() {
  sodium_memzero(text_.data(), text_.size());
}

}  // namespace nomad
