// A parsed template: Go's text/template. What it gives, and what it says where it can't, are Go's,
// to the byte: `template: NAME:LINE:COLUMN: executing "NAME" at <.Field>: …`.
//
// Immutable once parsed; may be rendered by several threads at a time, each with a `Context` of its
// own. Rendering ends: its steps, the bytes it makes and how deep it goes are bounded (`Limits`).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/template/eval/context.hpp"
#include "runtime/template/eval/functions.hpp"
#include "runtime/template/syntax/parser.hpp"

namespace nomad::templates {

/// What a key is that a map does not have.
enum class MissingKey : std::uint8_t {
  no_value,  ///< Nil, "<no value>".
  zero,      ///< The zero value of what the map's elements are.
  error,
};

struct TemplateOptions {
  Delimiters delimiters{};
  MissingKey missing_key = MissingKey::no_value;
  /// Outlives the template.
  const Functions* functions = &Functions::go();
};

class Template {
public:
  /// Fails with `invalid_argument` in Go's words where `text` is no template.
  static Result<Template> parse(std::string name, std::string text, TemplateOptions options = {});

  /// What the template makes of `data`.
  Result<std::string> execute(Context& context, const Value& data) const;

private:
  friend class Executor;

  Template() = default;

  std::string name_;
  std::string text_;
  TemplateOptions options_;
  TreeSet trees_;
};

}  // namespace nomad::templates
