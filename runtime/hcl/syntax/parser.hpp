// Parsing: text to tree. Pure; a syntax error is a diagnostic and leaves a usable partial tree.
//
// Bounds: a text above `max_text_bytes`, one of more than `max_tokens` and nesting above
// `max_height` are diagnostics; time and memory are linear in the text.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/hcl/syntax/ast.hpp"
#include "runtime/hcl/syntax/diagnostic.hpp"

namespace nomad::hcl {

inline constexpr std::size_t max_text_bytes = 16U << 20U;

/// A tree takes up to eighty bytes for each of its tokens, of which a text can have one a byte.
inline constexpr std::size_t max_tokens = 4'000'000;

struct Parsed {
  /// Never null.
  std::shared_ptr<const File> file;
  Diagnostics diagnostics;

  bool ok() const { return !has_errors(diagnostics); }
};

/// A whole file in native syntax.
Parsed parse(std::string file_name, std::string text);

/// A whole file in HCL1, the language of older files; to its first mistake. One that begins with
/// `{`, spaces left aside, is JSON.
Parsed parse_hcl1(std::string file_name, std::string text);

/// A whole file in JSON syntax, one of the two.
Parsed parse_json(std::string file_name, std::string text, Syntax syntax = Syntax::json);

/// JSON when the first byte that is no space is `{`, as Nomad decides.
Parsed parse_native_or_json(std::string file_name, std::string text);

/// One expression, newlines ignored.
Parsed parse_expression(std::string file_name, std::string text, Position origin = {});

/// The inside of a quoted string.
Parsed parse_template(std::string file_name, std::string text, Position origin = {});

/// Whether `name` can be an attribute or variable name.
bool is_identifier(std::string_view name);

}  // namespace nomad::hcl
