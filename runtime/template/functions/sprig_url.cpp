// sprig: addresses.
#include <array>

#include "runtime/template/functions/families.hpp"
#include "runtime/template/functions/sprig.hpp"
#include "runtime/template/text/url_parts.hpp"

namespace nomad::templates::sprig_url_family {
namespace {

Result<Value> parse_address(Call& call) {
  const auto parts = UrlParts::parse(call.text(0));
  if (!parts) return function_error("unable to parse url: " + parts.error().what);
  NOMAD_TRY(call.context.make(4 * call.text(0).size()));
  auto map = std::make_shared<Map>();
  map->set("scheme", Value::text(parts->scheme));
  map->set("host", Value::text(parts->host));
  map->set("hostname", Value::text(parts->host_name()));
  map->set("path", Value::text(parts->path));
  map->set("query", Value::text(parts->query));
  map->set("opaque", Value::text(parts->opaque));
  map->set("fragment", Value::text(parts->fragment));
  map->set("userinfo", Value::text(parts->userinfo));
  return Value::map(std::move(map));
}

/// "" where the map has none.
Result<std::string> part_of(const Value& map, std::string_view key) {
  const Value* found = map.is_nil() ? nullptr : map.shared_map()->find(key);
  if (found == nullptr) return std::string{};
  if (found->kind() == Kind::text) return std::string{found->as_text()};
  if (found->is_invalid())
    return function_error("runtime error: invalid memory address or nil pointer dereference");
  return function_error("unable to parse " + std::string{key} + " key, must be of type string, but "
                        + std::string{kind_name(*found)} + " found");
}

Result<Value> join_address(Call& call) {
  UrlParts parts;
  const std::array<std::pair<const char*, std::string*>, 7> places{{
      {"scheme", &parts.scheme},
      {"host", &parts.host},
      {"path", &parts.path},
      {"query", &parts.query},
      {"opaque", &parts.opaque},
      {"fragment", &parts.fragment},
      {"userinfo", &parts.userinfo},
  }};
  for (const auto& [key, place] : places)
    *place = NOMAD_TRY(part_of(call[0], key));
  if (!parts.userinfo.empty()) {
    const auto read = UrlParts::parse("proto://" + parts.userinfo + "@host");
    if (!read) return function_error("unable to parse userinfo in dict: " + read.error().what);
    parts.userinfo = read->userinfo;
  }
  return made_text(call.context, parts.text());
}

}  // namespace

std::span<const Function> functions() {
  static const Function table[] = {
      {"sprig_urlParse", {&types::text}, false, parse_address},
      {"sprig_urlJoin", {&types::any_map}, false, join_address},
  };
  return table;
}

}  // namespace nomad::templates::sprig_url_family
