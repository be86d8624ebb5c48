#include "runtime/access/policy/policy.hpp"

#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "test/unit/runtime/access/policy/policies.hpp"

using namespace nomad;
using namespace nomad::access;

namespace {

std::string error_of(std::string_view rules) {
  const auto read = read_policy(rules, PolicyText::written);
  return read ? "accepted" : read.error().what;
}

/// A text and what Nomad says of it, as test/data/policy/rules.txt has it.
struct Sample {
  std::string text;
  std::string verdict;
  std::string ours;
};

std::string unescaped(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c != '\\') {
      out += c;
      continue;
    }
    const char next = line[++i];
    out += next == 'n' ? '\n' : next == 'r' ? '\r' : next == 't' ? '\t' : next;
  }
  return out;
}

std::vector<Sample> samples() {
  std::ifstream file{POLICY_TEST_DATA "/rules.txt", std::ios::binary};
  REQUIRE(file.good());
  std::vector<Sample> out;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("> "))
      out.push_back({unescaped(std::string_view{line}.substr(2)), {}, {}});
    else if (line.starts_with("ours: "))
      out.back().ours = line.substr(6);
    else if (!line.empty() && !line.starts_with("# "))
      out.back().verdict = line;
  }
  return out;
}

/// `RulesJSON` without the text itself.
std::string shown(const Policy& policy) {
  auto json = rules_json(policy);
  return json.substr(0, json.find(",\"Raw\":")) + '}';
}

}  // namespace

TEST_CASE("policy: texts are taken, shown and refused as Nomad does") {
  const auto all = samples();
  CHECK(all.size() > 300);
  for (const auto& sample : all) {
    CAPTURE(sample.text);
    const auto read = read_policy(sample.text, PolicyText::written);
    const auto verdict = sample.ours.empty() ? sample.verdict : sample.ours;
    CHECK(read.has_value() == verdict.starts_with("accepted"));
    if (!read && verdict.starts_with("refused "))
      CHECK(read.error().what.find(verdict.substr(8)) == 0);
    if (read && sample.ours.empty()) CHECK("accepted " + shown(**read) == verdict);
  }
}

TEST_CASE("policy: an error says where, and what may have been meant") {
  CHECK(error_of("namespace \"a\" {\n  capabilities = [\"read-job\", \"sbmit-job\"]\n}")
        == "Invalid namespace capability 'sbmit-job' in namespace \"a\" (line 2, column 31). Did you "
           "mean \"submit-job\"?");
  CHECK(error_of("agent { policy = \"raxd\" }")
        == "Invalid agent policy: \"raxd\" (line 1, column 18): it must be one of deny, read, write, "
           "scale");
  CHECK(error_of("agent { policy = \"raed\" }")  // a swap is one slip
        == "Invalid agent policy: \"raed\" (line 1, column 18). Did you mean \"read\"?");
  CHECK(error_of("node_pool \"p\" { policy = \"wrte\" }")
        == "Invalid node pool policy 'wrte' for 'p' (line 1, column 26). Did you mean \"write\"?");
  CHECK(error_of("\nnamesapce \"a\" { policy = \"read\" }")
        == "Invalid policy: \nnamesapce \"a\" { policy = \"read\" } (line 2, column 1). Did you mean "
           "\"namespace\"?");
  CHECK(error_of("agent {\n  policy = read\n}")
        == "Failed to parse ACL Policy: At 2:12: expected a value");
  CHECK(error_of("{\"agent\": {\"policy\": \"read\"}, }")
            .starts_with("Failed to parse ACL Policy: At 1:29: Trailing comma in object"));
  CHECK(error_of("namespace \"a\" { variables { path \"x\" { capabilities = [\"raxd\"] } } }")
        == "Invalid variable capability 'raxd' in namespace a (line 1, column 56): it must be one of "
           "deny, list, read, write, destroy");
}

TEST_CASE("policy: repeated blocks are united as those of two policies are") {
  const auto level_of_node = [](std::string_view text) {
    const auto json = shown(*policy_of(text));
    const auto at = json.find(R"("Node":{"Policy":")") + 18;
    return json.substr(at, json.find('"', at) - at);
  };
  for (const auto* text : {"node { policy = \"deny\" }\nnode { policy = \"write\" }",
                           "node { policy = \"write\" }\nnode { policy = \"deny\" }",
                           R"({"node": [{"policy": "deny"}, {"policy": "write"}]})",
                           R"({"node": {"policy": "deny"}, "node": {"policy": "write"}})"}) {
    CAPTURE(text);
    CHECK(level_of_node(text) == "deny");
  }
  CHECK(level_of_node("node { policy = \"write\" } node { policy = \"read\" } node {}") == "write");
  CHECK(level_of_node("node { policy = \"scale\" } node { policy = \"read\" }") == "read");
  CHECK(error_of("node { policy = \"raxd\" } node { policy = \"read\" }")
        == "Invalid node policy: \"raxd\" (line 1, column 17): it must be one of deny, read, write, "
           "scale");
}

TEST_CASE("policy: a setting that is there twice in one block is an error, and denies if stored") {
  const auto twice = "Failed to parse ACL Policy: policy is set twice (line ";
  CHECK(error_of("node {\n  policy = \"deny\"\n  policy = \"write\"\n}")
        == twice + std::string{"3, column 3)"});
  CHECK(error_of("namespace \"a\" { policy = \"write\" POLICY = \"deny\" }")
        == twice + std::string{"1, column 34)"});
  CHECK(error_of(R"({"node_pool": {"a": {"policy": "deny", "policy": "write"}}})")
        == twice + std::string{"1, column 40)"});
  CHECK(error_of("host_volume \"a\" { capabilities = [\"deny\"] capabilities = [] }")
        == "Failed to parse ACL Policy: capabilities is set twice (line 1, column 43)");
  for (const auto* words :
       {R"(policy = "deny" policy = "write")", R"(policy = "write" policy = "deny")"}) {
    CAPTURE(words);
    CHECK(
        shown(*policy_of("node { " + std::string{words} + " }")).find(R"("Node":{"Policy":"deny"})")
        != std::string::npos);
    CHECK(shown(*policy_of("namespace \"a\" { " + std::string{words} + " }")).find(R"(["deny"])")
          != std::string::npos);
  }
}

TEST_CASE("policy: a name that is a known one misspelt is an error when it is written") {
  const auto unknown
      = [](std::string_view name, std::string_view position, std::string_view meant) {
          return "Failed to parse ACL Policy: \"" + std::string{name} + "\" is not known ("
                 + std::string{position} + "). Did you mean \"" + std::string{meant} + "\"?";
        };
  const std::vector<std::pair<std::string, std::string>> misspelt{
      {"namespace \"a\" {\n  policy = \"write\"\n  capabilites = [\"deny\"]\n}",
       unknown("capabilites", "line 3, column 3", "capabilities")},
      {"namespace \"a\" { policy = \"write\" variable { path \"x\" { capabilities = [\"deny\"] } } "
       "}",
       unknown("variable", "line 1, column 34", "variables")},
      {"namespace \"a\" { variables { path \"b\" {} pth \"x\" { capabilities = [\"deny\"] } } }",
       unknown("pth", "line 1, column 41", "path")},
      {"namespace \"a\" { variables { path \"b\" { capabilitis = [\"deny\"] } } }",
       unknown("capabilitis", "line 1, column 40", "capabilities")},
      {"node_pool \"a\" { policy = \"read\" Polcy = \"deny\" }",
       unknown("Polcy", "line 1, column 33", "policy")},
      {"host_volume \"a\" { polcy = \"deny\" }", unknown("polcy", "line 1, column 19", "policy")},
      {"agent { policy = \"read\" }\nnode { polcy = \"deny\" policy = \"read\" }",
       unknown("polcy", "line 2, column 8", "policy")},
      {"namespace \"*\" { policy = \"write\" }\nnamespce \"prod\" { policy = \"deny\" }",
       unknown("namespce", "line 2, column 1", "namespace")},
      {R"({"namespace": {"*": {"policy": "write"}}, "namespce": {"prod": {"policy": "deny"}}})",
       unknown("namespce", "line 1, column 43", "namespace")}};
  for (const auto& one : misspelt) {
    const auto& text = one.first;
    CAPTURE(text);
    CHECK(error_of(text) == one.second);
    CHECK(read_policy(text).has_value());
  }
  CHECK(
      error_of("agent { policy = \"read\" reason = \"x\" }\nsentinel { policy = \"read\" }\nx = 1")
      == "accepted");
}

TEST_CASE("policy: what an older release took is read when it is stored") {
  for (const auto& sample : samples()) {
    if (!read_policy(sample.text, PolicyText::written)) continue;
    CAPTURE(sample.text);
    const auto stored = read_policy(sample.text);
    REQUIRE(stored.has_value());
    CHECK(shown(**stored) == shown(*read_policy(sample.text, PolicyText::written).value()));
  }
  CHECK(read_policy("agent { policy = \"raxd\" } agent { policy = \"read\" }").has_value());
  CHECK(read_policy("agent { policy = [\"raxd\"] policy = \"read\" }").has_value());
  CHECK(read_policy("namespace \"a\" { capabilities = \"x\" capabilities = [] }").has_value());
  CHECK_FALSE(read_policy("agent { policy = \"raxd\" }").has_value());
  CHECK_FALSE(read_policy("agent { policy = \"read\" policy = [\"raxd\"] }").has_value());
}

TEST_CASE("policy: blocks have names, and names that look like values have quotes") {
  CHECK(error_of("namespace { policy = \"read\" }")
        == "Invalid namespace name '': the block has none (line 1, column 1)");
  CHECK(error_of("agent { policy = \"read\" }\nnode_pool = \"gpu\"")
        == "Failed to parse ACL Policy: node_pool must be a block with a name (line 2, column 1)");
  for (const auto* name : {"5", "true", "false"}) {
    CAPTURE(name);
    CHECK(error_of("namespace " + std::string{name} + " { policy = \"read\" }")
          == "Failed to parse ACL Policy: At 1:11: a name that is a number or a truth value needs "
             "quotes");
    CHECK(error_of("namespace \"" + std::string{name} + "\" { policy = \"read\" }") == "accepted");
  }
  CHECK(error_of("[]").starts_with("Failed to parse ACL Policy: At 1:1: "));
  CHECK(error_of("{} []").starts_with("Failed to parse ACL Policy: At 1:"));
}

TEST_CASE("policy: text, rules and depth are bounded") {
  const auto repeated = [](std::string_view piece, std::size_t count) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i)
      out += piece;
    return out;
  };
  CHECK(error_of(repeated("# comment\n", 110'000))
        == "Invalid policy: its rules have 1100000 bytes, and more than 524288 are not allowed");
  CHECK(read_policy(repeated("namespace \"a\" {}\n", max_policy_rules)).has_value());
  CHECK(error_of(repeated("namespace \"a\" {}\n", max_policy_rules + 1))
        == "Invalid policy: it has more than 10000 rules");
  const auto paths = repeated("path \"a\" {}\n", max_policy_rules);
  CHECK(error_of("namespace \"a\" { variables {" + paths + "} }")
        == "Invalid policy: it has more than 10000 rules");
  const auto deep = repeated("{\"a\":", 40) + "1" + repeated("}", 40);
  CHECK(error_of(deep).find("values are nested too deeply") != std::string::npos);
  const auto blocks = repeated("a {", 40) + repeated("}", 40);
  CHECK(error_of(blocks).find("values are nested too deeply") != std::string::npos);
  const auto mistakes = "{\"a\": [" + repeated("x,", 100'000) + "1]}";
  CHECK(error_of(mistakes).starts_with("Failed to parse ACL Policy: At 1:8: Invalid JSON keyword"));
  CHECK(error_of("namespace \"" + std::string(200'000, 'a') + "\" {}").size() < 5'000);
}

TEST_CASE("policy: bytes that are no text are refused") {
  CHECK(error_of(std::string_view{"agent { policy = \"read\" }\0", 26})
        == "Failed to parse ACL Policy: At 1:1: expected UTF-8");
  CHECK(error_of("agent { policy = \"\xff\" }").starts_with("Failed to parse ACL Policy: At 1:1"));
}

TEST_CASE("policy: the text is kept as it was") {
  const auto policy = policy_of("agent { policy = \"read\" } # <b>");
  CHECK(rules_text(*policy) == "agent { policy = \"read\" } # <b>");
  CHECK(rules_json(*policy).ends_with(R"(,"Raw":"agent { policy = \"read\" } # \u003cb\u003e"})"));
}
