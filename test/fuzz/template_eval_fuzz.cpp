// The evaluator of templates and all functions of tasks: any template gives a text or has a
// mistake, within its limits, and the same one each time.
#include "test/fuzz/template_input.hpp"

namespace {

using namespace nomad::templates;

nomad::Result<Rendered> render(const std::string& text) {
  static const Functions functions = task_functions();
  const auto parsed = TaskTemplate::parse(text, functions);
  if (!parsed) return parsed.error();
  fuzz::TemplateSources sources;
  return parsed->render(sources, fuzz::template_limits);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  const auto first = render(text);
  const auto second = render(text);
  fuzz::require(first.has_value() == second.has_value(), "the same template ends the same way");
  if (!first) {
    fuzz::require(first.error() == second.error(), "the same template has the same mistake");
    return 0;
  }
  fuzz::require(first->text == second->text, "the same template gives the same text");
  fuzz::require(first->text.size() <= fuzz::template_limits.output, "a text is within its limit");
  return 0;
}
