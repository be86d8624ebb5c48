#include "runtime/jobspec/diff/flatten.hpp"

#include <algorithm>

#include <boost/json.hpp>

#include "runtime/jobspec/tree.hpp"
#include "runtime/text/number_text.hpp"

namespace nomad::jobspec {

namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

double real_of(const value& number) {
  if (number.is_double()) return number.get_double();
  if (number.is_uint64()) return static_cast<double>(number.get_uint64());
  return static_cast<double>(number.get_int64());
}

std::string text_of_field(const Field& field, const value* member) {
  const bool absent = member == nullptr || member->is_null();
  if (field.kind == Kind::text) return absent ? "" : std::string{tree::text_of(*member)};
  if (field.kind == Kind::boolean)
    return !absent && member->is_bool() && member->get_bool() ? "true" : "false";
  if (absent) return "0";
  if (member->is_uint64()) return std::to_string(member->get_uint64());
  return std::to_string(tree::number_of(*member));
}

void flatten_value(Flat& out, const std::string& name, const value& from) {
  switch (from.kind()) {
    case boost::json::kind::null:
      out[name] = "nil";
      break;
    case boost::json::kind::bool_:
      out[name] = from.get_bool() ? "true" : "false";
      break;
    case boost::json::kind::int64:
    case boost::json::kind::uint64:
    case boost::json::kind::double_:
      out[name] = format_number(real_of(from));
      break;
    case boost::json::kind::string:
      out[name] = std::string{tree::text_of(from)};
      break;
    case boost::json::kind::array: {
      std::size_t index = 0;
      for (const value& element : from.get_array())
        flatten_value(out, name + "[" + std::to_string(index++) + "]", element);
      break;
    }
    case boost::json::kind::object:
      for (const auto& member : from.get_object()) {
        const std::string key{member.key()};
        flatten_value(out, name.empty() ? key : name + "[" + key + "]", member.value());
      }
      break;
  }
}

bool is_empty(const value* member) {
  return member == nullptr || member->is_null()
         || (member->is_array() && member->get_array().empty())
         || (member->is_object() && member->get_object().empty());
}

bool same_free(const value& a, const value& b) {
  if (a.is_number() && b.is_number()) return real_of(a) == real_of(b);
  if (a.kind() != b.kind()) return false;
  if (const array* elements = a.if_array()) {
    const array& others = b.get_array();
    return std::equal(elements->begin(), elements->end(), others.begin(), others.end(), same_free);
  }
  if (const object* members = a.if_object()) {
    return same_content(members, &b.get_object());
  }
  return a == b;
}

bool same_blocks(const BlockType& type, const array& a, const array& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const value& x, const value& y) {
    return same_object(type, x.if_object(), y.if_object());
  });
}

bool same_block_map(const BlockType& type, const object& a, const object& b) {
  if (a.size() != b.size()) return false;
  for (const auto& member : a) {
    const value* other = b.if_contains(member.key());
    if (other == nullptr || !same_object(type, member.value().if_object(), other->if_object()))
      return false;
  }
  return true;
}

/// Of a map, the rule names the keys: "Target[Job]".
bool is_ignored(const ObjectRule& rule, const Field& field) {
  return std::ranges::any_of(rule.ignored, [&](std::string_view name) {
    return name.substr(0, name.find('[')) == field.json;
  });
}

}  // namespace

Flat flatten_fields(const object* from, TypedRule typed) {
  Flat out;
  if (from == nullptr) return out;
  for (const Field& field : typed.type.fields) {
    if (field.has(Trait::api_only | Trait::bookkeeping)) continue;
    const value* member = from->if_contains(field.json);
    const bool is_shown = typed.rule.shows_nullable && member != nullptr && !member->is_null();
    if (field.has(Trait::pointer) && !is_shown) continue;
    if (field.is_single()) {
      auto text = text_of_field(field, member);
      // What is left out of answers where nobody asked for it is no news either.
      const bool is_zero
          = text.empty() || text == "0" || (field.kind == Kind::boolean && text == "false");
      if (field.has(Trait::optional_key) && is_zero) continue;
      out.emplace(field.json, std::move(text));
    } else if (field.kind == Kind::text_map && member != nullptr && member->is_object()) {
      for (const auto& entry : member->get_object())
        out.emplace(std::string{field.json} + "[" + std::string{entry.key()} + "]",
                    tree::text_of(entry.value()));
    }
  }
  for (const std::string_view name : typed.rule.ignored)
    if (const auto found = out.find(name); found != out.end()) out.erase(found);
  return out;
}

Flat flatten_free(const object& content) {
  Flat out;
  for (const auto& member : content)
    flatten_value(out, std::string{member.key()}, member.value());
  return out;
}

bool same_member(const Field& field, const value* a, const value* b) {
  if (field.is_single()) {
    const bool a_null = a == nullptr || a->is_null();
    const bool b_null = b == nullptr || b->is_null();
    if (field.has(Trait::pointer) && a_null != b_null) return false;
    return text_of_field(field, a) == text_of_field(field, b);
  }
  if (field.kind == Kind::block)
    return same_object(*field.block, a == nullptr ? nullptr : a->if_object(),
                       b == nullptr ? nullptr : b->if_object());
  if (is_empty(a) || is_empty(b)) return is_empty(a) && is_empty(b);
  if (field.kind == Kind::blocks && a->is_array() && b->is_array())
    return same_blocks(*field.block, a->get_array(), b->get_array());
  if (field.kind == Kind::block_map && a->is_object() && b->is_object())
    return same_block_map(*field.block, a->get_object(), b->get_object());
  return same_free(*a, *b);
}

bool same_object(const BlockType& type, const object* a, const object* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return std::all_of(type.fields.begin(), type.fields.end(), [&](const Field& field) {
    return field.has(Trait::api_only)
           || same_member(field, a->if_contains(field.json), b->if_contains(field.json));
  });
}

bool same_object(TypedRule typed, const object* a, const object* b) {
  if (a == nullptr || b == nullptr) return a == b;
  const auto& children = typed.rule.children;
  return std::ranges::all_of(typed.type.fields, [&](const Field& field) {
    if (field.has(Trait::api_only) || is_ignored(typed.rule, field)) return true;
    const auto child = std::ranges::find(children, field.json, &ChildRule::member);
    if (child == children.end() || child->how != Compare::object)
      return same_member(field, a->if_contains(field.json), b->if_contains(field.json));
    return same_object(TypedRule{*child->rule, *field.block}, tree::child(*a, field.json),
                       tree::child(*b, field.json));
  });
}

bool same_content(const object* a, const object* b) {
  if (a == nullptr || b == nullptr) return a == b;
  if (a->size() != b->size()) return false;
  for (const auto& member : *a) {
    const value* other = b->if_contains(member.key());
    if (other == nullptr || !same_free(member.value(), *other)) return false;
  }
  return true;
}

std::string content_key(const BlockType& type, const object& from) {
  std::string key;
  for (const Field& field : type.fields) {
    if (field.has(Trait::api_only)) continue;
    const value* member = from.if_contains(field.json);
    key += field.json;
    key += '=';
    if (field.is_single()) {
      key += field.has(Trait::pointer) && (member == nullptr || member->is_null())
                 ? "null"
                 : text_of_field(field, member);
    } else if (field.kind == Kind::block && member != nullptr && member->is_object()) {
      key += content_key(*field.block, member->get_object());
    } else if (field.kind == Kind::blocks && member != nullptr && member->is_array()) {
      for (const value& element : member->get_array())
        if (element.is_object()) key += content_key(*field.block, element.get_object()) + "\x1e";
    } else if (!is_empty(member)) {
      if (const object* members = member->if_object())
        for (const auto& [name, text] : flatten_free(*members))
          key += name + ":" + text + "\x1e";
      else
        key += boost::json::serialize(*member);
    }
    key += '\x1f';
  }
  return key;
}

}  // namespace nomad::jobspec
