#include "runtime/plugin/bridge/log_lines.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace nomad::plugin::bridge {
namespace {

Level level_of(std::string_view name) {
  if (name == "trace") return Level::trace;
  if (name == "debug") return Level::debug;
  if (name == "warn") return Level::warn;
  if (name == "error") return Level::error;
  return Level::info;
}

std::string_view text_at(const boost::json::object& line, std::string_view key) {
  const auto* const value = line.if_contains(key);
  const auto* const text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string_view{} : std::string_view{text->data(), text->size()};
}

}  // namespace

LogLine read_log_line(std::string_view line) {
  boost::json::error_code failure;
  const auto parsed
      = line.starts_with('{') ? boost::json::parse(line, failure) : boost::json::value{};
  if (failure || !parsed.is_object() || !parsed.get_object().contains("@message"))
    return {Level::info, std::string{line}};
  const auto& object = parsed.get_object();
  LogLine made{level_of(text_at(object, "@level")), std::string{text_at(object, "@message")}};
  char separator = ':';
  for (const auto& member : object) {
    if (member.key().starts_with('@') || member.key() == "timestamp") continue;
    if (separator != 0) made.text += separator;
    separator = 0;
    made.text += ' ';
    made.text += member.key();
    made.text += '=';
    const auto* const text = member.value().if_string();
    if (text == nullptr)
      made.text += boost::json::serialize(member.value());
    else
      made.text.append(text->data(), text->size());
  }
  return made;
}

}  // namespace nomad::plugin::bridge
