#include "runtime/config/keys.hpp"

#include <algorithm>

namespace nomad::config {
namespace {

/// A row for each of `names`, which are keys of the same block.
void add_each(std::vector<Key>& to, std::string_view block, std::string_view names, Key row) {
  while (!names.empty()) {
    const auto end = std::min(names.find(' '), names.size());
    row.path = block;
    if (!block.empty()) row.path += '.';
    row.path += names.substr(0, end);
    to.push_back(row);
    names.remove_prefix(std::min(end + 1, names.size()));
  }
}

std::vector<Key> make_keys() {
  std::vector<Key> all;
#define MEMBER(member) \
  [](AgentConfig& of, [[maybe_unused]] const std::string& label) -> Target { return &of.member; }
#define KEY(kind, member) \
  all.push_back({#member, Kind::kind, KeyState::works, {}, {}, MEMBER(member)});
#define OURS(kind, member) \
  all.push_back({#member, Kind::kind, KeyState::works, "not in Nomad 1.6", {}, MEMBER(member)});
#define KEY_AS(path, kind, member) \
  all.push_back({path, Kind::kind, KeyState::works, {}, {}, MEMBER(member)});
#define OURS_AS(path, kind, member) \
  all.push_back({path, Kind::kind, KeyState::works, "not in Nomad 1.6", {}, MEMBER(member)});
#define PARTLY(path, kind, member, note) \
  all.push_back({path, Kind::kind, KeyState::partly, note, {}, MEMBER(member)});
#define MOOT(kind, block, names, note) \
  add_each(all, block, names, {{}, Kind::kind, KeyState::works, note});
#define UNHEEDED(kind, block, names, idle, note) \
  add_each(all, block, names, {{}, Kind::kind, KeyState::unheeded, note, idle});
#define REFUSED(kind, block, names, idle, note) \
  add_each(all, block, names, {{}, Kind::kind, KeyState::refused, note, idle});
#include "runtime/config/keys.def"
#undef MEMBER
#undef KEY
#undef OURS
#undef KEY_AS
#undef OURS_AS
#undef PARTLY
#undef MOOT
#undef UNHEEDED
#undef REFUSED
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
