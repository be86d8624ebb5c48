#include "actors/plugin/config_place.hpp"

#include <boost/json/parse.hpp>
#include <fmt/format.h>

#include "actors/client/drivers/config_schema.hpp"

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

Result<boost::json::object> check_config(std::string_view plugin,
                                         capnp::List<schema::plugin::ConfigField>::Reader fields,
                                         std::string_view config,
                                         const std::map<std::string, std::string>& places) {
  boost::json::error_code failure;
  const auto given = boost::json::parse(config, failure);
  if (failure) return Error{Errc::invalid_argument, "its configuration is no JSON"};
  auto made = client::apply_fields(fields, given);
  if (!made) return Error{Errc::invalid_argument, place_error(plugin, made.error().what, places)};
  return made;
}

}  // namespace nomad::plugin
