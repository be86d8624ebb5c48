#include "actors/client/drivers/config_reader.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "runtime/object/json_codec.hpp"

namespace nomad::client {

Result<ConfigReader> ConfigReader::parse(std::string_view config) {
  auto parsed = parse_json(config);
  if (!parsed || !parsed->is_object())
    return Error{Errc::invalid_argument, "failed to parse config: no object"};
  return ConfigReader{std::move(parsed->get_object())};
}

const boost::json::value* ConfigReader::find(std::string_view key) const {
  return config_.if_contains({key.data(), key.size()});
}

std::string ConfigReader::text(std::string_view key, std::string otherwise) const {
  const auto* const value = find(key);
  const auto* const text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? otherwise : std::string{text->data(), text->size()};
}

std::int64_t ConfigReader::number(std::string_view key, std::int64_t otherwise) const {
  const auto* const value = find(key);
  return value == nullptr || !value->is_int64() ? otherwise : value->get_int64();
}

bool ConfigReader::boolean(std::string_view key, bool otherwise) const {
  const auto* const value = find(key);
  return value == nullptr || !value->is_bool() ? otherwise : value->get_bool();
}

Nanoseconds ConfigReader::duration(std::string_view key, Nanoseconds otherwise) const {
  return Nanoseconds{number(key, otherwise.count())};
}

std::vector<std::string> ConfigReader::texts(std::string_view key) const {
  std::vector<std::string> texts;
  const auto* const value = find(key);
  if (value == nullptr || !value->is_array()) return texts;
  for (const auto& element : value->get_array())
    if (const auto* const text = element.if_string())
      texts.emplace_back(text->data(), text->size());
  return texts;
}

std::map<std::string, std::string> ConfigReader::map(std::string_view key) const {
  std::map<std::string, std::string> texts;
  const auto* const value = find(key);
  if (value == nullptr || !value->is_object()) return texts;
  for (const auto& [name, element] : value->get_object())
    if (const auto* const text = element.if_string())
      texts.emplace(name, std::string{text->data(), text->size()});
  return texts;
}

ConfigReader ConfigReader::block(std::string_view key) const {
  const auto* const value = find(key);
  return ConfigReader{value == nullptr || !value->is_object() ? boost::json::object{}
                                                              : value->get_object()};
}

}  // namespace nomad::client
