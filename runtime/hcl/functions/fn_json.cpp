// `jsonencode` and `jsondecode`.
#include "runtime/hcl/functions/function_family.hpp"
#include "runtime/text/json.hpp"

namespace nomad::hcl {

namespace {

using Args = std::span<const Value>;

class JsonEncoder {
public:
  bool encode(const Value& value) {
    if (value.is_null()) {
      out += "null";
    } else if (value.is_unknown()) {
      return fail("value is not known");
    } else if (value.is_string()) {
      append_json_string(out, value.as_string());
    } else if (value.is_bool()) {
      out += value.as_bool() ? "true" : "false";
    } else if (value.is_number()) {
      if (value.as_number().is_infinite()) return fail("cannot serialize infinity as JSON");
      out += value.as_number().to_string();
    } else {
      return value.is_sequence() ? sequence(value) : mapping(value);
    }
    return out.size() <= max_result_bytes || fail("the result is larger than is allowed");
  }

  std::string out;
  std::string error;

private:
  bool fail(std::string message) {
    error = std::move(message);
    return false;
  }

  bool sequence(const Value& value) {
    out += '[';
    for (const Value& element : value.elements()) {
      if (&element != &value.elements().front()) out += ',';
      if (!encode(element)) return false;
    }
    out += ']';
    return true;
  }

  bool mapping(const Value& value) {
    out += '{';
    for (const auto& entry : value.entries()) {
      if (&entry != &value.entries().front()) out += ',';
      append_json_string(out, entry.first);
      out += ':';
      if (!encode(entry.second)) return false;
    }
    out += '}';
    return true;
  }
};

/// Makes values of what is read.
struct JsonMaker {
  using Value = hcl::Value;
  using Array = Value::Elements;
  using Object = Value::Entries;

  Result<void> begin(int) { return {}; }

  Result<void> open(int depth) {
    if (depth < max_nesting) return {};
    return Error{Errc::too_large, "JSON values may be nested at most " + std::to_string(max_nesting)
                                      + " levels deep"};
  }

  Result<Value> number(std::string_view text) {
    auto number = Number::parse(text);
    if (!number) return Error{Errc::invalid_argument, "a number is required"};
    return Value::number(std::move(*number));
  }

  Value string(std::string_view text) { return Value::string(text); }

  Value boolean(bool value) { return Value::boolean(value); }

  Value null() { return Value::null(); }

  void add(Array& array, Value value) { array.push_back(std::move(value)); }

  void add(Object& object, std::string key, Value value) {
    object.emplace_back(std::move(key), std::move(value));
  }

  Value finish(Array array) { return Value::tuple(std::move(array)); }

  Value finish(Object object) { return Value::object(std::move(object)); }
};

FunctionResult json_encode(Args args) {
  if (!args[0].is_wholly_known()) return Value::unknown(Type::string());
  auto out = encode_json(args[0]);
  if (auto* wrong = std::get_if<FunctionError>(&out)) return std::move(*wrong);
  return text(std::get<std::string>(out));
}

FunctionResult json_decode(Args args) {
  JsonMaker maker;
  auto out = JsonReader<JsonMaker, JsonWords::stream>{maker, args[0].as_string()}.read();
  return out ? FunctionResult{std::move(*out)} : fail(out.error().what);
}

}  // namespace

std::variant<std::string, FunctionError> encode_json(const Value& value) {
  JsonEncoder encoder;
  if (!encoder.encode(value)) return FunctionError{std::move(encoder.error)};
  return std::move(encoder.out);
}

void add_json_functions(std::vector<Function>& out) {
  out.push_back({"jsonencode", {{"val", Type::dynamic(), true}}, std::nullopt, json_encode});
  out.push_back({"jsondecode", {{"str", Type::string()}}, std::nullopt, json_decode});
}

}  // namespace nomad::hcl
