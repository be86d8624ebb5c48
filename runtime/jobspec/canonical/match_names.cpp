// Brings a client's tree to the table's names and types.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "runtime/base/base64.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/jobspec/schema.hpp"

namespace nomad::jobspec {

namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

constexpr int max_free_depth = 64;

std::string go_type(const Field& field) {
  switch (field.kind) {
    case Kind::text:
      return "string";
    case Kind::boolean:
      return "bool";
    case Kind::integer:
      return "int";
    case Kind::int64:
      return "int64";
    case Kind::int8:
      return "int8";
    case Kind::uint8:
      return "uint8";
    case Kind::uint64:
      return "uint64";
    case Kind::duration:
      return "time.Duration";
    case Kind::texts:
      return "[]string";
    case Kind::bytes:
      return "[]uint8";
    case Kind::block:
      return "api." + std::string{field.block->name};
    case Kind::blocks:
      return (field.has(Trait::by_value) ? "[]api." : "[]*api.") + std::string{field.block->name};
    case Kind::block_map:
      return "map[string]*api." + std::string{field.block->name};
    case Kind::text_map:
      return "map[string]string";
    case Kind::texts_map:
      return "map[string][]string";
    case Kind::free_map:
      return "map[string]interface {}";
  }
  return {};
}

std::string go_value(const value& from) {
  switch (from.kind()) {
    case boost::json::kind::null:
      return "null";
    case boost::json::kind::bool_:
      return "bool";
    case boost::json::kind::int64:
    case boost::json::kind::uint64:
    case boost::json::kind::double_:
      return "number";
    case boost::json::kind::string:
      return "string";
    case boost::json::kind::array:
      return "array";
    case boost::json::kind::object:
      return "object";
  }
  return {};
}

/// As a client most likely wrote it.
std::string number_text(const value& from) {
  return from.is_double() ? fmt::format("{}", from.get_double()) : boost::json::serialize(from);
}

/// Brings the entries of a map into the order of their keys, so that equal jobs are equal bytes
/// however clients order their maps.
void sort_entries(object& map) {
  const auto before = [](const auto& a, const auto& b) { return a.key() < b.key(); };
  if (std::is_sorted(map.begin(), map.end(), before)) return;
  std::vector<std::string_view> keys;
  keys.reserve(map.size());
  for (const auto& entry : map)
    keys.emplace_back(entry.key().data(), entry.key().size());
  std::sort(keys.begin(), keys.end());
  object sorted{map.storage()};
  sorted.reserve(map.size());
  for (const std::string_view key : keys)
    sorted.emplace(key, std::move(*map.if_contains(key)));
  map = std::move(sorted);
}

class Matcher {
public:
  explicit Matcher(std::string_view path) : path_{path} {}

  bool match(object& in, const BlockType& type) {
    if (!rename(in, type)) return false;
    std::size_t hint = 0;
    for (auto& member : in) {
      const Field& field = *locate(type, member.key(), hint);
      if (!match_field(member.value(), type, field)) return false;
    }
    return true;
  }

  std::string take_error() { return std::move(error_); }

private:
  /// Clients send members in the table's order, so the search starts after the last hit.
  static const Field* locate(const BlockType& type, std::string_view name, std::size_t& hint) {
    const std::size_t count = type.fields.size();
    for (std::size_t step = 0; step < count; ++step) {
      const std::size_t at = hint + step < count ? hint + step : hint + step - count;
      if (type.fields[at].json == name) {
        hint = at + 1 < count ? at + 1 : 0;
        return &type.fields[at];
      }
    }
    return nullptr;
  }

  static bool rename(object& in, const BlockType& type) {
    std::size_t hint = 0;
    std::vector<std::string> odd;
    for (const auto& member : in)
      if (locate(type, member.key(), hint) == nullptr) odd.emplace_back(member.key());
    for (const std::string& name : odd) {
      const Field* field = type.find_any_case(name);
      if (field != nullptr) {
        value taken = std::move(in[name]);
        in[field->json] = std::move(taken);
      }
      in.erase(name);
    }
    return true;
  }

  bool match_field(value& from, const BlockType& type, const Field& field) {
    if (from.is_null()) return true;
    const std::size_t length = path_.size();
    if (!path_.empty()) path_ += '.';
    path_ += field.json;
    const bool good = check(from, type, field);
    path_.resize(length);
    return good;
  }

  bool check(value& from, const BlockType& type, const Field& field) {
    switch (field.kind) {
      case Kind::text:
        return from.is_string() || wrong(from, type, go_type(field));
      case Kind::boolean:
        return from.is_bool() || wrong(from, type, go_type(field));
      case Kind::integer:
      case Kind::int64:
        return whole(from, type, field, INT64_MIN, INT64_MAX);
      case Kind::int8:
        return whole(from, type, field, -128, 127);
      case Kind::uint8:
        return whole(from, type, field, 0, 255);
      case Kind::uint64:
        return unsigned_whole(from, type, field);
      case Kind::duration:
        return duration(from, type, field);
      case Kind::texts:
        return texts(from, type, go_type(field));
      case Kind::bytes:
        return bytes(from, type, field);
      case Kind::block:
        return block(from, type, field);
      case Kind::blocks:
        return blocks(from, type, field);
      case Kind::block_map:
        return block_map(from, type, field);
      case Kind::text_map:
        return text_map(from, type, field);
      case Kind::texts_map:
        return texts_map(from, type, field);
      case Kind::free_map:
        if (!from.is_object()) return wrong(from, type, go_type(field));
        return free_value(from, 0);
    }
    return false;
  }

  bool whole(
      value& from, const BlockType& type, const Field& field, std::int64_t low, std::int64_t high) {
    if (const std::uint64_t* number = from.if_uint64(); number && *number <= INT64_MAX)
      from = static_cast<std::int64_t>(*number);
    if (const std::int64_t* number = from.if_int64(); number && *number >= low && *number <= high)
      return true;
    return wrong(from, type, go_type(field));
  }

  bool unsigned_whole(value& from, const BlockType& type, const Field& field) {
    if (from.is_uint64()) return true;
    if (const std::int64_t* number = from.if_int64(); number && *number >= 0) return true;
    return wrong(from, type, go_type(field));
  }

  /// Nanoseconds, or a duration's text, which Nomad's own documentation uses for checks.
  bool duration(value& from, const BlockType& type, const Field& field) {
    if (from.is_int64()) return true;
    if (const boost::json::string* text = from.if_string()) {
      if (auto parsed = parse_duration({text->data(), text->size()}); parsed.has_value()) {
        from = static_cast<std::int64_t>(parsed->count());
        return true;
      }
    }
    return wrong(from, type, go_type(field));
  }

  bool texts(value& from, const BlockType& type, const std::string& go) {
    if (!from.is_array()) return wrong(from, type, go);
    for (value& element : from.get_array()) {
      if (element.is_null()) element = "";
      if (!element.is_string()) return wrong(element, type, "string");
    }
    return true;
  }

  bool bytes(value& from, const BlockType& type, const Field& field) {
    if (!from.is_string()) return wrong(from, type, go_type(field));
    const auto decoded = decode_base64(from.get_string());
    if (!decoded) error_ = decoded.error().what;
    return decoded.has_value();
  }

  bool nested(value& from, const BlockType& type, const BlockType& inner) {
    if (!from.is_object()) return wrong(from, type, "api." + std::string{inner.name});
    return match(from.get_object(), inner);
  }

  bool block(value& from, const BlockType& type, const Field& field) {
    return nested(from, type, *field.block);
  }

  bool blocks(value& from, const BlockType& type, const Field& field) {
    if (!from.is_array()) return wrong(from, type, go_type(field));
    for (value& element : from.get_array()) {
      if (element.is_null()) element.emplace_object();
      if (!nested(element, type, *field.block)) return false;
    }
    return true;
  }

  bool block_map(value& from, const BlockType& type, const Field& field) {
    if (!from.is_object()) return wrong(from, type, go_type(field));
    for (auto& entry : from.get_object()) {
      if (entry.value().is_null()) entry.value().emplace_object();
      if (!nested(entry.value(), type, *field.block)) return false;
    }
    sort_entries(from.get_object());
    return true;
  }

  bool text_map(value& from, const BlockType& type, const Field& field) {
    if (!from.is_object()) return wrong(from, type, go_type(field));
    for (auto& entry : from.get_object()) {
      if (entry.value().is_null()) entry.value() = "";
      if (!entry.value().is_string()) return wrong(entry.value(), type, "string");
    }
    sort_entries(from.get_object());
    return true;
  }

  bool texts_map(value& from, const BlockType& type, const Field& field) {
    if (!from.is_object()) return wrong(from, type, go_type(field));
    for (auto& entry : from.get_object())
      if (!entry.value().is_null() && !texts(entry.value(), type, "[]string")) return false;
    sort_entries(from.get_object());
    return true;
  }

  /// Free content is walked by later code, so its depth is bounded here.
  bool free_value(value& from, int depth) {
    if (depth > max_free_depth) {
      error_ = path_ + ": nested too deeply";
      return false;
    }
    if (object* members = from.if_object()) {
      for (auto& member : *members)
        if (!free_value(member.value(), depth + 1)) return false;
      sort_entries(*members);
    }
    if (array* elements = from.if_array())
      for (value& element : *elements)
        if (!free_value(element, depth + 1)) return false;
    return true;
  }

  bool wrong(const value& from, const BlockType& type, const std::string& go) {
    std::string given = go_value(from);
    if (given == "number" && go != "string" && go.front() != '[' && go.front() != 'm'
        && go != "bool" && !go.starts_with("api."))
      given += " " + number_text(from);
    error_ = "json: cannot unmarshal " + given + " into Go struct field " + std::string{type.name}
             + "." + path_ + " of type " + go;
    return false;
  }

  std::string path_;
  std::string error_;
};

}  // namespace

Result<> match_names(object& job, std::string_view path) {
  Matcher matcher{path};
  if (!matcher.match(job, block_types().job))
    return Error{Errc::invalid_argument, matcher.take_error()};
  return {};
}

}  // namespace nomad::jobspec
