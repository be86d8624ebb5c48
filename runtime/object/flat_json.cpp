#include "runtime/object/flat_json.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <boost/json.hpp>
#include <boost/json/basic_parser_impl.hpp>

#include "runtime/base/name_table.hpp"

namespace nomad {

namespace {

Error unreadable(std::size_t byte, const std::string& problem) {
  return {Errc::invalid_argument, "byte " + std::to_string(byte) + ": " + problem};
}

JsonStop::Why why_of(const boost::json::error_code& failure) {
  if (failure == boost::json::error::incomplete) return JsonStop::Why::incomplete;
  if (failure == boost::json::error::syntax) return JsonStop::Why::syntax;
  return JsonStop::Why::other;
}

bool needs_escape(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
  });
}

void append_sorted_text(std::string& out, std::string_view text) {
  if (needs_escape(text)) {
    out += boost::json::serialize(boost::json::string_view{text.data(), text.size()});
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

void append_sorted_members(std::string& out, const JsonNode& node) {
  out += '{';
  for (const JsonNode* key : sorted_keys(node)) {
    if (out.back() != '{') out += ',';
    append_sorted_text(out, key->text());
    out += ':';
    append_sorted_json(out, key[1]);
  }
  out += '}';
}

}  // namespace

/// What Boost's parser calls while it reads.
struct FlatJson::Handler {
  static constexpr std::size_t max_object_size = UINT32_MAX;
  static constexpr std::size_t max_array_size = UINT32_MAX;
  static constexpr std::size_t max_key_size = UINT32_MAX;
  static constexpr std::size_t max_string_size = UINT32_MAX;

  using Failure = boost::json::error_code;
  using Text = boost::json::string_view;

  Handler(FlatJson& made, std::string_view read)
      : json{made}, source{read}, parts{made.nodes_.get_allocator()} {}

  bool on_document_begin(Failure&) { return true; }

  bool on_document_end(Failure&) { return true; }

  bool on_object_begin(Failure&) { return open(JsonKind::object); }

  bool on_object_end(std::size_t size, Failure&) { return close(size); }

  bool on_array_begin(Failure&) { return open(JsonKind::array); }

  bool on_array_end(std::size_t size, Failure&) { return close(size); }

  bool on_key_part(Text part, std::size_t, Failure&) { return take_part(part); }

  bool on_key(Text last, std::size_t, Failure&) { return take_text(last); }

  bool on_string_part(Text part, std::size_t, Failure&) { return take_part(part); }

  bool on_string(Text last, std::size_t, Failure&) { return take_text(last); }

  bool on_number_part(Text, Failure&) { return true; }

  bool on_int64(std::int64_t number, Text, Failure&) {
    add(JsonKind::integer).integer = number;
    return true;
  }

  bool on_uint64(std::uint64_t number, Text, Failure&) {
    add(JsonKind::natural).natural = number;
    return true;
  }

  /// A number beyond all doubles would be read as infinity, which can't be written again.
  bool on_double(double number, Text, Failure& failure) {
    if (!std::isfinite(number)) {
      failure = boost::json::make_error_code(boost::json::error::exponent_overflow);
      return false;
    }
    add(JsonKind::real).real = number;
    return true;
  }

  bool on_bool(bool value, Failure&) {
    add(JsonKind::boolean).boolean = value;
    return true;
  }

  bool on_null(Failure&) {
    add(JsonKind::null);
    return true;
  }

  bool on_comment_part(Text, Failure&) { return true; }

  bool on_comment(Text, Failure&) { return true; }

private:
  JsonNode& add(JsonKind kind) {
    JsonNode& node = json.nodes_.emplace_back();
    node.kind = kind;
    return node;
  }

  /// Until it is closed, the extent tells where the container around it is.
  bool open(JsonKind kind) {
    add(kind).extent = around;
    around = static_cast<std::uint32_t>(json.nodes_.size());
    return true;
  }

  bool close(std::size_t size) {
    JsonNode& node = json.nodes_[around - 1];
    const auto begin = around - 1;
    around = node.extent;
    node.extent = static_cast<std::uint32_t>(json.nodes_.size()) - begin;
    node.size = static_cast<std::uint32_t>(size);
    return true;
  }

  bool take_part(Text part) {
    parts.append(part.data(), part.size());
    return true;
  }

  bool take_text(Text last) {
    const std::less_equal<> up_to;
    const bool is_of_source = up_to(source.data(), last.data())
                              && up_to(last.data() + last.size(), source.data() + source.size());
    std::string_view text{last.data(), last.size()};
    if (!parts.empty() || !is_of_source) {
      parts.append(last.data(), last.size());
      text = json.unescaped_.emplace_back(parts);
      parts.clear();
    }
    JsonNode& node = add(JsonKind::text);
    node.bytes = text.data();
    node.size = static_cast<std::uint32_t>(text.size());
    return true;
  }

  FlatJson& json;
  std::string_view source;
  std::pmr::string parts;
  std::uint32_t around = 0;  ///< The open container's place and one; 0: none.
};

Result<FlatJson> FlatJson::read(std::string_view text,
                                std::size_t max_depth,
                                std::pmr::memory_resource* memory,
                                JsonStop* stop) {
  boost::json::parse_options limits;
  limits.max_depth = max_depth;
  FlatJson json{memory};
  json.nodes_.reserve(text.size() / 8 + 8);
  boost::json::basic_parser<Handler> parser{limits, json, text};
  boost::json::error_code failure;
  const std::size_t used = parser.write_some(true, text.data(), text.size(), failure);
  if (!failure) {
    const auto rest = text.find_first_not_of(" \t\r\n", used);
    if (rest != std::string_view::npos) {
      if (stop != nullptr) *stop = {rest, JsonStop::Why::text_behind};
      return unreadable(rest, "unexpected text after the JSON value");
    }
    parser.write_some(false, nullptr, 0, failure);
  }
  if (!failure) return json;
  if (stop != nullptr) *stop = {used, why_of(failure)};
  return unreadable(used, failure.message());
}

FlatJson FlatJson::of(const boost::json::object& tree) {
  FlatJson json{std::pmr::get_default_resource()};
  json.add(tree);
  return json;
}

void FlatJson::add(const boost::json::object& object) {
  const auto position = nodes_.size();
  nodes_.emplace_back().kind = JsonKind::object;
  for (const auto& member : object) {
    add_text(member.key());
    add(member.value());
  }
  nodes_[position].size = static_cast<std::uint32_t>(object.size());
  nodes_[position].extent = static_cast<std::uint32_t>(nodes_.size() - position);
}

void FlatJson::add(const boost::json::value& value) {
  if (value.is_object()) return add(value.get_object());
  if (value.is_string()) return add_text(value.get_string());
  const auto position = nodes_.size();
  JsonNode& node = nodes_.emplace_back();  // valid until the next one
  if (value.is_bool()) {
    node.kind = JsonKind::boolean;
    node.boolean = value.get_bool();
  } else if (value.is_int64()) {
    node.kind = JsonKind::integer;
    node.integer = value.get_int64();
  } else if (value.is_uint64()) {
    const bool is_small = std::in_range<std::int64_t>(value.get_uint64());
    node.kind = is_small ? JsonKind::integer : JsonKind::natural;
    node.natural = value.get_uint64();
  } else if (value.is_double()) {
    node.kind = JsonKind::real;
    node.real = value.get_double();
  } else if (const auto* array = value.if_array()) {
    node.kind = JsonKind::array;
    node.size = static_cast<std::uint32_t>(array->size());
    for (const auto& element : *array)
      add(element);
    nodes_[position].extent = static_cast<std::uint32_t>(nodes_.size() - position);
  }
}

void FlatJson::add_text(std::string_view text) {
  JsonNode& node = nodes_.emplace_back();
  node.kind = JsonKind::text;
  node.bytes = text.data();
  node.size = static_cast<std::uint32_t>(text.size());
}

std::vector<const JsonNode*> sorted_keys(const JsonNode& object) {
  std::vector<const JsonNode*> keys;
  keys.reserve(object.size);
  for (auto member = object.members().begin(); member != object.members().end(); ++member)
    keys.push_back(member.at);
  const auto before = [](auto* a, auto* b) { return a->text() < b->text(); };
  const auto not_before = [&](auto* a, auto* b) { return !before(a, b); };
  if (std::adjacent_find(keys.begin(), keys.end(), not_before) == keys.end()) return keys;
  std::stable_sort(keys.begin(), keys.end(), before);
  std::vector<const JsonNode*> last_ones;
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (i + 1 == keys.size() || before(keys[i], keys[i + 1])) last_ones.push_back(keys[i]);
  return last_ones;
}

void append_sorted_json(std::string& out, const JsonNode& node) {
  switch (node.kind) {
    case JsonKind::null:
      out += "null";
      return;
    case JsonKind::boolean:
      out += node.boolean ? "true" : "false";
      return;
    case JsonKind::integer:
      out += std::to_string(node.integer);
      return;
    case JsonKind::natural:
      out += std::to_string(node.natural);
      return;
    case JsonKind::real:
      out += boost::json::serialize(boost::json::value(node.real));
      return;
    case JsonKind::text:
      return append_sorted_text(out, node.text());
    case JsonKind::array:
      out += '[';
      for (const JsonNode& element : node.elements()) {
        if (&element != &node + 1) out += ',';
        append_sorted_json(out, element);
      }
      out += ']';
      return;
    case JsonKind::object:
      return append_sorted_members(out, node);
  }
}

std::string_view go_kind(const JsonNode& node) {
  static constexpr std::string_view names[]
      = {"null", "bool", "number", "number", "number", "string", "array", "object"};
  return name_in(names, node.kind, "value");
}

}  // namespace nomad
