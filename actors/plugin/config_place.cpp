#include "actors/plugin/config_place.hpp"

#include <fmt/format.h>

namespace nomad::plugin {

std::string place_error(std::string_view plugin,
                        std::string_view what,
                        const std::map<std::string, std::string>& places) {
  constexpr std::string_view prefix = "failed to parse config: ";
  if (what.starts_with(prefix)) what.remove_prefix(prefix.size());
  const std::string* found = nullptr;
  std::size_t length = 0;
  for (const auto& [key, place] : places) {
    const bool is_named = key.empty() || what.starts_with(key + ':')
                          || what.find('"' + key + '"') != std::string_view::npos;
    if (!is_named || (found != nullptr && key.size() <= length)) continue;
    found = &place;
    length = key.size();
  }
  const auto text = fmt::format("plugin.{}.config: {}", plugin, what);
  return found == nullptr ? text : fmt::format("{}: {}", *found, text);
}

}  // namespace nomad::plugin
