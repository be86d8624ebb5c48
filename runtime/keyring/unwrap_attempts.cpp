#include "runtime/keyring/unwrap_attempts.hpp"

#include <algorithm>

namespace nomad::keyring {

bool UnwrapAttempts::begin(const Name& name, bool answers_itself, std::optional<Time> now) {
  auto& attempt = attempts_[name];
  const bool is_paused
      = !answers_itself && now && attempt.failure && *now < attempt.failed_at + pause_after_failure;
  if (attempt.is_under_way || is_paused) return false;
  attempt.is_under_way = true;
  return true;
}

void UnwrapAttempts::failed(const Name& name, Error why, Time now) {
  const auto attempt = attempts_.find(name);
  if (attempt == attempts_.end()) return;  // another one has opened the key meanwhile
  attempt->second = {.failure = std::move(why), .failed_at = now};
}

void UnwrapAttempts::opened(std::string_view key_id) {
  std::erase_if(attempts_, [key_id](const auto& one) { return one.first.first == key_id; });
}

bool UnwrapAttempts::is_under_way(const Name& name) const {
  const auto attempt = attempts_.find(name);
  return attempt != attempts_.end() && attempt->second.is_under_way;
}

bool UnwrapAttempts::is_any_under_way() const {
  return std::any_of(attempts_.begin(), attempts_.end(),
                     [](const auto& one) { return one.second.is_under_way; });
}

std::optional<Error> UnwrapAttempts::last_failure(const Name& name) const {
  const auto attempt = attempts_.find(name);
  return attempt != attempts_.end() ? attempt->second.failure : std::nullopt;
}

}  // namespace nomad::keyring
