#include "runtime/hcl/syntax/parser.hpp"

#include "runtime/hcl/syntax/body_parser.hpp"
#include "runtime/hcl/syntax/expression_parser.hpp"
#include "runtime/hcl/syntax/json_node.hpp"
#include "runtime/hcl/syntax/template_parser.hpp"
#include "runtime/hcl/syntax/token_reader.hpp"
#include "runtime/hcl/value/utf8.hpp"

namespace nomad::hcl {

namespace {

/// `bound`: "16 MiB"
Parsed too_large(std::string file_name, Syntax syntax, const std::string& bound) {
  auto file = std::make_shared<File>(std::move(file_name), std::string{}, syntax);
  Parsed out;
  out.diagnostics.push_back(error_at(file->source(), {}, "Text too large",
                                     "A text of more than " + bound + " cannot be read."));
  if (syntax == Syntax::native) {
    TreeBuilder builder{*file};
    builder.set_body(builder.arena().make(BodyNode{}));
  } else if (is_json(syntax)) {
    TreeBuilder builder{*file};
    builder.set_json(builder.arena().make(JsonNode{}));
  }
  out.file = std::move(file);
  return out;
}

/// Reports characters that no HCL text may hold, each kind a limited number of times.
class TokenCheck {
public:
  explicit TokenCheck(const Source& source) : source_{source} {}

  void check(Token token, Diagnostics& out) {
    switch (token.type) {
      case TokenType::bitwise_and:
        return bitwise(token, " Did you mean boolean AND (\"&&\")?", out);
      case TokenType::bitwise_or:
        return bitwise(token, " Did you mean boolean OR (\"||\")?", out);
      case TokenType::bitwise_not:
        return bitwise(token, " Did you mean boolean NOT (\"!\")?", out);
      case TokenType::bitwise_xor:
        return bitwise(token, "", out);
      case TokenType::backtick:
        if (backticks_ % 2 == 0)
          add(token, "Invalid character",
              "The \"`\" character is not valid. To create a multi-line string, use the "
              "\"heredoc\" "
              "syntax, like \"<<EOT\".",
              out);
        backticks_ += backticks_ <= 2 ? 1 : 0;
        return;
      case TokenType::apostrophe:
        if (apostrophes_ % 2 == 0)
          add(token, "Invalid character",
              "Single quotes are not valid. Use double quotes (\") to enclose strings.", out);
        apostrophes_ += apostrophes_ <= 2 ? 1 : 0;
        return;
      case TokenType::semicolon:
        if (semicolons_++ == 0)
          add(token, "Invalid character",
              "The \";\" character is not valid. Use newlines to separate arguments and blocks, "
              "and "
              "commas to separate items in collection values.",
              out);
        return;
      case TokenType::bad_utf8:
        if (bad_utf8_++ == 0)
          add(token, "Invalid character encoding",
              "All input files must be UTF-8 encoded. Ensure that UTF-8 encoding is selected in "
              "your "
              "editor.",
              out);
        return;
      case TokenType::quoted_newline:
        add(token, "Invalid multi-line string",
            "Quoted strings may not be split over multiple lines. To produce a multi-line string, "
            "either use the \\n escape to represent a newline character or use the \"heredoc\" "
            "multi-line template syntax.",
            out);
        return;
      case TokenType::invalid:
        return invalid(token, out);
      default:
        return;
    }
  }

private:
  void add(Token token, std::string summary, std::string detail, Diagnostics& out) const {
    if (out.size() < max_diagnostics)
      out.push_back(error_at(source_, token.span(), std::move(summary), std::move(detail)));
  }

  void bitwise(Token token, std::string_view hint, Diagnostics& out) {
    constexpr int tell = 4;
    if (bitwise_++ < tell)
      add(token, "Unsupported operator", "Bitwise operators are not supported." + std::string{hint},
          out);
  }

  void invalid(Token token, Diagnostics& out) const {
    const std::string_view text = source_.text(token.span());
    if (text == "\u201C" || text == "\u201D")
      add(token, "Invalid character",
          "\"Curly quotes\" are not valid here. These can sometimes be inadvertently introduced "
          "when "
          "sharing code via documents or discussion forums. It might help to replace the character "
          "with a \"straight quote\".",
          out);
    else
      add(token, "Invalid character", "This character is not used within the language.", out);
  }

  const Source& source_;
  int bitwise_ = 0;
  int backticks_ = 0;
  int apostrophes_ = 0;
  int semicolons_ = 0;
  int bad_utf8_ = 0;
};

void check_tokens(TokenReader& in) {
  TokenCheck check{in.source()};
  for (const Token& token : in.tokens())
    if (token.type >= TokenType::bitwise_and) check.check(token, in.diagnostics());
}

std::string most_bytes() {
  return std::to_string(max_text_bytes >> 20U) + " MiB";
}

Parsed parse_alone(std::string file_name, std::string text, Syntax syntax, Position origin) {
  if (text.size() > max_text_bytes) return too_large(std::move(file_name), syntax, most_bytes());
  auto tokens = lex(text, syntax, max_tokens);
  if (tokens.size() > max_tokens)
    return too_large(std::move(file_name), syntax,
                     std::to_string(max_tokens) + " words, numbers and signs");
  auto file = std::make_shared<File>(std::move(file_name), std::move(text), syntax, origin);
  TokenReader in{*file, std::move(tokens)};
  check_tokens(in);
  if (syntax == Syntax::native)
    in.builder().set_body(BodyParser{in}.parse(TokenType::end_of_file));
  else if (syntax == Syntax::expression)
    in.builder().set_expression(ExpressionParser{in}.parse_whole());
  else
    in.builder().set_expression(TemplateParser{in}.parse_whole());
  return {std::move(file), std::move(in.diagnostics())};
}

}  // namespace

File::File(std::string file_name, std::string text, Syntax syntax, Position origin)
    : source_{std::move(file_name), std::move(text), syntax, origin},
      arena_{std::make_unique<Arena>()} {}

File::~File() = default;

Parsed parse(std::string file_name, std::string text) {
  return parse_alone(std::move(file_name), std::move(text), Syntax::native, {});
}

Parsed parse_expression(std::string file_name, std::string text, Position origin) {
  return parse_alone(std::move(file_name), std::move(text), Syntax::expression, origin);
}

Parsed parse_template(std::string file_name, std::string text, Position origin) {
  return parse_alone(std::move(file_name), std::move(text), Syntax::bare_template, origin);
}

Parsed parse_native_or_json(std::string file_name, std::string text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first != std::string::npos && text[first] == '{'
             ? parse_json(std::move(file_name), std::move(text))
             : parse(std::move(file_name), std::move(text));
}

Parsed parse_json(std::string file_name, std::string text, Syntax syntax) {
  if (text.size() > max_text_bytes) return too_large(std::move(file_name), syntax, most_bytes());
  auto file = std::make_shared<File>(std::move(file_name), std::move(text), syntax);
  TreeBuilder builder{*file};
  Parsed out;
  builder.set_json(parse_json_tree(builder, out.diagnostics));
  out.file = std::move(file);
  return out;
}

bool is_identifier(std::string_view name) {
  const auto tokens = lex(name, Syntax::expression);
  return tokens.size() == 2 && tokens[0].type == TokenType::identifier && tokens[0].begin == 0
         && tokens[0].end == name.size();
}

}  // namespace nomad::hcl
