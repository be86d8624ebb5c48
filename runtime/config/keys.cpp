#include "runtime/config/keys.hpp"

#include <algorithm>
#include <utility>

namespace nomad::config {
namespace {

/// A line of keys.def: `names`, which are separated by spaces, are keys of the same block.
struct Line {
  std::string_view block;
  std::string_view names;
  Kind kind;
  KeyState state;
  std::string_view note;
  std::string_view idle;
  Target (*member)(AgentConfig& of, const std::string& label);
};

#define MEMBER(member) \
  [](AgentConfig& of, [[maybe_unused]] const std::string& label) -> Target { return &of.member; }
#define KEY(kind, member) KEY_AS(#member, kind, member)
#define OURS(kind, member) OURS_AS(#member, kind, member)
#define KEY_AS(path, kind, member) PARTLY_AS(works, path, kind, member, "")
#define OURS_AS(path, kind, member) PARTLY_AS(works, path, kind, member, "not in Nomad 1.6")
#define PARTLY(path, kind, member, note) PARTLY_AS(partly, path, kind, member, note)
#define PARTLY_AS(state, path, kind, member, note) \
  {"", path, Kind::kind, KeyState::state, note, "", MEMBER(member)},
#define MOOT(kind, block, names, note) \
  {block, names, Kind::kind, KeyState::works, note, "", nullptr},
#define UNHEEDED(kind, block, names, idle, note) \
  {block, names, Kind::kind, KeyState::unheeded, note, idle, nullptr},
#define REFUSED(kind, block, names, idle, note) \
  {block, names, Kind::kind, KeyState::refused, note, idle, nullptr},
constexpr Line lines[] = {
#include "runtime/config/keys.def"
};
#undef MEMBER
#undef KEY
#undef OURS
#undef KEY_AS
#undef OURS_AS
#undef PARTLY
#undef PARTLY_AS
#undef MOOT
#undef UNHEEDED
#undef REFUSED

std::vector<Key> make_keys() {
  std::vector<Key> all;
  for (const Line& line : lines) {
    for (auto names = line.names; !names.empty();) {
      const auto end = std::min(names.find(' '), names.size());
      auto path = std::string{line.block};
      if (!path.empty()) path += '.';
      path += names.substr(0, end);
      all.push_back({std::move(path), line.kind, line.state, line.note, line.idle, line.member});
      names.remove_prefix(std::min(end + 1, names.size()));
    }
  }
  return all;
}

/// The first step of a path, which is taken off.
std::string_view take_step(std::string_view& path) {
  const auto end = std::min(path.find('.'), path.size());
  const auto step = path.substr(0, end);
  path.remove_prefix(std::min(end + 1, path.size()));
  return step;
}

/// Whether `path` begins with `block`; what is behind it then is left in `path`.
bool enter(std::string_view& path, std::string_view block) {
  while (!block.empty()) {
    const auto wanted = take_step(block);
    const auto step = take_step(path);
    if (step.empty() || (step != wanted && step != "*")) return false;
  }
  return true;
}

}  // namespace

const std::vector<Key>& keys() {
  static const std::vector<Key> all = make_keys();
  return all;
}

const Key* find_key(std::string_view path) {
  for (const Key& key : keys()) {
    std::string_view rest = key.path;
    if (enter(rest, path) && rest.empty()) return &key;
  }
  return nullptr;
}

std::vector<std::string_view> names_in(std::string_view path) {
  std::vector<std::string_view> names;
  for (const Key& key : keys()) {
    std::string_view rest = key.path;
    if (!enter(rest, path) || rest.empty()) continue;
    const auto name = take_step(rest);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace nomad::config
