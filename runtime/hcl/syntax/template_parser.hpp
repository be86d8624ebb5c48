// TemplateParser: strings and templates, from tokens to parts and from parts to a tree.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/hcl/syntax/token_reader.hpp"

namespace nomad::hcl {

struct TemplatePart;  // of a template before it is a tree

class TemplateParser {
public:
  explicit TemplateParser(TokenReader& in) : in_{in} {}

  /// A quoted string or a heredoc.
  const Expression* parse_string();
  /// A template that takes up all tokens.
  const Expression* parse_whole();
  /// A quoted string without template sequences: a block label.
  std::string_view parse_label(Span& span);

private:
  const Expression* parse_plain_string(Token open);
  std::string decode(Token token);
  void decode_escape(Token token, std::string_view text, std::size_t& at, std::string& out);
  std::vector<TemplatePart> parse_template_parts(TokenType end, Span& span);
  void parse_interpolation(Token open, std::vector<TemplatePart>& parts, bool& trim_next);
  void parse_control(Token open, std::vector<TemplatePart>& parts, bool& trim_next);
  bool parse_for_directive(Token open, std::vector<TemplatePart>& parts);
  void close_control(Token keyword, bool& trim_next);
  static void flush_heredoc(std::vector<TemplatePart>& parts);
  std::vector<const Expression*> parse_template(TokenType end, bool flush, Span& span, bool& wraps);
  const Expression* whole(const std::vector<const Expression*>& parts, bool wraps, Span span);

  TokenReader& in_;
};

}  // namespace nomad::hcl
