// Evaluator and functions: any expression has a value or a mistake, within its limits, and the same
// one each time; also in the attributes of a file, in which `dynamic` blocks are expanded.
#include "runtime/hcl/eval/body.hpp"
#include "runtime/hcl/syntax/parser.hpp"
#include "test/fuzz/hcl_input.hpp"

namespace {

using namespace nomad::hcl;

void evaluate_expression(const std::string& text) {
  const Parsed parsed = parse_expression("f", text);
  if (!parsed.ok()) return;
  fuzz::Scope scope;
  const Value first = scope.evaluate(*parsed.file->expression());
  const Value second = scope.evaluate(*parsed.file->expression());
  // A salt makes each hash another.
  if (text.find("bcrypt") == std::string::npos)
    fuzz::require(first == second, "the same expression has the same value");
  fuzz::require(!Value::set_order(first, second) || !Value::set_order(second, first),
                "values are ordered one way");
}

void evaluate_file(const std::string& text) {
  static const BodySchema schema{{{"a", false}}, {{"b", {}}, {"c", {"name"}}}};
  const Parsed parsed = parse_native_or_json("f", text);
  if (!parsed.ok()) return;
  fuzz::Scope scope;
  const PartialContent found = Body{parsed.file}.expanded(scope.context()).partial_content(schema);
  for (const Attribute& attribute : found.content.attributes)
    static_cast<void>(attribute.evaluate(scope.context()));
  for (const Block& block : found.content.blocks)
    for (const Attribute& attribute : block.body.just_attributes().attributes)
      static_cast<void>(attribute.evaluate(scope.context()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  evaluate_expression(text);
  evaluate_file(text);
  return 0;
}
