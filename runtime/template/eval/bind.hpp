// Functions of templates made of plain ones, whose parameters and results say what they take and
// what they give:
//
//     bind<lower_case>("toLower")            // std::string_view → std::string
//     bind_piped<trim_prefix>("trimPrefix")  // the first parameter comes last, as in a pipe
//     method<year_of>("Year")                // the first parameter is the receiver
//
// Texts are std::string_view, ints std::int64_t, anything is const Value&, what has another type
// `As` it, and `Rest` takes the arguments that are left. What needs its rendering takes the Context
// first. A result may be a Result; texts that are taken or given are paid for.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/template/eval/context.hpp"

namespace nomad::templates {

/// An argument of a type that C++ does not tell from others.
template <const Type& type>
struct As {
  const Value& value;

  const Value& operator*() const { return value; }

  const Value* operator->() const { return &value; }
};

/// All arguments that are left, each of that type.
template <const Type& type = types::any>
struct Rest : std::span<const Value> {};

namespace binding {

template <class Parameter>
struct Taken {
  static constexpr const Type* type = &types::any;

  static const Value& of(const Call& call, std::size_t position) { return call[position]; }
};

template <>
struct Taken<std::string_view> {
  static constexpr const Type* type = &types::text;

  static std::string_view of(const Call& call, std::size_t position) { return call.text(position); }
};

template <>
struct Taken<std::int64_t> {
  static constexpr const Type* type = &types::integer;

  static std::int64_t of(const Call& call, std::size_t position) { return call.integer(position); }
};

template <>
struct Taken<bool> {
  static constexpr const Type* type = &types::boolean;

  static bool of(const Call& call, std::size_t position) { return call[position].as_boolean(); }
};

template <const Type& of_type>
struct Taken<As<of_type>> {
  static constexpr const Type* type = &of_type;

  static As<of_type> of(const Call& call, std::size_t position) { return {call[position]}; }
};

template <const Type& of_type>
struct Taken<Rest<of_type>> {
  static constexpr const Type* type = &of_type;

  static Rest<of_type> of(const Call& call, std::size_t position) {
    return {call.arguments.subspan(position)};
  }
};

/// Whether the function reads all of it: what is compared or only passed on costs little.
template <class Parameter>
constexpr bool reads_text = Taken<Parameter>::type == &types::text;

template <class Parameter>
constexpr bool is_rest = false;
template <const Type& type>
constexpr bool is_rest<Rest<type>> = true;

inline Result<Value> give(Context&, Value value) {
  return value;
}

inline Result<Value> give(Context& context, std::string text) {
  return made_text(context, std::move(text));
}

inline Result<Value> give(Context& context, std::string_view text) {
  return made_text(context, std::string{text});
}

inline Result<Value> give(Context&, bool value) {
  return Value::boolean(value);
}

inline Result<Value> give(Context&, std::int64_t value) {
  return Value::integer(value);
}

inline Result<Value> give(Context&, std::uint64_t value) {
  return Value::natural(value);
}

inline Result<Value> give(Context&, double value) {
  return Value::number(value);
}

template <class T>
Result<Value> give(Context& context, Result<T> result) {
  return give(context, NOMAD_TRY(std::move(result)));
}

template <auto function, bool is_piped, class Given, class... Parameters>
struct Bound {
  static constexpr std::array<const Type*, sizeof...(Parameters)> types{Taken<Parameters>::type...};

  static Result<Value> call(Call& call) {
    if constexpr ((reads_text<Parameters> || ...)) NOMAD_TRY(pay_for_texts(call));
    return call_at(call, std::index_sequence_for<Parameters...>{});
  }

  static constexpr bool is_variadic = (is_rest<Parameters> || ...);

private:
  static constexpr std::size_t count = sizeof...(Parameters);

  template <std::size_t... positions>
  static Result<Value> call_at(Call& call, std::index_sequence<positions...>) {
    const auto given = [&](auto&&... before) {
      return function(
          before...,
          Taken<Parameters>::of(call, is_piped ? (positions + count - 1) % count : positions)...);
    };
    if constexpr (std::is_invocable_v<decltype(function), Context&, Parameters...>)
      return give(call.context, given(call.context));
    else
      return give(call.context, given());
  }
};

/// Apart, so that a table of functions is not made of as many templates.
Function made(std::string_view name,
              std::span<const Type* const> parameters,
              bool is_variadic,
              FunctionBody body);

template <auto function, bool is_piped, class Given, class... Parameters>
Bound<function, is_piped, Given, Parameters...> bound(Given (*)(Parameters...)) {
  return {};
}

template <auto function, bool is_piped, class Given, class... Parameters>
Bound<function, is_piped, Given, Parameters...> bound(Given (*)(Context&, Parameters...)) {
  return {};
}

}  // namespace binding

template <auto function>
Function bind(std::string_view name) {
  const auto bound = binding::bound<function, false>(+function);
  return binding::made(name, bound.types, bound.is_variadic, bound.call);
}

template <auto function>
Function bind_piped(std::string_view name) {
  const auto bound = binding::bound<function, true>(+function);
  Function out = binding::made(name, bound.types, bound.is_variadic, bound.call);
  std::rotate(out.parameters.begin(), out.parameters.begin() + 1, out.parameters.end());
  return out;
}

template <auto function>
Function method(std::string_view name) {
  const auto bound = binding::bound<function, false>(+function);
  return binding::made(name, std::span{bound.types}.subspan(1), bound.is_variadic, bound.call);
}

}  // namespace nomad::templates
