// Lexer and parser: any bytes give tokens that cover the text in order and a tree whose nodes lie
// within it, and every mistake has a place that can be shown.
#include "runtime/hcl/syntax/parser.hpp"
#include "test/fuzz/hcl_input.hpp"

namespace {

using namespace nomad::hcl;

void check_tokens(const std::string& text, Syntax syntax) {
  std::uint32_t at = 0;
  const std::vector<Token> all = lex(text, syntax);
  for (const Token& token : all) {
    fuzz::require(token.begin >= at && token.end >= token.begin, "tokens are in order");
    at = token.end;
  }
  fuzz::require(!all.empty() && all.back().type == TokenType::end_of_file && at == text.size(),
                "tokens end with the text");
}

void check_span(const File& file, Span span) {
  fuzz::require(span.begin <= span.end && span.end <= file.source().text().size(),
                "nodes lie within the text");
}

void check_body(const File& file, const BodyNode& body, int depth) {
  fuzz::require(depth <= max_height, "trees are not too deep");
  check_span(file, body.span);
  for (const AttributeNode& attribute : body.attributes) {
    check_span(file, attribute.span);
    check_span(file, attribute.expr->span);
    fuzz::require(attribute.expr->height <= max_height, "expressions are not too deep");
    static_cast<void>(referenced_variables(*attribute.expr));
  }
  for (const BlockNode* block : body.blocks) {
    check_span(file, block->definition());
    check_body(file, *block->body, depth + 1);
  }
}

void check(const Parsed& parsed) {
  fuzz::require(parsed.file != nullptr, "there is always a tree");
  if (parsed.file->body() != nullptr) check_body(*parsed.file, *parsed.file->body(), 0);
  if (const Expression* root = parsed.file->expression()) check_span(*parsed.file, root->span);
  for (const Diagnostic& diagnostic : parsed.diagnostics) {
    fuzz::require(!diagnostic.summary.empty(), "a mistake has a name");
    static_cast<void>(render(diagnostic, {.color = true}));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  check_tokens(text, Syntax::native);
  check_tokens(text, Syntax::bare_template);
  check(parse("f", text));
  check(parse_hcl1("f", text));
  check(parse_json("f", text));
  check(parse_expression("f", text));
  check(parse_template("f", text));
  return 0;
}
