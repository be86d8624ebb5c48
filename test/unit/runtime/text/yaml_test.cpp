#include "runtime/text/yaml.hpp"

#include <doctest/doctest.h>

using namespace nomad;

TEST_CASE("yaml: events with their texts, tags and anchors") {
  YamlParser parser{"- &a !!str x\n- *a\n- 'q'\n"};
  std::string seen;
  for (;;) {
    YamlEvent event;
    REQUIRE(parser.next(event));
    if (event.type() == YAML_STREAM_END_EVENT) break;
    if (event.type() == YAML_ALIAS_EVENT) seen += "*" + std::string{event.anchor()} + ";";
    if (event.type() == YAML_SCALAR_EVENT)
      seen += std::string{event.anchor()} + " " + std::string{event.tag()} + " "
              + std::string{event.text()} + (event.is_quoted() ? "q" : "") + ";";
  }
  CHECK(seen == "a tag:yaml.org,2002:str x;*a;  qq;");
}

TEST_CASE("yaml: a mistake has a place") {
  YamlParser parser{"a: b\nc: [\n"};
  bool is_well = true;
  while (is_well) {
    YamlEvent event;
    is_well = parser.next(event);
  }
  CHECK(parser.problem() == "did not find expected node content");
  CHECK(parser.problem_mark().line == 2);
}

TEST_CASE("yaml: a document is written, or is too long") {
  const auto write = [](std::size_t limit) -> Result<std::string> {
    YamlEmitter emitter{limit};
    NOMAD_TRY(emitter.begin());
    NOMAD_TRY(emitter.begin_mapping());
    NOMAD_TRY(emitter.scalar("a", YAML_PLAIN_SCALAR_STYLE));
    NOMAD_TRY(emitter.begin_sequence());
    NOMAD_TRY(emitter.scalar("1", YAML_DOUBLE_QUOTED_SCALAR_STYLE));
    NOMAD_TRY(emitter.end_sequence());
    NOMAD_TRY(emitter.end_mapping());
    return emitter.finish();
  };
  CHECK(write(100).value() == "a:\n- \"1\"\n");
  CHECK(write(5).error() == Error{Errc::too_large, "yaml: the text is too long"});
  YamlEmitter emitter{100};
  REQUIRE(emitter.begin());
  CHECK(emitter.scalar("\xff", YAML_PLAIN_SCALAR_STYLE).error()
        == Error{Errc::invalid_argument, "yaml: invalid value"});
}

TEST_CASE("yaml: words and floats of YAML 1.1") {
  CHECK(yaml_word("") == YamlWord::null);
  CHECK(yaml_word("~") == YamlWord::null);
  CHECK(yaml_word("On") == YamlWord::yes);
  CHECK(yaml_word("oN") == YamlWord::none);
  CHECK(yaml_word("NO") == YamlWord::no);
  CHECK(yaml_word("-.inf") == YamlWord::minus_infinity);
  CHECK(yaml_word("+.INF") == YamlWord::infinity);
  CHECK(yaml_word(".NaN") == YamlWord::not_a_number);
  CHECK(yaml_word("y|Y") == YamlWord::none);
  for (const char* text : {"1", "-1.5", ".5", "5.", "1e3", "+.5E-3"})
    CHECK(is_yaml_float(text));
  for (const char* text : {"", ".", "-", "1e", "1.5.", "e3", "0x1"})
    CHECK_FALSE(is_yaml_float(text));
}
