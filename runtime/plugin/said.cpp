#include "runtime/plugin/said.hpp"

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"

namespace nomad::plugin {

std::string said(std::string_view text, std::size_t most) {
  const bool is_cut = text.size() > most;
  auto shown = escape_controls(is_cut ? utf8_prefix(text, most) : text);
  for (char& sign : shown)
    if (sign == '\n' || sign == '\t') sign = ' ';
  if (is_cut) shown += "…";
  return shown;
}

std::map<std::string, std::string> said_details(capnp::List<schema::TextEntry>::Reader details) {
  std::map<std::string, std::string> made;
  for (const auto entry : details) {
    if (made.size() >= most_details) break;
    made.emplace(said(view(entry.getKey()), most_name_of_bytes), said(view(entry.getValue())));
  }
  return made;
}

void clean_event(schema::plugin::Event::Builder event, std::int64_t unix_now) {
  const auto from = event.asReader();
  const auto type = said(view(from.getType()), most_name_of_bytes);
  const auto message = said(view(from.getMessage()));
  const auto details = said_details(from.getDetails());
  event.setType(text(type));
  event.setMessage(text(message));
  fill_entries(event.initDetails(static_cast<unsigned>(details.size())), details);
  if (event.getTime() == 0) event.setTime(unix_now);
}

Result<std::map<std::string, std::string>> read_facts(
    capnp::List<schema::TextEntry>::Reader attributes) {
  std::map<std::string, std::string> made;
  if (attributes.size() > most_attributes)
    return Error{Errc::too_large, fmt::format("it gives {} attributes, at most {} are taken",
                                              attributes.size(), most_attributes)};
  for (const auto entry : attributes) {
    const auto key = view(entry.getKey());
    const auto value = view(entry.getValue());
    if (key.empty() || key.size() > most_name_of_bytes || value.size() > most_attribute_bytes)
      return Error{
          Errc::too_large,
          fmt::format("attribute \"{}\" has no name, or is too long: names have at most "
                      "{} bytes, values {}",
                      said(key, most_name_of_bytes), most_name_of_bytes, most_attribute_bytes)};
    made.emplace(said(key), said(value));
  }
  return made;
}

}  // namespace nomad::plugin
