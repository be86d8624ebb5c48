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

Result<void> pay_for_texts(const Call& call) {
  std::uint64_t bytes = 0;
  for (const Value& argument : call.arguments)
    if (argument.kind() == Kind::text) bytes += argument.as_text().size();
  return call.context.work().take(bytes);
}

const Function* find_method(std::span<const Function> methods, std::string_view name) {
  const auto found = std::ranges::find(methods, name, &Function::name);
  return found == methods.end() ? nullptr : &*found;
}

Error function_error(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

}  // namespace nomad::templates
