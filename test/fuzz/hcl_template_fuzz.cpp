// Templates: any text, bare, quoted or in a heredoc, gives a value or a mistake; text without
// sequences is its own value.
#include "runtime/hcl/syntax/parser.hpp"
#include "test/fuzz/hcl_input.hpp"

namespace {

using namespace nomad::hcl;

void evaluate_text(const std::string& text, const Parsed& parsed) {
  if (!parsed.ok()) return;
  fuzz::Scope scope;
  const Value value = scope.evaluate(*parsed.file->expression());
  const bool plain = text.find_first_of("$%\\\"") == std::string::npos;
  fuzz::require(!plain || value.is_string(), "plain text is text");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  evaluate_text(text, parse_template("f", text));
  evaluate_text(text, parse_expression("f", "\"" + text + "\""));
  const std::string heredoc = "<<EOT\n" + text + "\nEOT\n";
  const std::string flush = "<<-EOT\n" + text + "\n  EOT\n";
  for (const std::string& whole : {heredoc, flush}) {
    const Parsed parsed = parse_expression("f", whole);
    if (!parsed.ok()) continue;
    fuzz::Scope scope;
    static_cast<void>(scope.evaluate(*parsed.file->expression()));
  }
  return 0;
}
