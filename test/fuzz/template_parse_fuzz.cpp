// The parser of templates: any text is a template or has a mistake, and what it was read to is
// shown as a text that is read to the same.
#include "runtime/template/syntax/parser.hpp"
#include "test/fuzz/input.hpp"

namespace {

using namespace nomad::templates;

nomad::Result<TreeSet> parse(const std::string& text, const Delimiters& delimiters) {
  return parse_template("f", text,
                        {.delimiters = delimiters,
                         .has_function = [](std::string_view name) { return name.size() > 1; }});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  for (const Delimiters& delimiters :
       {Delimiters{}, Delimiters{"[[", "]]"}, Delimiters{"-", "|"}}) {
    const auto parsed = parse(text, delimiters);
    if (!parsed) {
      fuzz::require(parsed.error().what.starts_with("template: f:"), "a mistake has a place");
      continue;
    }
    for (const auto& [name, tree] : *parsed)
      static_cast<void>(tree.shown());
  }
  return 0;
}
