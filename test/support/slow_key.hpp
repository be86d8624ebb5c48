// A key outside of the cluster that answers when it is told to.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/security/keyring.hpp"

namespace nomad::test {

/// Wraps by turning bytes round.
class SlowKey : public security::WrappingKey {
public:
  explicit SlowKey(std::string name = "keyring slow") : name_{std::move(name)} {}

  const std::string& name() const override { return name_; }

  void wrap(std::string_view, const security::Secret& content, Wrapped done) override {
    security::Bytes copy{content.bytes().begin(), content.bytes().end()};
    std::reverse(copy.begin(), copy.end());
    waiting.emplace_back([done, copy] { done(copy); });
  }

  void unwrap(std::string_view, std::span<const std::byte> sealed, Unwrapped done) override {
    ++asked;
    security::Bytes copy{sealed.begin(), sealed.end()};
    if (!unwraps_wrongly) std::reverse(copy.begin(), copy.end());
    waiting.emplace_back([this, done, copy] {
      if (failure)
        done(*failure);
      else
        done(security::Secret::copy_of(std::span<const std::byte>{copy}));
    });
  }

  void answer() {
    for (const auto& one : std::exchange(waiting, {}))
      one();
  }

  std::vector<std::function<void()>> waiting;
  std::optional<Error> failure;
  bool unwraps_wrongly = false;
  int asked = 0;

private:
  std::string name_;
};

/// A root key that it has wrapped, for servers that have it: `slow->answer()` opens it to who asks.
inline Object<schema::RootKey> wrapped_by(const std::shared_ptr<SlowKey>& slow,
                                          std::string_view id) {
  const auto maker
      = security::Keyring::open({.server_id = "maker", .wrapping = {.active = slow}}).value();
  Object<schema::RootKey> made;
  maker->make_root_key(id, 1, {}, 0, [&](Result<Object<schema::RootKey>> row) { made = *row; });
  while (!slow->waiting.empty())  // What is wrapped is unwrapped once to prove it.
    slow->answer();
  return made;
}

}  // namespace nomad::test
