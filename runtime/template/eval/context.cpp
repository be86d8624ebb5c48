#include "runtime/template/eval/context.hpp"

#include <algorithm>

namespace nomad::templates {

Error Context::too_much(std::string_view what, std::uint64_t limit) {
  std::string text{what};
  text.replace(text.find("%d"), 2, std::to_string(limit));
  return {Errc::too_large, "the template takes " + text};
}

Result<Value> made_text(Context& context, std::string text) {
  NOMAD_TRY(context.make(text.size()));
  return Value::text(std::move(text));
}

const Function* find_method(std::span<const Function> methods, std::string_view name) {
  const auto found = std::ranges::find(methods, name, &Function::name);
  return found == methods.end() ? nullptr : &*found;
}

Error function_error(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

}  // namespace nomad::templates
