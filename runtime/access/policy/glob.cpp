#include "runtime/access/policy/glob.hpp"

#include <algorithm>

namespace nomad::access {

bool glob_matches(std::string_view pattern, std::string_view name) {
  auto star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  name.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  for (; (star = pattern.find('*')) != std::string_view::npos; pattern.remove_prefix(star + 1)) {
    const auto at = name.find(pattern.substr(0, star));
    if (at == std::string_view::npos) return false;
    name.remove_prefix(at + star);
  }
  return name.ends_with(pattern);
}

std::size_t literal_size(std::string_view pattern) {
  return pattern.size() - static_cast<std::size_t>(std::ranges::count(pattern, '*'));
}

}  // namespace nomad::access
