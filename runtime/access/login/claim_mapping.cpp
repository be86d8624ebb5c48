#include "runtime/access/login/claim_mapping.hpp"

#include <cmath>
#include <optional>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/base/whole_number.hpp"

namespace nomad::access {

namespace {

using ClaimValue = boost::json::value;

/// One part of a JSON pointer, unescaped (RFC 6901).
std::string pointer_part(std::string_view part) {
  std::string out;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const bool is_escape = part[i] == '~' && i + 1 < part.size();
    if (is_escape && (part[i + 1] == '0' || part[i + 1] == '1'))
      out += part[++i] == '0' ? '~' : '/';
    else
      out += part[i];
  }
  return out;
}

const ClaimValue* claim_part(const ClaimValue& from, const std::string& part) {
  if (from.is_object()) return from.as_object().if_contains(part);
  std::size_t position = 0;
  if (!from.is_array() || !read_whole_number(part, position)) return nullptr;
  return from.as_array().if_contains(position);
}

/// Null: there is none.
const ClaimValue* claim_at(const Claims& claims, std::string_view name) {
  if (!name.starts_with('/')) return claims.if_contains({name.data(), name.size()});
  const ClaimValue* found = nullptr;
  while (!name.empty()) {
    const auto end = name.find('/', 1);
    const auto part = pointer_part(name.substr(1, end == name.npos ? end : end - 1));
    found = found == nullptr ? claims.if_contains(part) : claim_part(*found, part);
    if (found == nullptr) return nullptr;
    name.remove_prefix(end == name.npos ? name.size() : end);
  }
  return found;
}

/// Numbers as Nomad shows them: without what is behind the point.
std::optional<std::string> text_of_claim(const ClaimValue& value) {
  constexpr double most = 9e18;
  if (value.is_string()) return std::string{value.as_string()};
  if (value.is_bool()) return value.as_bool() ? "true" : "false";
  if (value.is_int64()) return std::to_string(value.as_int64());
  if (value.is_double() && std::abs(value.as_double()) < most)
    return std::to_string(static_cast<std::int64_t>(value.as_double()));
  return std::nullopt;
}

Error unfit_claim(std::string what) {
  return {Errc::corrupt, std::move(what)};
}

Result<std::vector<std::string>> list_of_claim(std::string_view name, const ClaimValue& value) {
  std::vector<std::string> list;
  const auto add = [&](const ClaimValue& one) -> Result<> {
    auto text = text_of_claim(one);
    if (!text)
      return unfit_claim(
          fmt::format("a value in \"{}\" list claim could not be parsed as string", name));
    if (!text->empty()) list.push_back(std::move(*text));
    return {};
  };
  if (value.is_object())
    return unfit_claim(
        fmt::format("\"{}\" list claim could not be converted to string list", name));
  if (value.is_array())
    for (const auto& one : value.as_array())
      NOMAD_TRY(add(one));
  else
    NOMAD_TRY(add(value));
  return list;
}

}  // namespace

Result<MappedClaims> map_claims(const Claims& claims,
                                const ClaimMapping& values,
                                const ClaimMapping& lists) {
  MappedClaims mapped;
  for (const auto& [source, target] : values) {
    const auto* found = claim_at(claims, source);
    if (found == nullptr || found->is_null()) continue;
    auto text = text_of_claim(*found);
    if (!text)
      return unfit_claim(fmt::format("error converting claim '{}' to string from unknown type {}",
                                     source,
                                     found->is_object()  ? "map[string]interface {}"
                                     : found->is_array() ? "[]interface {}"
                                                         : "float64"));
    mapped.values.insert_or_assign(target, std::move(*text));
  }
  for (const auto& [source, target] : lists) {
    const auto* found = claim_at(claims, source);
    if (found == nullptr || found->is_null()) continue;
    mapped.lists.insert_or_assign(target, NOMAD_TRY(list_of_claim(source, *found)));
  }
  return mapped;
}

Result<> check_bind_name(std::string_view bind_name) {
  constexpr std::string_view prefix = "value.";
  for (auto open = bind_name.find("${"); open != bind_name.npos; open = bind_name.find("${")) {
    const bool is_literal = open > 0 && bind_name[open - 1] == '$';
    bind_name.remove_prefix(open + 2);
    if (is_literal) continue;
    const auto close = bind_name.find('}');
    if (close == bind_name.npos)
      return Error{Errc::invalid_argument, "bind name is invalid: \"${\" has no \"}\""};
    const auto name = trim(bind_name.substr(0, close));
    if (!name.starts_with(prefix) || name.size() == prefix.size())
      return Error{Errc::invalid_argument,
                   fmt::format("bind name is invalid: {} is no claim, as ${{value.name}} is",
                               quote(shorten(name)))};
    bind_name.remove_prefix(close + 1);
  }
  return {};
}

Result<std::string> fill_bind_name(std::string_view bind_name, const MappedClaims& claims) {
  constexpr std::string_view prefix = "value.";
  const auto whole = bind_name;
  std::string out;
  while (!bind_name.empty()) {
    const auto open = bind_name.find("${");
    if (open == bind_name.npos) return out.append(bind_name);
    const bool is_literal = open > 0 && bind_name[open - 1] == '$';
    if (is_literal) {
      out.append(bind_name.substr(0, open - 1)).append("${");
      bind_name.remove_prefix(open + 2);
      continue;
    }
    out.append(bind_name.substr(0, open));
    const auto close = bind_name.find('}', open);
    if (close == bind_name.npos)
      return unfit_claim(fmt::format("parse error at 1:{}: expected \"}}\" but found end of string",
                                     whole.size() + 1));
    const auto name = trim(bind_name.substr(open + 2, close - open - 2));
    const auto found = name.starts_with(prefix) ? claims.values.find(name.substr(prefix.size()))
                                                : claims.values.end();
    if (found == claims.values.end())
      return unfit_claim(
          fmt::format("1:{}: unknown variable accessed: {}", name.data() - whole.data() + 1, name));
    out.append(to_lower(found->second));
    bind_name.remove_prefix(close + 1);
  }
  return out;
}

}  // namespace nomad::access
