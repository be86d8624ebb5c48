#include "runtime/template/eval/bind.hpp"

namespace nomad::templates::binding {

Function made(std::string_view name,
              std::span<const Type* const> parameters,
              bool is_variadic,
              FunctionBody body) {
  return {name, {parameters.begin(), parameters.end()}, is_variadic, body};
}

}  // namespace nomad::templates::binding
