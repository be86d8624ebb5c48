#include "cli/output/go_template.hpp"

#include <memory>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "runtime/template/eval/template.hpp"
#include "runtime/template/functions/library.hpp"

namespace nomad::cli {
namespace {

using templates::Value;

std::string text_of(boost::json::string_view text) {
  return {text.data(), text.size()};
}

/// As deep as the parser of JSON lets data be.
Value value_of(const boost::json::value& json) {
  switch (json.kind()) {
    case boost::json::kind::null:
      return {};
    case boost::json::kind::bool_:
      return Value::boolean(json.get_bool());
    case boost::json::kind::int64:
      return Value::integer(json.get_int64());
    case boost::json::kind::uint64:
      return Value::natural(json.get_uint64());
    case boost::json::kind::double_:
      return Value::number(json.get_double());
    case boost::json::kind::string:
      return Value::text(text_of(json.get_string()));
    case boost::json::kind::array: {
      std::vector<Value> items;
      for (const auto& item : json.get_array())
        items.push_back(value_of(item));
      return Value::list(std::move(items));
    }
    case boost::json::kind::object:
      break;
  }
  auto map = std::make_shared<templates::Map>();
  for (const auto& [key, member] : json.get_object()) {
    map->json_order.push_back(text_of(key));
    map->set(map->json_order.back(), value_of(member));
  }
  return Value::map(std::move(map));
}

}  // namespace

Result<std::string> render_go_template(std::string_view text, const boost::json::value& data) {
  const auto parsed = NOMAD_TRY(templates::Template::parse(
      "", std::string{text},
      {.missing_key = templates::MissingKey::error, .functions = &templates::cli_functions()}));
  templates::Context context;
  return parsed.execute(context, value_of(data));
}

}  // namespace nomad::cli
