#include "runtime/plugin/said.hpp"

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"

using namespace nomad;

namespace {

bool takes(const std::map<std::string, std::string>& facts) {
  Draft<schema::plugin::Fingerprint> draft;
  fill_entries(draft->initAttributes(static_cast<unsigned>(facts.size())), facts);
  return plugin::read_facts(draft.reader().getAttributes()).has_value();
}

}  // namespace

TEST_CASE("said: one line that a terminal may show, and not too long") {
  CHECK(plugin::said("grüß\tGott\n") == "grüß Gott ");
  CHECK(plugin::said("\x1b[2J\xff") == "\\x1b[2J\\xff");
  CHECK(plugin::said(std::string(5000, 'x')).size() == 4096 + 3);
}

TEST_CASE("said: an event keeps its time, and has at most so many details") {
  Draft<schema::plugin::Event> draft;
  draft->setType("A\nB");
  draft->setMessage("m\x07");
  draft->setTime(5);
  std::map<std::string, std::string> details;
  for (int i = 0; i < 100; ++i)
    details[std::to_string(i)] = "v\n";
  fill_entries(draft->initDetails(100), details);
  plugin::clean_event(*draft, 7);
  CHECK(view(draft.reader().getType()) == "A B");
  CHECK(view(draft.reader().getMessage()) == "m\\x07");
  CHECK(draft.reader().getTime() == 5);
  CHECK(draft.reader().getDetails().size() == plugin::most_details);
  CHECK(find_text(draft.reader().getDetails(), "0") == "v ");
}

TEST_CASE("said: facts are bounded in number and in length") {
  CHECK(takes({{"a.b", "c"}}));
  CHECK_FALSE(takes({{"", "c"}}));
  CHECK_FALSE(takes({{"a", std::string(2000, 'x')}}));
  CHECK_FALSE(takes({{std::string(300, 'a'), "x"}}));
  const auto refusal = [](const std::map<std::string, std::string>& facts) {
    Draft<schema::plugin::Fingerprint> draft;
    fill_entries(draft->initAttributes(static_cast<unsigned>(facts.size())), facts);
    return plugin::read_facts(draft.reader().getAttributes()).error().what;
  };
  CHECK(refusal({{"", "c"}})
        == "attribute \"\" has no name, or is too long: names have at most "
               + std::to_string(plugin::most_name_of_bytes) + " bytes, values "
               + std::to_string(plugin::most_attribute_bytes));
  std::map<std::string, std::string> many;
  for (unsigned i = 0; i <= plugin::most_attributes; ++i)
    many[std::to_string(i)] = "x";
  CHECK(refusal(many)
        == "it gives " + std::to_string(many.size()) + " attributes, at most "
               + std::to_string(plugin::most_attributes) + " are taken");
}
