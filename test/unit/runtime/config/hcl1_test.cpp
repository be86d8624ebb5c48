// Agent configurations in the older syntax.
#include "runtime/config/hcl1.hpp"

#include <string>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "runtime/base/random.hpp"
#include "runtime/config/agent_config.hpp"
#include "runtime/config/config_file.hpp"

using namespace nomad;
using namespace nomad::config;

namespace {

std::string read(std::string_view text) {
  KeyLines lines;
  const auto tree = parse_hcl1("agent.hcl", text, lines);
  return tree ? boost::json::serialize(*tree) : tree.error().what;
}

}  // namespace

TEST_CASE("hcl1: what HCL2 refuses") {
  struct Case {
    const char* text;
    const char* tree;
  };

  for (const auto& [text, tree] : {
           Case{R"(options { "driver.raw_exec.enable" = "1" })",
                R"({"options":{"driver.raw_exec.enable":"1"}})"},
           Case{"ports { http = 1 rpc = 2, serf = 3 }", R"({"ports":{"http":1,"rpc":2,"serf":3}})"},
           Case{"server {\n  enabled = true }", R"({"server":{"enabled":true}})"},
           Case{"meta { rack.number = 7 }", R"({"meta":{"rack.number":7}})"},
           Case{R"("server" "join" { a = [1, "two", true,] })",
                R"({"server":{"join":{"a":[1,"two",true]}}})"},
           Case{"a { b = 1 }\na { c = 2 }", R"({"a":{"b":1,"c":2}})"},
           Case{"a = 1\na = 2", R"({"a":2})"},
           Case{"a = { b = { c = [] } }", R"({"a":{"b":{"c":[]}}})"},
           Case{"a=-5 b=0x1f c=010 d=1.5 e=2e3", R"({"a":-5,"b":31,"c":8,"d":1.5E0,"e":2E3})"},
           Case{R"(a = "x\n\"y\" ${file("z")} {}")", R"({"a":"x\n\"y\" ${file(\"z\")} {}"})"},
           Case{"# one\n// two\n/* three\n */ a = 1 # four", R"({"a":1})"},
           Case{"a = <<END\n  x\n y\nEND\nb = <<-END\n  x\n   y\n  END\n",
                R"({"a":"  x\n y\n","b":"x\n y\n"})"},
           Case{"", "{}"},
       })
    CHECK(read(text) == tree);
}

TEST_CASE("hcl1: mistakes are named with their place") {
  CHECK(read("a = ") == "agent.hcl:1,5: expected a value");
  CHECK(read("a {\n b = 1") == "agent.hcl:2,7: expected a closing brace");
  CHECK(read("a b = 1") == "agent.hcl:1,5: expected a block");
  CHECK(read("a") == "agent.hcl:1,2: expected \"=\" or a block");
  CHECK(read("x = 1\n}") == "agent.hcl:2,1: expected a key");
  CHECK(read("a = [1 2]") == "agent.hcl:1,8: expected a comma or a closing bracket");
  CHECK(read("a = \"b\nc\"").ends_with("a string does not end"));
  CHECK(read("a = \"\\q\"").ends_with("an escape that means nothing"));
  CHECK(read("a = 12abc").ends_with("not a number"));
  CHECK(read("a = <<E\nx").ends_with("a heredoc does not end"));
  CHECK(read("/* a").ends_with("a comment does not end"));
  CHECK(read(std::string(5000, '[')).find("expected") != std::string::npos);
  std::string deep = "a = ";
  for (int i = 0; i < 5000; ++i)
    deep += "[";
  CHECK(read(deep).find("nested too deeply") != std::string::npos);
  std::string blocks;
  for (int i = 0; i < 5000; ++i)
    blocks += "a {";
  CHECK(read(blocks).find("nested too deeply") != std::string::npos);
}

TEST_CASE("hcl1: no text makes the reader fail otherwise than by an error") {
  const std::string pieces[] = {"a", "\"b\"", "=",  "{", "}", "[",  "]",  ",",  "\n",   "1",
                                "-", "0x",    "<<", "E", "#", "/*", "\\", "${", "true", " "};
  Random random{20};
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (auto length = random.below(12); length > 0; --length)
      text += pieces[random.below(std::size(pieces))];
    KeyLines lines;
    const auto tree = parse_hcl1("f", text, lines);
    CHECK_MESSAGE((tree || !tree.error().what.empty()), text);
  }
}

TEST_CASE("hcl1: an agent's file may be written in it, and its mistakes are HCL2's") {
  const auto config = with_file_text({}, "agent.hcl", R"(
data_dir = "/tmp/x" bind_addr = "127.0.0.1"
client { enabled = true
  options { "driver.allowlist" = "raw_exec" } }
)");
  REQUIRE(config.has_value());
  CHECK(config->data_dir == "/tmp/x");
  CHECK(config->client.enabled);
  CHECK(config->client.options.at("driver.allowlist") == "raw_exec");
  CHECK(with_file_text({}, "agent.hcl", "client { enabled = }").has_error());
}
