// What the families of functions share; private to the fn_*.cpp files and functions.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/hcl/eval/function.hpp"
#include "runtime/hcl/functions/functions.hpp"
#include "runtime/hcl/value/convert.hpp"

namespace nomad::hcl {

/// How deep a value may be nested in a text that a function decodes.
inline constexpr int max_nesting = 250;

void add_string_functions(std::vector<Function>& out);
void add_format_functions(std::vector<Function>& out);
void add_number_functions(std::vector<Function>& out);
void add_collection_functions(std::vector<Function>& out);
void add_sequence_functions(std::vector<Function>& out);
void add_mapping_functions(std::vector<Function>& out);
void add_encoding_functions(std::vector<Function>& out);
void add_json_functions(std::vector<Function>& out);
void add_yaml_functions(std::vector<Function>& out);
void add_date_functions(std::vector<Function>& out);
void add_crypto_functions(std::vector<Function>& out, const FunctionOptions& options);
void add_network_functions(std::vector<Function>& out);
void add_file_functions(std::vector<Function>& out, const FunctionOptions& options);

/// Longest text a function may produce.
inline constexpr std::uint64_t max_result_bytes = 16U << 20U;

inline FunctionError fail(std::string message) {
  return {std::move(message)};
}

inline FunctionError fail_at(std::size_t argument, std::string message) {
  return {std::move(message), argument};
}

inline FunctionError too_large() {
  return fail("the result is larger than is allowed");
}

inline FunctionResult text(std::string_view value) {
  if (value.size() > max_result_bytes) return too_large();
  return Value::string(value);
}

/// A number as Go's int. `argument` is the position that the error names, if it names one.
inline Outcome<std::int64_t> to_int(const Value& number,
                                    std::optional<std::size_t> argument = std::nullopt,
                                    std::string_view what = "") {
  if (const auto whole = number.as_number().to_int64()) return *whole;
  return FunctionError{
      std::string{what}
          + "value must be a whole number, between -9223372036854775808 and 9223372036854775807",
      argument};
}

/// `convert`, with an error of that argument.
inline FunctionResult converted(const Value& value,
                                const Type& type,
                                std::optional<std::size_t> argument = std::nullopt) {
  Converted out = convert(value, type);
  if (auto* wrong = std::get_if<ConversionError>(&out))
    return FunctionError{std::move(wrong->message), argument};
  return std::move(std::get<Value>(out));
}

inline bool is_list(const Type& type) {
  return type.kind() == Type::Kind::list;
}

inline bool is_tuple(const Type& type) {
  return type.kind() == Type::Kind::tuple;
}

inline bool is_set(const Type& type) {
  return type.kind() == Type::Kind::set;
}

/// `value`, which must be wholly known, as JSON.
Outcome<std::string> encode_json(const Value& value);

}  // namespace nomad::hcl
