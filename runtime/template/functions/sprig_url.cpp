// sprig: addresses.
#include <array>

#include "runtime/template/eval/bind.hpp"
#include "runtime/template/functions/families.hpp"
#include "runtime/template/functions/shared.hpp"
#include "runtime/template/text/url_parts.hpp"

namespace nomad::templates::sprig_url_family {
namespace {

/// What the parts are called in a dictionary.
constexpr std::array<std::pair<std::string_view, std::string UrlParts::*>, 7> parts_by_name{{
    {"scheme", &UrlParts::scheme},
    {"host", &UrlParts::host},
    {"path", &UrlParts::path},
    {"query", &UrlParts::query},
    {"opaque", &UrlParts::opaque},
    {"fragment", &UrlParts::fragment},
    {"userinfo", &UrlParts::userinfo},
}};

Result<Value> parse_address(Context& context, std::string_view text) {
  const auto parts = UrlParts::parse(text);
  if (!parts) return function_error("unable to parse url: " + parts.error().what);
  NOMAD_TRY(context.make(4 * text.size()));
  auto map = std::make_shared<Map>();
  for (const auto& [name, part] : parts_by_name)
    map->set(name, Value::text((*parts).*part));
  map->set("hostname", Value::text(parts->host_name()));
  return Value::map(std::move(map));
}

/// "" where the map has none.
Result<std::string> part_of(const Value& map, std::string_view key) {
  const Value* found = map.is_nil() ? nullptr : map.shared_map()->find(key);
  if (found == nullptr) return std::string{};
  if (found->kind() == Kind::text) return std::string{found->as_text()};
  if (found->is_invalid()) return nil_pointer();
  return function_error("unable to parse " + std::string{key} + " key, must be of type string, but "
                        + std::string{kind_name(*found)} + " found");
}

Result<std::string> join_address(As<types::any_map> map) {
  UrlParts parts;
  for (const auto& [name, part] : parts_by_name)
    parts.*part = NOMAD_TRY(part_of(*map, name));
  if (!parts.userinfo.empty()) {
    const auto read = UrlParts::parse("proto://" + parts.userinfo + "@host");
    if (!read) return function_error("unable to parse userinfo in dict: " + read.error().what);
    parts.userinfo = read->userinfo;
  }
  return parts.text();
}

}  // namespace

std::span<const Function> functions() {
  static const Function table[] = {
      bind<parse_address>("sprig_urlParse"),
      bind<join_address>("sprig_urlJoin"),
  };
  return table;
}

}  // namespace nomad::templates::sprig_url_family
