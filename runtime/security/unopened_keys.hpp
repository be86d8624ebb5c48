// Restored variables whose root key nobody can open: which there may be, and what to do about them.
// A snapshot holds root keys only wrapped for the servers that it was saved on, and for whoever
// knows their configured secret.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "runtime/object/draft.hpp"

namespace nomad::security {

/// How many of the rows, entries of a table of variables, each root key has sealed.
template <class Entries>
std::map<std::string, std::size_t> variables_by_key(const Entries& rows) {
  std::map<std::string, std::size_t> out;
  for (const auto& entry : rows)
    if (const auto id = view(entry.value()->getKeyId()); !id.empty()) ++out[std::string{id}];
  return out;
}

/// For people.
inline constexpr std::string_view how_to_open_keys
    = "copy <data_dir>/server/keystore/holder.key of a server that could open it into the same "
      "folder "
      "of a server that runs now, under another name that ends in \".key\", and restart that "
      "agent; "
      "or give all servers the `encrypt` that the `server` block of those had";

}  // namespace nomad::security
