#include "runtime/template/eval/compare.hpp"

#include <utility>

#include "runtime/template/value/format.hpp"

namespace nomad::templates {
namespace {

Error mistake(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

bool is_basic(Kind kind) {
  return kind != Kind::any && kind <= Kind::text;
}

std::string shown_as_text(const Value& value) {
  return print_format("%s", std::span{&value, 1}, 4096).value_or("?");
}

/// Of what is neither a number nor a text nor a boolean.
Result<bool> equal_others(const Value& a, const Value& b, Work& work) {
  if (!a.is_invalid() && !b.is_invalid() && a.kind() != b.kind())
    return mistake("non-comparable types " + shown_as_text(a) + ": " + std::string{type_name(a)}
                   + ", " + std::string{type_name(b)} + ": " + shown(b));
  if (a.is_nil() || b.is_nil()) return a.is_nil() == b.is_nil();
  const bool by_address = b.kind() == Kind::structure && b.type()->is_pointer;
  if (b.kind() != Kind::structure)
    return mistake("non-comparable type " + shown_as_text(b) + ": " + std::string{type_name(b)});
  if (by_address) return &a.fields() == &b.fields();
  return deep_equal(a, b, work);
}

Result<bool> equal(const Value& a, const Value& b, Work& work) {
  const bool basic = is_basic(a.kind()) || is_basic(b.kind());
  if (!basic) return equal_others(a, b, work);
  NOMAD_TRY(work.take(compared_bytes(a, b)));
  if (a.kind() == b.kind()) return order_of_basics(a, b) == 0;
  if (a.kind() == Kind::integer && b.kind() == Kind::natural)
    return std::cmp_equal(a.as_integer(), b.as_natural());
  if (a.kind() == Kind::natural && b.kind() == Kind::integer)
    return std::cmp_equal(a.as_natural(), b.as_integer());
  if (!a.is_invalid() && !b.is_invalid()) return mistake("incompatible types for comparison");
  return false;
}

}  // namespace

Result<bool> is_equal(const Value& first, std::span<const Value> others, Work& work) {
  if (others.empty()) return mistake("missing argument for comparison");
  for (const Value& other : others)
    if (NOMAD_TRY(equal(first, other, work))) return true;
  return false;
}

Result<bool> is_less(const Value& a, const Value& b, Work& work) {
  NOMAD_TRY(work.take(compared_bytes(a, b)));
  if (!is_basic(a.kind()) || !is_basic(b.kind())) return mistake("invalid type for comparison");
  if (a.kind() != b.kind()) {
    if (a.kind() == Kind::integer && b.kind() == Kind::natural)
      return std::cmp_less(a.as_integer(), b.as_natural());
    if (a.kind() == Kind::natural && b.kind() == Kind::integer)
      return std::cmp_less(a.as_natural(), b.as_integer());
    return mistake("incompatible types for comparison");
  }
  if (a.kind() == Kind::boolean) return mistake("invalid type for comparison");
  return order_of_basics(a, b) < 0;
}

}  // namespace nomad::templates
