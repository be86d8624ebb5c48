// Formatting: a second run changes nothing, no token is changed, and what the text says stays the
// same.
#include "runtime/hcl/eval/body.hpp"
#include "runtime/hcl/syntax/format.hpp"
#include "runtime/hcl/syntax/parser.hpp"
#include "test/fuzz/hcl_input.hpp"

namespace {

using namespace nomad::hcl;

/// The values of a body's attributes and of those in its blocks.
void collect(const Body& body, fuzz::Scope& scope, std::vector<Value>& out, int depth) {
  const BodyNode* node = body.node();
  for (const AttributeNode& attribute : node->attributes)
    out.push_back(scope.evaluate(*attribute.expr));
  if (depth > 20) return;
  BodySchema schema;
  for (const BlockNode* block : node->blocks) {
    schema.blocks.push_back({block->type, {}});
    for (const std::string_view label : block->labels)
      out.push_back(Value::string(label));
  }
  for (const Block& block : body.partial_content(schema).content.blocks)
    collect(block.body, scope, out, depth + 1);
}

std::vector<Value> meaning(const Parsed& parsed) {
  fuzz::Scope scope;
  std::vector<Value> out;
  collect(Body{parsed.file}, scope, out, 0);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  const std::string once = format(text);
  fuzz::require(format(once) == once, "formatting twice changes nothing");
  const Parsed before = parse("f", text);
  if (!before.ok()) {
    fuzz::require(once == text, "a text with mistakes stays as it is");
    return 0;
  }
  fuzz::require(fuzz::tokens(once) == fuzz::tokens(text), "formatting changes no token");
  const Parsed after = parse("f", once);
  fuzz::require(after.ok(), "formatting breaks nothing");
  if (text.find("bcrypt") == std::string::npos)
    fuzz::require(meaning(before) == meaning(after), "formatting keeps the meaning");
  return 0;
}
