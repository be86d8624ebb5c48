// What was restored and whose root key nobody can open: variables, and the secrets of tokens and
// auth methods. Which there may be, and what to do about them. A snapshot holds root keys only
// wrapped for the servers that it was saved on, and for whoever knows their configured secret.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/object/draft.hpp"

namespace nomad::security {

/// What a root key has sealed.
struct SealedCount {
  std::size_t variables = 0;
  std::size_t tokens = 0;
  std::size_t auth_methods = 0;
};

/// What each root key has sealed of the rows of a state::Tables.
template <class Tables>
std::map<std::string, SealedCount> sealed_by_key(const Tables& tables) {
  std::map<std::string, SealedCount> out;
  const auto count = [&out](const auto& rows, std::size_t SealedCount::*number) {
    for (const auto& entry : rows.all())
      if (const auto id = view(entry.value()->getKeyId()); !id.empty())
        ++(out[std::string{id}].*number);
  };
  count(tables.variables, &SealedCount::variables);
  count(tables.acl_tokens, &SealedCount::tokens);
  count(tables.acl_auth_methods, &SealedCount::auth_methods);
  return out;
}

/// For people: "1 variable, 2 tokens".
inline std::string describe(const SealedCount& count) {
  std::string out;
  const auto add = [&out](std::size_t number, std::string_view noun) {
    if (number == 0) return;
    if (!out.empty()) out += ", ";
    out.append(std::to_string(number)).append(" ").append(noun).append(number == 1 ? "" : "s");
  };
  add(count.variables, "variable");
  add(count.tokens, "token");
  add(count.auth_methods, "auth method");
  return out;
}

/// What opens a root key and is not beside its row, any one of it, for people:
/// "<data_dir>/…/holder.key of a server that it was saved on", "their `encrypt`", "the wrapping key
/// of their `keyring \"file\"` block". Of each kind of wraps that the row has one; none without
/// wraps.
std::vector<std::string> what_opens(schema::RootKey::Reader key);

/// For people.
inline constexpr std::string_view how_to_open_keys
    = "copy <data_dir>/server/keystore/holder.key of a server that could open it into the same "
      "folder "
      "of a server that runs now, under another name that ends in \".key\", and restart that "
      "agent; "
      "or give all servers the `encrypt` that the `server` block of those had, or the `keyring` "
      "block";

}  // namespace nomad::security
