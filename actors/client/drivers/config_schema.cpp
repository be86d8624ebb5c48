#include "actors/client/drivers/config_schema.hpp"

#include <cmath>
#include <optional>
#include <string>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "runtime/base/duration.hpp"
#include "runtime/base/similar_name.hpp"
#include "runtime/base/whole_number.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/plugin/sdk/config_kind.hpp"

namespace nomad::client {
namespace {

using boost::json::value;
using schema::plugin::ConfigField;

std::optional<value> as_text(const value& from) {
  if (from.is_string()) return from;
  if (const auto* const number = from.if_int64()) return value(std::to_string(*number));
  if (const auto* const number = from.if_uint64()) return value(std::to_string(*number));
  if (const auto* const number = from.if_double()) return value(fmt::format("{}", *number));
  if (const auto* const flag = from.if_bool()) return value(*flag ? "true" : "false");
  return std::nullopt;
}

std::optional<value> as_number(const value& from) {
  if (from.is_int64()) return from;
  if (const auto* const real = from.if_double();
      real != nullptr && std::trunc(*real) == *real && std::abs(*real) < 9e15)
    return value(static_cast<std::int64_t>(*real));
  if (const auto* const text = from.if_string())
    if (const auto parsed = whole_number<std::int64_t>(*text)) return value(*parsed);
  return std::nullopt;
}

std::optional<value> as_boolean(const value& from) {
  if (from.is_bool()) return from;
  const auto* const text = from.if_string();
  if (text != nullptr && (*text == "true" || *text == "1")) return value(true);
  if (text != nullptr && (*text == "false" || *text == "0")) return value(false);
  return std::nullopt;
}

/// Go's text ("10s"). The empty one is that of a field that is not there.
std::optional<value> as_duration(const value& from) {
  const auto* const text = from.if_string();
  if (text == nullptr) return std::nullopt;
  if (text->empty()) return value(nullptr);
  const auto parsed = parse_duration({text->data(), text->size()});
  if (!parsed) return std::nullopt;
  return value(std::int64_t{parsed->count()});
}

std::optional<value> as_texts(const value& from) {
  const auto* const list = from.if_array();
  if (list == nullptr) return std::nullopt;
  boost::json::array texts;
  for (const auto& element : *list) {
    auto text = as_text(element);
    if (!text) return std::nullopt;
    texts.push_back(std::move(*text));
  }
  return value(std::move(texts));
}

/// The object of a block, which HCL may give as a list of one.
const value* block_of(const value& from) {
  const auto* const list = from.if_array();
  const auto* const block = list != nullptr && list->size() == 1 ? &list->front() : &from;
  return block->is_object() ? block : nullptr;
}

/// Texts under free names: one object, or a list of them, which HCL makes of repeated blocks.
std::optional<value> as_map(const value& from) {
  boost::json::object texts;
  const auto add = [&texts](const value& part) {
    if (!part.is_object()) return false;
    for (const auto& [name, each] : part.get_object()) {
      if (each.is_null()) continue;
      auto text = as_text(each);
      if (!text) return false;
      texts[name] = std::move(*text);
    }
    return true;
  };
  const auto* const list = from.if_array();
  if (list == nullptr) return add(from) ? std::optional{value(std::move(texts))} : std::nullopt;
  for (const auto& part : *list)
    if (!add(part)) return std::nullopt;
  return value(std::move(texts));
}

std::optional<value> as_kind(ConfigKind kind, const value& from) {
  switch (kind) {
    case ConfigKind::TEXT:
      return as_text(from);
    case ConfigKind::NUMBER:
      return as_number(from);
    case ConfigKind::BOOLEAN:
      return as_boolean(from);
    case ConfigKind::DURATION:
      return as_duration(from);
    case ConfigKind::TEXTS:
      return as_texts(from);
    case ConfigKind::MAP:
      return as_map(from);
    case ConfigKind::ANY:
      return from;
    case ConfigKind::BLOCK:
    case ConfigKind::BLOCKS:
      break;  // not a value by itself
  }
  return std::nullopt;
}

Error refused(std::string problem) {
  return {Errc::invalid_argument, "failed to parse config: " + std::move(problem)};
}

bool has_field(ConfigFields::Reader fields, std::string_view name) {
  for (const auto field : fields)
    if (view(field.getName()) == name) return true;
  return false;
}

std::string unknown_field(ConfigFields::Reader fields,
                          std::string_view where,
                          std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto field : fields)
    names.push_back(view(field.getName()));
  std::string text{where.substr(0, where.rfind('.'))};  // "mount.": of that block
  if (!text.empty()) text += ": ";
  text += fmt::format("no argument or block type is named \"{}\"", name);
  if (const auto meant = closest_name(name, names); !meant.empty())
    text += fmt::format("; did you mean \"{}\"?", meant);
  return text;
}

Result<boost::json::object> apply(ConfigFields::Reader fields,
                                  const boost::json::object& config,
                                  const std::string& where);

/// Each of several blocks, or the one.
Result<value> apply_blocks(ConfigField::Reader field, const value& from, const std::string& name) {
  boost::json::array made;
  const auto* const list = from.if_array();
  const auto count = list == nullptr ? std::size_t{1} : list->size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto& each = list == nullptr ? from : (*list)[i];
    const auto where = list == nullptr ? name : fmt::format("{}[{}]", name, i);
    if (!each.is_object())
      return refused(
          fmt::format("{}: expected {}", where, plugin::expectation_of(ConfigKind::BLOCK)));
    made.push_back(NOMAD_TRY(apply(field.getFields(), each.get_object(), where + '.')));
  }
  return value(std::move(made));
}

Result<value> apply_one(ConfigField::Reader field, const value& from, const std::string& where) {
  const auto name = where + copy(field.getName());
  if (field.getKind() == ConfigKind::BLOCK) {
    if (const auto* const block = block_of(from))
      return value(NOMAD_TRY(apply(field.getFields(), block->get_object(), name + '.')));
  } else if (field.getKind() == ConfigKind::BLOCKS) {
    return apply_blocks(field, from, name);
  } else if (auto made = as_kind(field.getKind(), from)) {
    return std::move(*made);
  }
  return refused(fmt::format("{}: expected {}", name, plugin::expectation_of(field.getKind())));
}

Result<boost::json::object> apply(ConfigFields::Reader fields,
                                  const boost::json::object& config,
                                  const std::string& where) {
  // First: what is missing may have been meant by it.
  for (const auto& member : config)
    if (const std::string_view key{member.key().data(), member.key().size()};
        !has_field(fields, key))
      return refused(unknown_field(fields, where, key));
  boost::json::object made;
  for (const auto field : fields) {
    const auto name = view(field.getName());
    const auto* const given = config.if_contains({name.data(), name.size()});
    if (given != nullptr && !given->is_null()) {
      auto it = NOMAD_TRY(apply_one(field, *given, where));
      if (!it.is_null()) made.emplace(boost::json::string_view{name.data(), name.size()}, it);
    }
    if (field.getRequired() && !made.contains({name.data(), name.size()}))
      return refused(fmt::format("missing required argument \"{}{}\"", where, name));
  }
  return made;
}

}  // namespace

void write_fields(std::span<const ConfigFieldSpec> from, ConfigFields::Builder to) {
  for (unsigned i = 0; i < to.size(); ++i) {
    to[i].setName(text(from[i].name));
    to[i].setKind(from[i].kind);
    to[i].setRequired(from[i].required);
    write_fields(from[i].fields, to[i].initFields(static_cast<unsigned>(from[i].fields.size())));
  }
}

Result<boost::json::object> apply_fields(ConfigFields::Reader fields, const value& config) {
  if (!config.is_object()) return refused("no object");
  return apply(fields, config.get_object(), {});
}

}  // namespace nomad::client
