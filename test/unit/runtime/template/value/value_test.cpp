#include "runtime/template/value/value.hpp"

#include <doctest/doctest.h>

using namespace nomad::templates;

namespace {

Value pair_map(Value value) {
  auto map = std::make_shared<Map>();
  map->set("k", std::move(value));
  return Value::map(std::move(map));
}

}  // namespace

TEST_CASE("value: what is nothing is not true") {
  for (const Value& value : {Value{}, Value::boolean(false), Value::integer(0), Value::number(0),
                             Value::text(""), Value::list({}), Value::null(types::any_map)})
    CHECK_FALSE(value.is_true());
  for (const Value& value : {Value::boolean(true), Value::integer(-1), Value::number(0.5),
                             Value::text("0"), Value::list({Value{}}), pair_map({})})
    CHECK(value.is_true());
}

TEST_CASE("value: keys of maps are in Go's order") {
  Map map;
  for (const char* key : {"b", "a", "B", "10", "9"})
    map.set(key, {});
  std::string keys;
  for (const auto& [key, value] : map.entries)
    keys += std::string{key.as_text()} + ' ';
  CHECK(keys == "10 9 B a b ");
}

TEST_CASE("value: equal in depth, of the same types") {
  Work work{10'000};
  CHECK(*deep_equal(pair_map(Value::list({Value::integer(1)})),
                    pair_map(Value::list({Value::integer(1)})), work));
  CHECK_FALSE(*deep_equal(Value::integer(1), Value::integer(1, types::int64), work));
  CHECK_FALSE(*deep_equal(Value::list({}), Value::null(types::any_list), work));
}

TEST_CASE("value: a map finds itself wherever it is held") {
  const Value inner = pair_map(Value::integer(1));
  const Value outer = Value::list({pair_map(Value::list({inner}))});

  Work work{10'000};

  CHECK(*holds(outer, *inner.shared_map(), work));
  CHECK_FALSE(*holds(Value::list({Value::integer(1)}), *inner.shared_map(), work));
}

TEST_CASE("value: a million levels end without a stack of a million calls") {
  Value deep;
  for (int i = 0; i < 1'000'000; ++i)
    deep = i % 2 == 0 ? Value::list({deep}) : pair_map(deep);
  CHECK(deep.is_true());
}

TEST_CASE("value: a named list goes where its plain type is wanted, and no further") {
  static constexpr Type tags{
      .kind = Kind::list, .name = "T", .element = &types::text, .plain = &types::text_list};
  CHECK(is_assignable(tags, types::text_list));
  CHECK(is_assignable(tags, types::any));
  CHECK_FALSE(is_assignable(tags, types::any_list));
  CHECK_FALSE(is_assignable(types::integer, types::int64));
}
