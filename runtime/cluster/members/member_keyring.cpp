#include "runtime/cluster/members/member_keyring.hpp"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>

namespace nomad::cluster {

Result<MemberKeyring> MemberKeyring::of(std::string_view encrypt) {
  MemberKeyring keyring;
  if (!encrypt.empty()) NOMAD_TRY(keyring.install(encrypt));
  return keyring;
}

Result<MemberKeyring> MemberKeyring::from_text(std::string_view text) {
  boost::system::error_code failure;
  const auto list = boost::json::parse({text.data(), text.size()}, failure);
  if (failure || !list.is_array() || list.as_array().empty())
    return Error{Errc::corrupt, "the keyring is no list of keys"};
  MemberKeyring keyring;
  for (const auto& key : list.as_array()) {
    if (!key.is_string()) return Error{Errc::corrupt, "a key of the keyring is no text"};
    NOMAD_TRY(keyring.install(std::string_view{key.as_string()}).within("keyring"));
  }
  return keyring;
}

std::string MemberKeyring::text() const {
  boost::json::array list;
  for (const auto& entry : entries_)
    list.emplace_back(entry.text);
  return boost::json::serialize(list);
}

std::vector<MemberKeyring::Entry>::iterator MemberKeyring::find(std::string_view key) {
  return std::ranges::find(entries_, key, &Entry::text);
}

Result<> MemberKeyring::install(std::string_view key) {
  auto made = NOMAD_TRY(MemberKey::from_text(key));
  if (find(key) != entries_.end()) return {};
  if (entries_.size() == most_keys)
    return Error{Errc::too_large, fmt::format("the keyring has {} keys; remove one", most_keys)};
  entries_.push_back({std::string{key}, std::move(made)});
  return {};
}

Result<> MemberKeyring::use(std::string_view key) {
  const auto found = find(key);
  if (found == entries_.end()) return Error{Errc::rejected, "requested key is not in the keyring"};
  std::rotate(entries_.begin(), found, found + 1);
  return {};
}

Result<> MemberKeyring::remove(std::string_view key) {
  const auto found = find(key);
  if (found == entries_.end()) return {};
  if (found == entries_.begin())
    return Error{Errc::rejected, "removing the primary key is not allowed"};
  entries_.erase(found);
  return {};
}

std::vector<std::string> MemberKeyring::keys() const {
  std::vector<std::string> texts;
  for (const auto& entry : entries_)
    texts.push_back(entry.text);
  return texts;
}

std::vector<const MemberKey*> MemberKeyring::all() const {
  std::vector<const MemberKey*> keys;
  for (const auto& entry : entries_)
    keys.push_back(entry.key.get());
  return keys;
}

Result<> carry_out(MemberKeyring& keyring, KeyringAction action, std::string_view key) {
  if (keyring.empty())
    return Error{Errc::rejected, "no keyring to change: encryption is not enabled"};
  switch (action) {
    case KeyringAction::list:
      return {};
    case KeyringAction::install:
      return keyring.install(key);
    case KeyringAction::use:
      return keyring.use(key);
    case KeyringAction::remove:
      return keyring.remove(key);
  }
  return Error{Errc::corrupt, "an unknown action on the keyring"};
}

void KeyringAnswers::count(const std::vector<std::string>& its_keys) {
  for (const auto& key : its_keys)
    ++keys[key];
  if (!its_keys.empty()) ++primaries[its_keys.front()];
}

}  // namespace nomad::cluster
