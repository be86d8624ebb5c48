#include "actors/client/drivers/config_reader.hpp"

#include <charconv>
#include <cmath>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

namespace nomad::client {

ConfigReader::ConfigReader(const boost::json::value& config, std::string where)
    : config_{config}, where_{std::move(where)} {}

const boost::json::value* ConfigReader::find(std::string_view key) {
  asked_.emplace(key);
  const auto* const object = config_.if_object();
  if (object == nullptr) return nullptr;
  const auto* const value = object->if_contains({key.data(), key.size()});
  return value == nullptr || value->is_null() ? nullptr : value;
}

void ConfigReader::complain(std::string_view key, std::string_view expected) {
  if (problem_.empty()) problem_ = fmt::format("{}{}: expected {}", where_, key, expected);
}

bool ConfigReader::has(std::string_view key) {
  return find(key) != nullptr;
}

std::string ConfigReader::text(std::string_view key, std::string otherwise) {
  const auto* const value = find(key);
  if (value == nullptr) return otherwise;
  if (const auto* const text = value->if_string()) return {text->data(), text->size()};
  if (const auto* const number = value->if_int64()) return std::to_string(*number);
  if (const auto* const number = value->if_uint64()) return std::to_string(*number);
  if (const auto* const number = value->if_double()) return fmt::format("{}", *number);
  if (const auto* const flag = value->if_bool()) return *flag ? "true" : "false";
  complain(key, "a text");
  return otherwise;
}

std::int64_t ConfigReader::number(std::string_view key, std::int64_t otherwise) {
  const auto* const value = find(key);
  if (value == nullptr) return otherwise;
  if (const auto* const number = value->if_int64()) return *number;
  if (const auto* const real = value->if_double();
      real != nullptr && std::trunc(*real) == *real && std::abs(*real) < 9e15)
    return static_cast<std::int64_t>(*real);
  if (const auto* const text = value->if_string()) {
    std::int64_t parsed = 0;
    const auto* const end = text->data() + text->size();
    const auto outcome = std::from_chars(text->data(), end, parsed);
    if (outcome.ec == std::errc{} && outcome.ptr == end) return parsed;
  }
  complain(key, "a whole number");
  return otherwise;
}

bool ConfigReader::boolean(std::string_view key, bool otherwise) {
  const auto* const value = find(key);
  if (value == nullptr) return otherwise;
  if (const auto* const flag = value->if_bool()) return *flag;
  if (const auto* const text = value->if_string()) {
    if (*text == "true" || *text == "1") return true;
    if (*text == "false" || *text == "0") return false;
  }
  complain(key, "true or false");
  return otherwise;
}

Nanoseconds ConfigReader::duration(std::string_view key, Nanoseconds otherwise) {
  const auto written = text(key);
  if (written.empty()) return otherwise;
  const auto parsed = parse_duration(written);
  if (parsed) return *parsed;
  complain(key, "a duration such as \"10s\"");
  return otherwise;
}

std::vector<std::string> ConfigReader::texts(std::string_view key) {
  std::vector<std::string> texts;
  const auto* const value = find(key);
  if (value == nullptr) return texts;
  const auto* const list = value->if_array();
  if (list == nullptr) {
    complain(key, "a list of texts");
    return texts;
  }
  for (const auto& element : *list) {
    const boost::json::value wrapped = boost::json::object{{"text", element}};
    ConfigReader reader{wrapped};
    texts.push_back(reader.text("text"));
    if (!reader.finish()) complain(key, "a list of texts");
  }
  return texts;
}

const boost::json::value* ConfigReader::block(std::string_view key) {
  const auto* value = find(key);
  if (value == nullptr) return nullptr;
  if (const auto* const list = value->if_array(); list != nullptr && list->size() == 1)
    value = &list->front();
  if (value->is_object()) return value;
  complain(key, "a block");
  return nullptr;
}

Result<> ConfigReader::finish() {
  if (const auto* const object = config_.if_object(); object != nullptr && problem_.empty())
    for (const auto& member : *object) {
      const std::string_view key{member.key().data(), member.key().size()};
      if (!asked_.contains(key))
        problem_ = fmt::format("{}no argument or block type is named \"{}\"", where_, key);
    }
  if (problem_.empty()) return {};
  return Error{Errc::invalid_argument, "failed to parse config: " + problem_};
}

}  // namespace nomad::client
