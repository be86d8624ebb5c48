#include "runtime/template/eval/bind.hpp"

#include <doctest/doctest.h>

#include "runtime/template/value/format.hpp"

using namespace nomad;
using namespace nomad::templates;

namespace {

std::string_view without_prefix(std::string_view text, std::string_view prefix) {
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  return text;
}

Result<std::int64_t> sum(Context& context, std::int64_t first, Rest<types::integer> others) {
  NOMAD_TRY(context.step(others.size()));
  for (const Value& other : others)
    first += other.as_integer();
  return first;
}

bool is_empty(As<types::any_list> list) {
  return list->items().empty();
}

std::string doubled(const Value& receiver, std::string_view between) {
  const std::string text{receiver.as_text()};
  return text + std::string{between} + text;
}

Value call(const Function& function, std::vector<Value> arguments, const Limits& limits = {}) {
  Context context{nullptr, limits};
  Call call{context, arguments};
  auto out = function.body(call);
  return out ? *out : Value::text(out.error().what);
}

}  // namespace

TEST_CASE("bind: parameters and results follow from the function") {
  const Function function = bind<sum>("sum");
  CHECK(function.name == "sum");
  CHECK(function.parameters == std::vector<const Type*>{&types::integer, &types::integer});
  CHECK(function.is_variadic);
  CHECK(call(function, {Value::integer(1), Value::integer(2), Value::integer(3)}).as_integer()
        == 6);
  CHECK(call(function, {Value::integer(1)}).as_integer() == 1);
}

TEST_CASE("bind: what is piped comes last") {
  const Function function = bind_piped<without_prefix>("without");
  CHECK_FALSE(function.is_variadic);
  CHECK(call(function, {Value::text("a"), Value::text("ab")}).as_text() == "b");
}

TEST_CASE("bind: a receiver is no parameter") {
  const Function function = method<doubled>("Doubled");
  CHECK(function.parameters == std::vector<const Type*>{&types::text});
  CHECK(call(function, {Value::text("x"), Value::text("-")}).as_text() == "x-x");
}

TEST_CASE("bind: other types are named, and texts are paid for") {
  const Function function = bind<is_empty>("empty");
  CHECK(function.parameters.front() == &types::any_list);
  CHECK(call(function, {Value::list({})}).as_boolean());
  const Value refused
      = call(method<doubled>("Doubled"), {Value::text("12345"), Value::text("")}, {.made = 9});
  CHECK(shown(refused) == "the template takes texts of more than 9 bytes");
}
