// Comparing values: the language's `==`, and the order in which a set holds its elements.
#include <algorithm>

#include "runtime/base/text.hpp"
#include "runtime/hcl/value/value.hpp"

namespace nomad::hcl {

namespace {

/// Whether `==` could still turn out either way because a type inside is not known yet.
bool has_known_type(const Value& value) {
  if (value.is_null()) return true;
  if (value.is_unknown()) return !value.type().has_dynamic();
  if (value.is_wholly_known()) return true;
  if (value.is_sequence())
    return std::all_of(value.elements().begin(), value.elements().end(), has_known_type);
  if (value.is_mapping())
    return std::all_of(value.entries().begin(), value.entries().end(),
                       [](const Value::Entry& entry) { return has_known_type(entry.second); });
  return true;
}

std::optional<bool> equal_elements(const Value::Elements& a, const Value::Elements& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto equal = Value::equals(a[i], b[i]);
    if (equal != true) return equal;
  }
  return true;
}

std::optional<bool> equal_entries(const Value::Entries& a, const Value::Entries& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].first != b[i].first) return false;
    const auto equal = Value::equals(a[i].second, b[i].second);
    if (equal != true) return equal;
  }
  return true;
}

/// A text by which sets order elements of composite types.
void append_order_text(const Value& value, std::string& out) {
  if (value.is_unknown()) {
    out += '?';
  } else if (value.is_null()) {
    out += '~';
  } else if (value.is_number()) {
    constexpr int digits = 10;
    out += value.as_number().format('g', digits);
  } else if (value.is_bool()) {
    out += value.as_bool() ? 'T' : 'F';
  } else if (value.is_string()) {
    out += quote(value.as_string());
  } else if (value.is_sequence()) {
    const bool tuple = value.kind() == Type::Kind::tuple;
    out += tuple ? '<' : '[';
    for (const Value& element : value.elements()) {
      append_order_text(element, out);
      out += ';';
    }
    out += tuple ? '>' : ']';
  } else {
    const bool object = value.kind() == Type::Kind::object;
    out += object ? '<' : '{';
    for (const auto& [key, element] : value.entries()) {
      if (!object) out.append(quote(key)).append(":");
      append_order_text(element, out);
      out += ';';
    }
    out += object ? '>' : '}';
  }
}

}  // namespace

std::optional<bool> Value::equals(const Value& a, const Value& b) {
  if (a.is_unknown() || b.is_unknown()) {
    const Value& known = a.is_unknown() ? b : a;
    const Value& unknown = a.is_unknown() ? a : b;
    if (known.is_known() && !unknown.type().has_dynamic() && !(known.type() == unknown.type()))
      return false;
    return std::nullopt;
  }
  if (a.is_null() || b.is_null()) return a.is_null() && b.is_null();
  if (a.kind() != b.kind()) return false;
  const Type::Kind kind = a.kind();
  if (kind == Type::Kind::boolean) return a.as_bool() == b.as_bool();
  if (kind == Type::Kind::number) return a.as_number() == b.as_number();
  if (kind == Type::Kind::string) return a.as_string() == b.as_string();
  if (!has_known_type(a) || !has_known_type(b)) return std::nullopt;
  if (!(a.type() == b.type())) return false;
  return a.is_sequence() ? equal_elements(a.elements(), b.elements())
                         : equal_entries(a.entries(), b.entries());
}

bool Value::set_order(const Value& a, const Value& b) {
  const auto rank = [](const Value& value) {
    return value.is_null() ? 2 : value.is_unknown() ? 1 : 0;
  };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  if (rank(a) != 0 || a.kind() != b.kind()) return false;
  if (a.is_string()) return a.as_string() < b.as_string();
  if (a.is_number()) return a.as_number() < b.as_number();
  if (a.is_bool()) return !a.as_bool() && b.as_bool();
  std::string left;
  std::string right;
  append_order_text(a, left);
  append_order_text(b, right);
  return left < right;
}

}  // namespace nomad::hcl
