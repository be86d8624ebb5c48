#include "runtime/plugin/sdk/config_check.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "runtime/plugin/sdk/config_kind.hpp"

namespace nomad::plugin {
namespace {

constexpr int deepest_json = 64;

/// A value of JSON. `text` is a text itself, or a number or word as it stands there.
struct Json {
  enum class Kind { null, boolean, number, text, list, object };

  Kind kind = Kind::null;
  std::string text{};
  std::vector<Json> list{};
  std::vector<std::pair<std::string, Json>> members{};
};

/// Nothing: it is none.
class JsonReader {
public:
  static std::optional<Json> read(std::string_view json) {
    JsonReader reader{json};
    auto value = reader.value(0);
    reader.blanks();
    return reader.rest_.empty() ? value : std::nullopt;
  }

private:
  explicit JsonReader(std::string_view json) : rest_{json} {}

  void blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

  bool take(std::string_view what) {
    blanks();
    if (!rest_.starts_with(what)) return false;
    rest_.remove_prefix(what.size());
    return true;
  }

  std::optional<Json> value(int depth) {
    blanks();
    if (rest_.empty() || depth > deepest_json) return std::nullopt;
    if (rest_.front() == '{') return object(depth);
    if (rest_.front() == '[') return list(depth);
    if (rest_.front() == '"') {
      auto made = text();
      if (!made) return std::nullopt;
      return Json{.kind = Json::Kind::text, .text = std::move(*made)};
    }
    if (take("null")) return Json{};
    if (take("true")) return Json{.kind = Json::Kind::boolean, .text = "true"};
    if (take("false")) return Json{.kind = Json::Kind::boolean, .text = "false"};
    return number();
  }

  std::optional<Json> number() {
    double parsed = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), parsed);
    const bool begins = rest_.front() == '-' || (rest_.front() >= '0' && rest_.front() <= '9');
    if (error != std::errc{} || !begins || !std::isfinite(parsed)) return std::nullopt;
    const auto size = static_cast<std::size_t>(end - rest_.data());
    Json made{.kind = Json::Kind::number, .text = std::string{rest_.substr(0, size)}};
    rest_.remove_prefix(size);
    return made;
  }

  std::optional<Json> list(int depth) {
    Json made{.kind = Json::Kind::list};
    take("[");
    if (take("]")) return made;
    for (;;) {
      auto one = value(depth + 1);
      if (!one) return std::nullopt;
      made.list.push_back(std::move(*one));
      if (take("]")) return made;
      if (!take(",")) return std::nullopt;
    }
  }

  std::optional<Json> object(int depth) {
    Json made{.kind = Json::Kind::object};
    take("{");
    if (take("}")) return made;
    for (;;) {
      blanks();
      auto name = text();
      if (!name || !take(":")) return std::nullopt;
      auto one = value(depth + 1);
      if (!one) return std::nullopt;
      made.members.emplace_back(std::move(*name), std::move(*one));
      if (take("}")) return made;
      if (!take(",")) return std::nullopt;
    }
  }

  /// What `Config` reads of it, which knows the escapes.
  std::optional<std::string> text() {
    if (rest_.empty() || rest_.front() != '"') return std::nullopt;
    std::size_t end = 1;
    while (end < rest_.size() && rest_[end] != '"') {
      if (static_cast<unsigned char>(rest_[end]) < 0x20) return std::nullopt;
      end += rest_[end] == '\\' ? 2 : 1;
    }
    if (end >= rest_.size()) return std::nullopt;
    const auto quoted = std::string{rest_.substr(0, end + 1)};
    rest_.remove_prefix(end + 1);
    return Config{"{\"text\":" + quoted + "}"}.text("text");
  }

  std::string_view rest_;
};

std::string quoted(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string made = "\"";
  for (const char sign : text) {
    const auto code = static_cast<unsigned char>(sign);
    if (sign == '"' || sign == '\\')
      (made += '\\') += sign;
    else if (code < 0x20)
      ((made += "\\u00") += digits[code >> 4]) += digits[code & 0xf];
    else
      made += sign;
  }
  return made += '"';
}

std::string written(const Json& value) {
  std::string made;
  switch (value.kind) {
    case Json::Kind::null:
      return "null";
    case Json::Kind::boolean:
    case Json::Kind::number:
      return value.text;
    case Json::Kind::text:
      return quoted(value.text);
    case Json::Kind::list:
      for (const auto& each : value.list)
        made += (made.empty() ? "" : ",") + written(each);
      return '[' + made + ']';
    case Json::Kind::object:
      for (const auto& [name, each] : value.members)
        made += (made.empty() ? "" : ",") + quoted(name) + ':' + written(each);
      return '{' + made + '}';
  }
  return made;
}

bool is_plain(const Json& value) {
  return value.kind == Json::Kind::boolean || value.kind == Json::Kind::number
         || value.kind == Json::Kind::text;
}

std::optional<std::string> whole_number(const Json& value) {
  if (value.kind != Json::Kind::number && value.kind != Json::Kind::text) return std::nullopt;
  const auto* const begin = value.text.data();
  const auto* const end = begin + value.text.size();
  std::int64_t whole = 0;
  if (const auto got = std::from_chars(begin, end, whole); got.ec == std::errc{} && got.ptr == end)
    return std::to_string(whole);
  double real = 0;
  const auto got = std::from_chars(begin, end, real);
  if (value.kind == Json::Kind::text || got.ptr != end || std::trunc(real) != real
      || std::abs(real) >= 9e15)
    return std::nullopt;
  return std::to_string(static_cast<std::int64_t>(real));
}

/// "1h30m", "1.5s".
std::optional<std::string> nanoseconds_in(std::string_view text) {
  constexpr std::pair<std::string_view, double> units[]
      = {{"ns", 1},   {"us", 1e3}, {"\u00b5s", 1e3}, {"\u03bcs", 1e3},
         {"ms", 1e6}, {"s", 1e9},  {"m", 60e9},      {"h", 3600e9}};
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return "0";
  if (text.empty()) return std::nullopt;
  long double sum = 0;
  while (!text.empty()) {
    const auto size = std::min(text.find_first_not_of("0123456789."), text.size());
    double amount = 0;
    const auto got = std::from_chars(text.data(), text.data() + size, amount);
    if (size == 0 || got.ec != std::errc{} || got.ptr != text.data() + size) return std::nullopt;
    text.remove_prefix(size);
    const auto name = text.substr(0, text.find_first_of("0123456789."));
    const auto* const unit
        = std::ranges::find(units, name, &std::pair<std::string_view, double>::first);
    if (unit == std::end(units)) return std::nullopt;
    sum += static_cast<long double>(amount) * unit->second;
    text.remove_prefix(name.size());
  }
  if (sum > 9.2e18L) return std::nullopt;
  return (is_negative ? "-" : "") + std::to_string(static_cast<std::int64_t>(std::llround(sum)));
}

Error wrong_value(const std::string& name, ConfigKind kind) {
  return {Errc::invalid_argument, name + ": expected " + std::string{expectation_of(kind)}};
}

std::optional<std::string> texts_in(const Json& value) {
  if (value.kind != Json::Kind::list || !std::ranges::all_of(value.list, is_plain))
    return std::nullopt;
  std::string made;
  for (const auto& each : value.list)
    made += (made.empty() ? "" : ",") + quoted(each.text);
  return '[' + made + ']';
}

/// One object of texts, or a list of such, as HCL makes of repeated blocks.
std::optional<std::string> map_in(const Json& value) {
  std::vector<std::pair<std::string, std::string>> all;
  const auto add = [&all](const Json& part) {
    if (part.kind != Json::Kind::object) return false;
    for (const auto& [name, each] : part.members) {
      if (each.kind == Json::Kind::null) continue;
      if (!is_plain(each)) return false;
      const auto known = std::ranges::find(all, name, &std::pair<std::string, std::string>::first);
      if (known == all.end())
        all.emplace_back(name, each.text);
      else
        known->second = each.text;
    }
    return true;
  };
  const bool is_whole
      = value.kind == Json::Kind::list ? std::ranges::all_of(value.list, add) : add(value);
  if (!is_whole) return std::nullopt;
  std::string made;
  for (const auto& [name, text] : all)
    made += (made.empty() ? "" : ",") + quoted(name) + ':' + quoted(text);
  return '{' + made + '}';
}

/// A value by itself; the empty text stands for a value that is not there.
std::optional<std::string> value_in(ConfigKind kind, const Json& value) {
  switch (kind) {
    case ConfigKind::TEXT:
      return is_plain(value) ? std::optional{quoted(value.text)} : std::nullopt;
    case ConfigKind::NUMBER:
      return whole_number(value);
    case ConfigKind::BOOLEAN:
      if (value.text == "true" || (value.kind == Json::Kind::text && value.text == "1"))
        return "true";
      if (value.text == "false" || (value.kind == Json::Kind::text && value.text == "0"))
        return "false";
      return std::nullopt;
    case ConfigKind::DURATION:
      if (value.kind == Json::Kind::number) return whole_number(value);
      if (value.kind != Json::Kind::text) return std::nullopt;
      return value.text.empty() ? std::optional<std::string>{""} : nanoseconds_in(value.text);
    case ConfigKind::TEXTS:
      return texts_in(value);
    case ConfigKind::MAP:
      return map_in(value);
    case ConfigKind::ANY:
      return written(value);
    case ConfigKind::BLOCK:
    case ConfigKind::BLOCKS:
      break;
  }
  return std::nullopt;
}

Result<std::string> apply_object(const std::vector<ConfigField>& fields,
                                 const Json& config,
                                 const std::string& where);

Result<std::string> apply_field(const ConfigField& field,
                                const Json& given,
                                const std::string& name) {
  if (field.kind == ConfigKind::BLOCK) {
    const auto& block
        = given.kind == Json::Kind::list && given.list.size() == 1 ? given.list.front() : given;
    if (block.kind != Json::Kind::object) return wrong_value(name, field.kind);
    return apply_object(field.fields, block, name + '.');
  }
  if (field.kind != ConfigKind::BLOCKS) {
    auto made = value_in(field.kind, given);
    if (!made) return wrong_value(name, field.kind);
    return std::move(*made);
  }
  std::string made;
  const bool is_list = given.kind == Json::Kind::list;
  for (std::size_t i = 0; i < (is_list ? given.list.size() : 1); ++i) {
    const auto& each = is_list ? given.list[i] : given;
    const auto where = is_list ? name + '[' + std::to_string(i) + ']' : name;
    if (each.kind != Json::Kind::object) return wrong_value(where, ConfigKind::BLOCK);
    made += (made.empty() ? "" : ",") + NOMAD_TRY(apply_object(field.fields, each, where + '.'));
  }
  return '[' + made + ']';
}

Result<std::string> apply_object(const std::vector<ConfigField>& fields,
                                 const Json& config,
                                 const std::string& where) {
  for (const auto& [name, value] : config.members)
    if (std::ranges::find(fields, name, &ConfigField::name) == fields.end())
      return Error{Errc::invalid_argument,
                   (where.empty() ? "" : where.substr(0, where.size() - 1) + ": ")
                       + "no argument or block type is named \"" + name + '"'};
  std::string made;
  for (const auto& field : fields) {
    std::string value;
    const auto given = std::find_if(config.members.rbegin(), config.members.rend(),
                                    [&](const auto& each) { return each.first == field.name; });
    if (given != config.members.rend() && given->second.kind != Json::Kind::null)
      value = NOMAD_TRY(apply_field(field, given->second, where + field.name));
    if (value.empty() && field.required)
      return Error{Errc::invalid_argument,
                   "missing required argument \"" + where + field.name + '"'};
    if (!value.empty()) made += (made.empty() ? "" : ",") + quoted(field.name) + ':' + value;
  }
  return '{' + made + '}';
}

}  // namespace

std::vector<ConfigField> fields_of(capnp::List<schema::plugin::ConfigField>::Reader declared) {
  std::vector<ConfigField> fields;
  for (const auto each : declared)
    fields.push_back({.name = copy(each.getName()),
                      .kind = each.getKind(),
                      .required = each.getRequired(),
                      .fields = fields_of(each.getFields())});
  return fields;
}

Result<std::string> apply_config(const std::vector<ConfigField>& fields, std::string_view json) {
  const auto config = JsonReader::read(json);
  if (!config) return Error{Errc::invalid_argument, "its configuration is no JSON"};
  if (config->kind != Json::Kind::object)
    return Error{Errc::invalid_argument, "its configuration is no object of JSON"};
  return apply_object(fields, *config, {});
}

}  // namespace nomad::plugin
