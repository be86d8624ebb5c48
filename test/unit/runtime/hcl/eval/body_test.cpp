#include "runtime/hcl/eval/body.hpp"

#include <doctest/doctest.h>

#include "runtime/hcl/eval/type_expression.hpp"
#include "runtime/hcl/syntax/parser.hpp"
#include "test/unit/runtime/hcl/cases.hpp"

namespace nomad::hcl {

namespace {

const BodySchema inner_schema{{{"name"}, {"count"}}, {{"port", {"label"}}, {"tag"}}};

/// A body by a schema in which every block holds the same things again.
std::string show_body(const Body& body, const BodySchema& schema, const EvalContext* context) {
  std::string out;
  const BodyContent content = body.content(schema);
  for (const Attribute& attribute : content.attributes)
    out += std::string{attribute.name} + "=" + show(attribute.evaluate(context).value) + ";";
  for (const Block& block : content.blocks) {
    out += std::string{block.type};
    for (const std::string& label : block.labels)
      out += " " + label;
    out += "{" + show_body(block.body, inner_schema, context) + "}";
  }
  for (const Diagnostic& diagnostic : content.diagnostics)
    out += "! " + diagnostic.to_string() + "\n";
  return out;
}

std::string show_text(const std::string& text, const BodySchema& schema = inner_schema) {
  const Parsed parsed = parse_native_or_json("f.hcl", text);
  REQUIRE_MESSAGE(parsed.ok(), text);
  const Scope scope;
  return show_body(Body{parsed.file}.expanded(&scope.context), schema, &scope.context);
}

}  // namespace

TEST_CASE("Body: content by a schema, in its order") {
  CHECK(show_text("count = 1\nname = \"x\"\nport \"http\" {\n  name = \"y\"\n}\ntag {}\n")
        == "name=\"x\";count=1;port http{name=\"y\";}tag{}");
}

TEST_CASE("Body: what JSON has in the place of blocks and arguments is named with its place") {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"port": 7})",
       "! f.hcl:1,10-11: Incorrect JSON value type; Either a JSON object or JSON array of objects "
       "is "
       "required here, to specify label labels for this block.\n"
       "! f.hcl:1,10-11: Missing block label; At least one object property is required, whose name "
       "represents the port block's label.\n"},
      {R"({"port": {"http": true}})",
       "! f.hcl:1,19-23: Incorrect JSON value type; Either a JSON object or a JSON array is "
       "required, "
       "representing the contents of one or more \"port\" blocks.\n"},
      {R"({"name": "x", "name": "y"})",
       "name=\"x\";! f.hcl:1,15-21: Duplicate argument; The argument \"name\" was already set at "
       "f.hcl:1,2-13.\n"},
  };
  for (const auto& [text, shown] : cases)
    CHECK(show_text(text) == shown);
}

TEST_CASE("Body: labels of a dynamic block are a list") {
  CHECK(show_text("dynamic \"port\" {\n  for_each = [1]\n  labels = \"x\"\n  content {\n  }\n}\n")
        == "! f.hcl:3,13-14: Invalid expression; A static list expression is required.\n");
}

TEST_CASE("Body: unknown names are reported with what was probably meant") {
  CHECK(show_text("nmae = 1\n")
        == "! f.hcl:1,1-5: Unsupported argument; An argument named \"nmae\" is not expected here. Did you mean \"name\"?\n");
  CHECK(show_text("port = 1\n")
        == "! f.hcl:1,1-5: Unsupported argument; An argument named \"port\" is not expected here. Did you mean to define a block of type \"port\"?\n");
  CHECK(show_text("prot \"x\" {}\n")
        == "! f.hcl:1,1-5: Unsupported block type; Blocks of type \"prot\" are not expected here. Did you mean \"port\"?\n");
  CHECK(show_text("count {}\n")
        == "! f.hcl:1,1-6: Unsupported block type; Blocks of type \"count\" are not expected here. Did you mean to define argument \"count\"? If so, use the equals sign to assign it a value.\n");
  const Parsed parsed = parse("f.hcl", "nmae = 1\n");
  const BodyContent content = Body{parsed.file}.content(inner_schema);
  REQUIRE(content.diagnostics.size() == 1);
  CHECK(content.diagnostics[0].suggestion == "name");
}

TEST_CASE("Body: labels are counted") {
  CHECK(show_text("port {}\n")
        == "! f.hcl:1,6-7: Missing label for port; All port blocks must have 1 labels (label).\n");
  CHECK(show_text("port \"a\" \"b\" {}\n")
        == "! f.hcl:1,10-13: Extraneous label for port; Only 1 labels (label) are expected for port blocks.\n");
  CHECK(show_text("tag \"a\" {}\n")
        == "! f.hcl:1,5-8: Extraneous label for tag; No labels are expected for tag blocks.\n");
}

TEST_CASE("Body: a required argument that is missing is asked for where the body opens") {
  const BodySchema schema{{{"max", true}}, {}};
  CHECK(show_text("\n", schema)
        == "! f.hcl:1,1-1: Missing required argument; The argument \"max\" is required, but no definition was found.\n");
}

TEST_CASE("Body: partial content leaves the rest to a later reading") {
  const Parsed parsed = parse("f.hcl", "name = 1\ncount = 2\nport \"a\" {}\ntag {}\nodd = 3\n");
  const Body body{parsed.file};

  const PartialContent first = body.partial_content({{{"name"}}, {{"port", {"label"}}}});
  const BodyContent second = first.remain.content({{{"count"}}, {{"tag"}}});

  CHECK(first.content.attributes.size() == 1);
  CHECK(first.content.blocks.size() == 1);
  CHECK(second.attributes.size() == 1);
  CHECK(second.blocks.size() == 1);
  REQUIRE(second.diagnostics.size() == 1);
  CHECK(second.diagnostics[0].summary == "Unsupported argument");
  CHECK(first.remain.hides_attribute("name"));
  CHECK(!first.remain.hides_attribute("count"));
  CHECK(first.remain.hides_block("port"));
}

TEST_CASE("Body: attributes only") {
  const Parsed parsed = parse("f.hcl", "b = 1\na = 2\nx {}\n");

  const JustAttributes out = Body{parsed.file}.just_attributes();

  REQUIRE(out.attributes.size() == 2);
  CHECK(out.attributes[0].name == "b");
  REQUIRE(out.diagnostics.size() == 1);
  CHECK(out.diagnostics[0].to_string()
        == "f.hcl:3,1-2: Unexpected \"x\" block; Blocks are not allowed here.");
}

TEST_CASE("dynamic: blocks for each element of a list, a map and a set") {
  CHECK(show_text("dynamic \"tag\" {\n for_each = [\"a\", \"b\"]\n content {\n name = "
                  "\"${tag.key}${tag.value}\"\n }\n}\n")
        == "tag{name=\"0a\";}tag{name=\"1b\";}");
  CHECK(show_text("dynamic \"tag\" {\n for_each = var.m\n content {\n name = "
                  "\"${tag.key}${tag.value}\"\n }\n}\n")
        == "tag{name=\"k1v1\";}tag{name=\"k2v2\";}");
  CHECK(show_text("dynamic \"tag\" {\n for_each = var.st\n content {\n name = "
                  "\"${tag.key}${tag.value}\"\n }\n}\n")
        == "tag{name=\"pp\";}tag{name=\"qq\";}");
  CHECK(show_text("dynamic \"tag\" {\n for_each = []\n content {}\n}\n") == "");
}

TEST_CASE("dynamic: labels, iterators and nesting") {
  CHECK(show_text("dynamic \"port\" {\n for_each = var.l\n iterator = it\n labels = [\"p-${it.value}\"]\n content {\n"
                  "  name = it.key\n  dynamic \"tag\" {\n   for_each = [1, 2]\n   content {\n    name = \"${it.value}${tag.value}\"\n"
                  "   }\n  }\n  tag {\n   name = it.value\n  }\n }\n}\n")
        == "port p-x{name=0;tag{name=\"x1\";}tag{name=\"x2\";}tag{name=\"x\";}}"
           "port p-y{name=1;tag{name=\"y1\";}tag{name=\"y2\";}tag{name=\"y\";}}");
}

TEST_CASE("dynamic: source order among generated and written blocks") {
  CHECK(show_text("tag {\n name = 1\n}\ndynamic \"tag\" {\n for_each = [2, 3]\n content {\n  name "
                  "= tag.value\n }\n}\ntag {\n name = 4\n}\n")
        == "tag{name=1;}tag{name=2;}tag{name=3;}tag{name=4;}");
}

TEST_CASE("dynamic: mistakes") {
  const auto complaint = [](const std::string& inside) {
    std::string out = show_text("dynamic \"tag\" {\n" + inside + "\n}\n");
    return out.substr(0, out.find('\n'));
  };
  CHECK(complaint("content {}") == "! f.hcl:1,15-15: Missing required argument; The argument \"for_each\" is required, but no definition was found.");
  CHECK(complaint("for_each = []") == "! f.hcl:1,15-15: Missing dynamic content block; A dynamic block must have a nested block of type \"content\" to describe the body of each generated block.");
  CHECK(complaint("for_each = []\ncontent {}\ncontent {}") == "! f.hcl:4,1-8: Extraneous dynamic content block; Only one nested content block is allowed for each dynamic block.");
  CHECK(complaint("for_each = 5\ncontent {}") == "! f.hcl:2,12-13: Invalid dynamic for_each value; Cannot use a number value in for_each. An iterable collection is required.");
  CHECK(complaint("for_each = null\ncontent {}")
        == "! f.hcl:2,12-16: Invalid dynamic for_each value; Cannot use a null value in for_each.");
  CHECK(complaint("for_each = []\niterator = a.b\ncontent {}") == "! f.hcl:3,12-15: Invalid dynamic iterator name; Dynamic iterator must be a single variable name.");
  CHECK(
      complaint("for_each = []\nlabels = [\"x\"]\ncontent {}")
      == "! f.hcl:3,1-7: Unsupported argument; An argument named \"labels\" is not expected here.");
  CHECK(
      show_text("dynamic \"prot\" {\n for_each = []\n content {}\n}\n")
      == "! f.hcl:1,9-15: Unsupported block type; Blocks of type \"prot\" are not expected "
         "here.\n");
  CHECK(show_text("dynamic \"port\" {\n for_each = [1]\n labels = [\"a\", \"b\"]\n content {}\n}\n") == "! f.hcl:3,17-20: Extraneous dynamic block label; Blocks of type \"port\" require 1 label(s).\n");
  CHECK(show_text("dynamic \"port\" {\n for_each = [1]\n labels = []\n content {}\n}\n") == "! f.hcl:3,11-13: Insufficient dynamic block labels; Blocks of type \"port\" require 1 label(s).\n");
  CHECK(show_text("dynamic \"port\" {\n for_each = [1]\n labels = [null]\n content {}\n}\n") == "! f.hcl:3,12-16: Invalid dynamic block label; Cannot use a null value as a dynamic block label.\n");
}

TEST_CASE("dynamic: the number of generated blocks is bounded, also when nested") {
  std::string text;
  for (int i = 0; i < 4; ++i)
    text += "dynamic \"tag\" {\n iterator = i" + std::to_string(i)
            + "\n for_each = range(1000)\n content {\n";
  for (int i = 0; i < 4; ++i)
    text += "}\n}\n";

  CHECK(show_text(text).find("Dynamic blocks can generate at most") != std::string::npos);
}

TEST_CASE("Body: JSON holds arguments, blocks and labels as properties") {
  CHECK(
      show_text(
          R"({"name": "x", "tag": [{"name": 1}, {"name": 2}], "port": {"http": {"count": 3}, "rpc": {}}})")
      == R"(name="x";tag{name=1;}tag{name=2;}port http{count=3;}port rpc{})");
  CHECK(
      show_text(R"({"dynamic": {"tag": {"for_each": ["a"], "content": {"name": "${tag.value}"}}}})")
      == R"(tag{name="a";})");
  CHECK(show_text(R"({"nmae": 1})")
        == "! f.hcl:1,2-8: Extraneous JSON object property; No argument or block type is named \"nmae\". Did you mean \"name\"?\n");
  CHECK(show_text(R"({"port": {}})")
        == "! f.hcl:1,10-11: Missing block label; At least one object property is required, whose name represents the port block's label.\n");
  CHECK(show_text(R"({"tag": 5})")
        == "! f.hcl:1,9-10: Incorrect JSON value type; Either a JSON object or a JSON array is required, representing the contents of one or more \"tag\" blocks.\n");
}

TEST_CASE("parse_type: type expressions and what is none") {
  const auto type = [](const std::string& text, bool constraint = false) {
    const Parsed parsed = parse_expression("f.hcl", text);
    const ParsedType out = parse_type(*parsed.file->expression(), constraint);
    return out.diagnostics.empty() ? out.type.to_expression() : out.diagnostics[0].detail;
  };
  CHECK(type("string") == "string");
  CHECK(type("list(map(number))") == "list(map(number))");
  CHECK(type("object({a = string, b = list(bool)})") == "object({a=string,b=list(bool)})");
  CHECK(type("tuple([string, number])") == "tuple([string,number])");
  CHECK(type("any", true) == "any");
  CHECK(type("any") == "The keyword \"any\" cannot be used in this type specification: an exact type is required.");
  CHECK(type("list")
        == "The list type constructor requires one argument specifying the element type.");
  CHECK(type("foo") == "The keyword \"foo\" is not a valid type specification.");
  CHECK(type("optional(string)") == "Keyword \"optional\" is not a valid type constructor.");
  CHECK(type("\"string\"")
        == "A type specification is either a primitive type keyword (bool, number, string) or a complex type constructor call, like list(string).");
  CHECK(type("string(1)") == "Primitive type keyword \"string\" does not expect arguments.");
  CHECK(type("object(string)")
        == "Object type constructor requires a map whose keys are attribute names and whose values are the corresponding attribute types.");
}

}  // namespace nomad::hcl
