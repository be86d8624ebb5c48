#include "runtime/hcl/value/value.hpp"

#include <thread>

#include <doctest/doctest.h>

#include "runtime/hcl/value/convert.hpp"
#include "test/unit/runtime/hcl/cases.hpp"

namespace nomad::hcl {

namespace {

Value text_value(const char* value) {
  return Value::string(value);
}

Value number_value(int value) {
  return Value::number(value);
}

std::string converted(const Value& value, const Type& type) {
  const Converted out = convert(value, type);
  if (const auto* wrong = std::get_if<ConversionError>(&out))
    return "! " + wrong->message + " at " + wrong->path;
  return show(std::get<Value>(out));
}

}  // namespace

TEST_CASE("Value: strings are brought to normal form C, broken UTF-8 is replaced") {
  CHECK(text_value("e\xCC\x81").as_string() == "é");
  CHECK(text_value("a\xFFz").as_string() == "a\xEF\xBF\xBDz");
}

TEST_CASE("Value: mappings are sorted by key and keep the last of two") {
  const Value object = Value::object({{"b", number_value(1)},
                                      {"C", number_value(2)},
                                      {"a", number_value(3)},
                                      {"b", number_value(4)}});

  CHECK(show(object) == R"({"C"=2, "a"=3, "b"=4})");
  REQUIRE(object.find("b") != nullptr);
  CHECK(object.find("zz") == nullptr);
}

TEST_CASE("Value: sets are sorted and hold nothing twice") {
  CHECK(show(Value::set(Type::number(), {number_value(3), number_value(1), number_value(3)}))
        == "set(number)[1, 3]");
  CHECK(show(Value::set(Type::string(), {text_value("b"), text_value("a"), text_value("b")}))
        == R"(set(string)["a", "b"])");
  CHECK(show(Value::set(Type::boolean(), {Value::boolean(true), Value::boolean(false)}))
        == "set(bool)[false, true]");
  const Type tuple = Type::tuple({Type::number()});
  CHECK(Value::set(tuple, {Value::tuple({number_value(1)}), Value::tuple({number_value(1)})}).size()
        == 1);
}

TEST_CASE("Value: types are computed from contents, also by two threads at once") {
  const Value value = Value::tuple({number_value(1), Value::object({{"a", text_value("x")}})});
  Type first;
  Type second;
  std::thread other{[&] { second = value.type(); }};
  first = value.type();
  other.join();

  CHECK(first == second);
  CHECK(first.to_expression() == "tuple([number,object({a=string})])");
}

TEST_CASE("Value: height and weight count a value as a tree") {
  Value value = text_value("0123456789");
  const std::uint64_t leaf = value.weight();
  for (int i = 0; i < 70; ++i)
    value = Value::tuple({value, value});

  CHECK(leaf >= 10);
  CHECK(value.height() == 70);
  CHECK(value.weight() > (std::uint64_t{1} << 62U));  // saturates instead of overflowing
}

TEST_CASE("Value: equality of the language") {
  CHECK(Value::equals(number_value(1), number_value(1)) == true);
  CHECK(Value::equals(number_value(1), text_value("1")) == false);
  CHECK(Value::equals(Value::null(), Value::null(Type::string())) == true);
  CHECK(Value::equals(Value::null(), number_value(1)) == false);
  CHECK(!Value::equals(Value::unknown(Type::number()), number_value(1)).has_value());
  CHECK(Value::equals(Value::unknown(Type::number()), text_value("a")) == false);
  CHECK(
      Value::equals(Value::tuple({number_value(1)}), Value::list(Type::number(), {number_value(1)}))
      == false);
}

TEST_CASE("convert: conversions and their errors say where") {
  CHECK(converted(text_value("42"), Type::number()) == "42");
  CHECK(converted(number_value(42), Type::string()) == "\"42\"");
  CHECK(converted(text_value("1"), Type::boolean()) == "true");
  CHECK(converted(text_value("x"), Type::number()) == "! a number is required at ");
  const Value list = Value::tuple({text_value("1"), text_value("x")});
  CHECK(converted(list, Type::list(Type::number())) == "! a number is required at [1]");
  const Value object = Value::object({{"a", Value::tuple({text_value("x")})}});
  CHECK(converted(object, Type::object({{"a", Type::list(Type::number())}}))
        == "! a number is required at .a[0]");
  CHECK(converted(object, Type::map(Type::list(Type::number())))
        == "! a number is required at [\"a\"][0]");
  CHECK(converted(object, Type::object({{"b", Type::string()}}))
        == "! attribute \"b\" is required at ");
  CHECK(converted(Value::null(), Type::number()) == "null(number)");
  CHECK(converted(Value::unknown(), Type::number()) == "unknown(number)");
}

TEST_CASE("convert: attributes a type does not have are dropped") {
  const Value object = Value::object({{"a", number_value(1)}, {"b", number_value(2)}});

  CHECK(converted(object, Type::object({{"a", Type::string()}})) == R"({"a"="1"})");
}

TEST_CASE("unify: what several types have in common") {
  const auto unified = [](const std::vector<Type>& types) {
    const auto out = unify_unsafe(types);
    return out ? out->to_expression() : "none";
  };
  CHECK(unified({Type::number(), Type::string()}) == "string");
  CHECK(unified({Type::number(), Type::boolean()}) == "none");
  CHECK(unified({Type::tuple({Type::number()}), Type::tuple({Type::string(), Type::number()})})
        == "list(string)");
  CHECK(unified({Type::tuple({Type::number()}), Type::list(Type::string())}) == "list(string)");
  CHECK(unified({Type::object({{"a", Type::number()}}), Type::object({{"b", Type::string()}})})
        == "map(string)");
  CHECK(unified({Type::object({}), Type::tuple({})}) == "none");
  CHECK(unified({Type::dynamic(), Type::tuple({})}) == "any");
  CHECK(unified({}) == "none");
}

// What took time out of proportion would not end within the test's time limit.
TEST_CASE("unify: deep types take no more than time in proportion") {
  Type left = Type::number();
  Type right = Type::string();
  for (int i = 0; i < 60; ++i) {
    left = Type::tuple({left, Type::dynamic()});
    right = Type::tuple({right});
  }
  CHECK(!unify_unsafe({Type::list(left), Type::boolean(), Type::list(right)}));
  (void)unify_unsafe({left, right});
}

TEST_CASE("Type: names as messages show them") {
  CHECK(Type::list(Type::string()).friendly_name() == "list of string");
  CHECK(Type::map(Type::dynamic()).friendly_name_for_constraint() == "map of any single type");
  CHECK(Type::object({}).friendly_name() == "object");
  CHECK(Type::dynamic().friendly_name() == "dynamic");
}

}  // namespace nomad::hcl
