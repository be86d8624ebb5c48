#include "runtime/template/eval/context.hpp"

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

Error function_error(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

}  // namespace nomad::templates
