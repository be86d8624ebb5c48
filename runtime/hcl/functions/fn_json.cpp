// `jsonencode` and `jsondecode`.
#include "runtime/hcl/functions/function_family.hpp"
#include "runtime/text/json.hpp"

namespace nomad::hcl {

namespace {

using Args = std::span<const Value>;

class JsonEncoder {
public:
  Outcome<std::string> run(const Value& value) {
    NOMAD_TRY(encode(value));
    return std::move(out_);
  }

private:
  Result<void> encode(const Value& value) {
    if (value.is_null()) {
      out_ += "null";
    } else if (value.is_unknown()) {
      return wrong("value is not known");
    } else if (value.is_string()) {
      append_json_string(out_, value.as_string());
    } else if (value.is_bool()) {
      out_ += value.as_bool() ? "true" : "false";
    } else if (value.is_number()) {
      if (value.as_number().is_infinite()) return wrong("cannot serialize infinity as JSON");
      out_ += value.as_number().to_string();
    } else {
      return value.is_sequence() ? sequence(value) : mapping(value);
    }
    return out_.size() <= max_result_bytes ? Result<void>{} : wrong(too_large().message);
  }

  static Error wrong(std::string message) { return {Errc::invalid_argument, std::move(message)}; }

  Result<void> sequence(const Value& value) {
    out_ += '[';
    for (const Value& element : value.elements()) {
      if (&element != &value.elements().front()) out_ += ',';
      NOMAD_TRY(encode(element));
    }
    out_ += ']';
    return {};
  }

  Result<void> mapping(const Value& value) {
    out_ += '{';
    for (const auto& entry : value.entries()) {
      if (&entry != &value.entries().front()) out_ += ',';
      append_json_string(out_, entry.first);
      out_ += ':';
      NOMAD_TRY(encode(entry.second));
    }
    out_ += '}';
    return {};
  }

  std::string out_;
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
  return text(NOMAD_TRY(encode_json(args[0])));
}

FunctionResult json_decode(Args args) {
  JsonMaker maker;
  return NOMAD_TRY((JsonReader<JsonMaker, JsonWords::stream>{maker, args[0].as_string()}.read()));
}

}  // namespace

Outcome<std::string> encode_json(const Value& value) {
  return JsonEncoder{}.run(value);
}

void add_json_functions(std::vector<Function>& out) {
  out.push_back({"jsonencode", {{"val", Type::dynamic(), true}}, std::nullopt, json_encode});
  out.push_back({"jsondecode", {{"str", Type::string()}}, std::nullopt, json_decode});
}

}  // namespace nomad::hcl
