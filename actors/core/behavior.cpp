#include "actors/core/behavior.hpp"

namespace nomad::actor {

const Handler* HandlerSet::find(const std::type_info& type) const {
  // Within one library a type has one name, so its address tells; across libraries the text does.
  for (const auto& handler : table_)
    if (handler.type->name() == type.name()) return &handler;
  for (const auto& handler : table_)
    if (*handler.type == type) return &handler;
  return nullptr;
}

}  // namespace nomad::actor
