#include "runtime/template/functions/merge.hpp"

#include <memory>

namespace nomad::templates {
namespace {

bool is_map(const Value& value) {
  return value.kind() == Kind::map && value.type()->key->kind == Kind::text && !value.is_nil();
}

/// What mergo takes for nothing.
bool is_empty(const Value& value) {
  return value.kind() == Kind::structure ? value.is_nil() : !value.is_true();
}

}  // namespace

Result<void> set_key(Context& context, Map& map, std::string_view key, const Value& value) {
  if (NOMAD_TRY(holds(value, map, context.work())))
    return function_error("a map can't hold itself: key \"" + std::string{key} + '"');
  map.set(key, value);
  return {};
}

Result<void> merge_maps(Context& context, Map& into, const Value& from, bool overrides, int depth) {
  if (depth > max_depth) return Error{Errc::too_large, "the map is nested too deep"};
  // A copy: the two may be one and the same.
  NOMAD_TRY(context.step(1 + from.entries().size()));
  const std::vector<std::pair<Value, Value>> entries{from.entries().begin(), from.entries().end()};
  for (const auto& [key, value] : entries) {
    if (key.kind() != Kind::text) continue;
    const Value* known = into.find(key.as_text());
    if (known != nullptr && is_map(*known) && is_map(value)) {
      NOMAD_TRY(merge_maps(context, *known->shared_map(), value, overrides, depth + 1));
    } else if (known == nullptr || is_empty(*known) || (overrides && !is_empty(value))) {
      NOMAD_TRY(set_key(context, into, key.as_text(), value));
    }
  }
  return {};
}

Result<Value> copy_deep(Context& context, const Value& value, int depth) {
  if (depth > max_depth) return Error{Errc::too_large, "the value is nested too deep"};
  NOMAD_TRY(context.step());
  if (value.is_nil()) return value;
  if (value.kind() == Kind::list) {
    std::vector<Value> items;
    for (const Value& item : value.items())
      items.push_back(NOMAD_TRY(copy_deep(context, item, depth + 1)));
    return Value::list(std::move(items), *value.type());
  }
  if (value.kind() != Kind::map) return value;
  auto map = std::make_shared<Map>();
  for (const auto& [key, held] : value.entries())
    map->set(key, NOMAD_TRY(copy_deep(context, held, depth + 1)));
  return Value::map(std::move(map), *value.type());
}

}  // namespace nomad::templates
