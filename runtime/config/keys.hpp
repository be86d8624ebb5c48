// The table of configuration files: every key that Nomad's may have, and ours, each with what it
// means here. Files are read by it, docs/compatibility.md is made of it, and a new key is one line
// of keys.def.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/config/agent_config.hpp"

namespace nomad::config {

enum class Kind : std::uint8_t {
  text,
  boolean,
  integer,
  real,
  duration,
  list,   ///< of texts
  map,    ///< a block of texts under free names
  block,  ///< whatever is in it, if anything
};

/// What this release makes of a key.
enum class KeyState : std::uint8_t {
  works,     ///< as in Nomad
  partly,    ///< but for what the note says
  unheeded,  ///< has no effect, of which the agent warns when it starts
  refused,   ///< the agent does not start: it would be less safe than it was told to be
};

/// Where the value goes; nothing for a key without effect.
using Target = std::variant<std::monostate,
                            std::string*,
                            bool*,
                            std::int64_t*,
                            double*,
                            Nanoseconds*,
                            std::vector<std::string>*,
                            TextMap*>;

struct Key {
  std::string path;  ///< "client.host_volume.*.path"; the star stands for a label
  Kind kind = Kind::text;
  KeyState state = KeyState::works;
  std::string_view note{};
  /// Of keys without effect: what may be said without a warning, as it is so anyway. So is nothing:
  /// "", 0, false, an empty list, a block that says `enabled = false`.
  std::string_view idle{};
  Target (*member)(AgentConfig& of, const std::string& label) = nullptr;
};

/// Sorted by blocks, as in the file. For ever; any thread.
const std::vector<Key>& keys();

/// The row of a path, whose labels may stand for themselves. Null when there is none.
const Key* find_key(std::string_view path);

/// The names that may stand in the block `path`; "" is the file. Empty when it is no block.
std::vector<std::string_view> names_in(std::string_view path);

}  // namespace nomad::config
