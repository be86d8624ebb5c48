#include "runtime/hcl/syntax/parser.hpp"

#include <doctest/doctest.h>

#include "runtime/base/text.hpp"
#include "runtime/hcl/syntax/lexer.hpp"
#include "test/unit/runtime/hcl/cases.hpp"

namespace nomad::hcl {

namespace {

std::string show(Position at) {
  return std::to_string(at.line) + ":" + std::to_string(at.column) + ":" + std::to_string(at.byte);
}

std::string show(const Range& range) {
  return show(range.start) + "-" + show(range.end);
}

/// A body with its values and places, attributes and blocks in source order.
void show_body(std::string& out,
               const File& file,
               const BodyNode& body,
               const EvalContext& context,
               const std::string& indent) {
  const auto position = [&](Span span) { return show(file.source().range(span)); };
  auto attribute = body.attributes.begin();
  for (auto block = body.blocks.begin();
       attribute != body.attributes.end() || block != body.blocks.end();) {
    const bool is_block
        = attribute == body.attributes.end()
          || (block != body.blocks.end() && (*block)->type_span.begin < attribute->span.begin);
    if (is_block) {
      const BlockNode& node = **block++;
      std::string labels;
      for (const std::string_view label : node.labels)
        labels += (labels.empty() ? "" : " ") + quote(label);
      out += indent + std::string{node.type} + " [" + labels + "] @"
             + position(cover(node.type_span, node.open_brace)) + " body@"
             + position(node.body->span) + "\n";
      show_body(out, file, *node.body, context, indent + "  ");
      continue;
    }
    const AttributeNode& node = *attribute++;
    out += indent + std::string{node.name} + " @" + position(node.span) + " expr@"
           + position(node.expr->span) + " start@" + position(start_span(*node.expr)) + "\n";
    const Evaluated evaluated = evaluate(*node.expr, &context);
    out += indent + " = " + show(evaluated.value) + "\n";
    for (const Diagnostic& diagnostic : evaluated.diagnostics)
      out += indent + " ! " + diagnostic.to_string() + "\n";
  }
}

std::size_t errors(const std::string& text) {
  return parse("f.hcl", text).diagnostics.size();
}

std::string repeat(std::string_view text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i)
    out += text;
  return out;
}

}  // namespace

TEST_CASE("parse: files have the reference's tree, places, values and complaints") {
  const Scope scope;
  check_cases("bodies.txt", [&scope](const std::string& input) {
    const Parsed parsed = parse("f.hcl", input);
    std::string out;
    for (const Diagnostic& diagnostic : parsed.diagnostics)
      out += "! " + diagnostic.to_string() + "\n";
    show_body(out, *parsed.file, *parsed.file->body(), scope.context, "");
    return out;
  });
}

TEST_CASE("lex: tokens have the reference's bounds and places") {
  check_cases("tokens.txt", [](const std::string& input) {
    const Source source{"f.hcl", input};
    std::string out;
    for (const Token& token : lex(input, Syntax::native))
      out += show(source.range(token.span())) + " " + quote(source.text(token.span())) + "\n";
    return out;
  });
}

TEST_CASE("parse: nesting beyond the limit is one complaint, whatever nests") {
  constexpr std::size_t many = 100'000;
  const std::string bombs[] = {
      "a = " + repeat("[", many),
      "a = " + repeat("(", many) + "1" + repeat(")", many),
      "a = " + repeat("{a=", many),
      "a = " + repeat("-", many) + "1",
      "a = " + repeat("!", many) + "true",
      "a = " + repeat("f(", many),
      "a = " + repeat("\"${", many),
      "a = \"" + repeat("%{if true}", many) + "\"",
      "a = \"" + repeat("%{for x in y}", many) + "\"",
      "a = x" + repeat("[*]", many),
      "a = x" + repeat("[y]", many),
      "a = 1" + repeat(" ? 1 : 1", many),
      "a = 1" + repeat(" + 1", many),
      "a = " + repeat("[for x in ", many),
      repeat("b {\n", many),
  };
  for (const std::string& bomb : bombs) {
    CAPTURE(bomb.substr(0, 20));
    const Parsed parsed = parse("f.hcl", bomb);
    REQUIRE(!parsed.ok());
    CHECK(parsed.diagnostics[0].summary == "Nesting too deep");
    CHECK(parsed.diagnostics[0].detail
          == "Expressions and blocks may be nested at most 300 levels deep.");
    CHECK(parsed.diagnostics.size() < 5);
  }
}

// What took time out of proportion would not end within the test's time limit.
TEST_CASE("parse: long texts take time in proportion") {
  constexpr std::size_t many = 50'000;
  const std::string texts[] = {
      repeat("a = 1\n", many),
      "a = x" + repeat(".y", many),
      "a = [" + repeat("1,", many) + "]",
      repeat("/*", many),
      repeat("a\n", many),
      "a = \"" + repeat("${x}", many) + "\"",
      "a = <<E\n" + repeat("x\n", many) + "E\n",
      repeat("\"", many),
      repeat("é", many),
      repeat("${", many),
      "a = \"" + repeat("\\q", many) + "\"",
  };
  std::size_t complaints = 0;
  for (const std::string& text : texts)
    complaints += errors(text);

  CHECK(complaints > 0);
}

TEST_CASE("parse: complaints are cut off before they fill the memory") {
  CHECK(errors(repeat("a\n", 50'000)) <= 1'000);
  CHECK(errors(repeat("\"\n", 50'000)) <= 2'000);
}

TEST_CASE("parse: a text above the limit is refused") {
  const Parsed parsed = parse("f.hcl", std::string(max_text_bytes + 1, ' '));

  REQUIRE(parsed.diagnostics.size() == 1);
  CHECK(parsed.diagnostics[0].to_string()
        == "f.hcl:1,1-1: Text too large; A text of more than 16 MiB cannot be read.");
  CHECK(parsed.file->body()->attributes.empty());
}

TEST_CASE("parse: a text of very many words and signs is not read") {
  std::string text = "a = [";
  for (std::size_t i = 0; i < max_tokens / 2; ++i)
    text += "1,";
  text += "]\n";
  const auto parsed = parse("job.hcl", text);
  REQUIRE(parsed.diagnostics.size() == 1);
  CHECK(parsed.diagnostics[0].summary == "Text too large");
  CHECK(parsed.file->body() != nullptr);
}

TEST_CASE("is_identifier: letters, digits, dashes, starting with a letter") {
  CHECK(is_identifier("a-b_1"));
  CHECK(is_identifier("_x"));
  CHECK(is_identifier("é"));
  CHECK(!is_identifier("1a"));
  CHECK(!is_identifier("a b"));
  CHECK(!is_identifier(""));
  CHECK(!is_identifier("a."));
}

TEST_CASE("referenced_variables: names bound by a for loop are not among them") {
  const Parsed parsed
      = parse_expression("f.hcl", "[for k, v in var.m : \"${k}${v}${local.x}\" if v != other[0]]");

  std::vector<std::string> names;
  for (const VariableExpr* variable : referenced_variables(*parsed.file->expression()))
    names.emplace_back(parsed.file->source().text(variable->span));

  CHECK(names == std::vector<std::string>{"var.m", "local.x", "other[0]"});
}

TEST_CASE("parse_native_or_json: decides by the first byte that is no space") {
  CHECK(parse_native_or_json("f", "  {\"a\": 1}").file->json() != nullptr);
  CHECK(parse_native_or_json("f", "a = 1").file->body() != nullptr);
  CHECK(parse_native_or_json("f", "\n{\"a\": 1}").file->body() != nullptr);
}

}  // namespace nomad::hcl
