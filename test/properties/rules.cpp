#include "test/properties/rules.hpp"

#include <array>
#include <stdexcept>
#include <string>

#include "runtime/object/draft.hpp"

namespace nomad::properties {
namespace {

using Node = schema::Node::Reader;

bool is(Node node, std::string_view name, std::string_view value) {
  return fact(node, name) == value;
}

bool is_any(Node node, std::string_view name, std::initializer_list<std::string_view> values) {
  for (const auto value : values)
    if (is(node, name, value)) return true;
  return false;
}

bool never(Node) {
  return false;
}

constexpr const char* arch = "${attr.cpu.arch}";
constexpr const char* kernel = "${attr.kernel.version}";
constexpr const char* rank = "${attr.rank}";
constexpr const char* tags = "${attr.tags}";

// Kernels are 5.4.0, 5.10.3, 6.1.0-rc1 or not known; ranks 3, 10, 12; tags "a,b", "b,c", "a".
const std::array<Rule, 23> all{{
    {arch, "=", "amd64", [](Node n) { return is(n, "attr.cpu.arch", "amd64"); }},
    {arch, "!=", "arm64", [](Node n) { return !is(n, "attr.cpu.arch", "arm64"); }},
    {arch, "=", "${meta.arch}",
     [](Node n) {
       const auto wanted = fact(n, "meta.arch");
       return wanted && is(n, "attr.cpu.arch", *wanted);
     }},
    {kernel, "version", ">= 5.10", [](Node n) { return is(n, "attr.kernel.version", "5.10.3"); }},
    {kernel, "version", "~> 5.4, < 5.9",
     [](Node n) { return is(n, "attr.kernel.version", "5.4.0"); }},
    {kernel, "semver", ">= 5.10.0",
     [](Node n) {
       return is_any(n, "attr.kernel.version", {"5.10.3", "6.1.0-rc1"});
     }},
    {kernel, "version", "no version", never},
    {kernel, "semver", "5", never},
    {rank, "<", "11",
     [](Node n) {
       return is_any(n, "attr.rank", {"3", "10"});
     }},
    {rank, ">=", "10",
     [](Node n) {
       return is_any(n, "attr.rank", {"10", "12"});
     }},
    {rank, "<=", "10.5",
     [](Node n) {
       return is_any(n, "attr.rank", {"3", "10"});
     }},
    {rank, "regexp", "^1[0-9]$",
     [](Node n) {
       return is_any(n, "attr.rank", {"10", "12"});
     }},
    {rank, "regexp", "(", never},
    {tags, "set_contains", "b",
     [](Node n) {
       return is_any(n, "attr.tags", {"a,b", "b,c"});
     }},
    {tags, "set_contains_any", "c, x", [](Node n) { return is(n, "attr.tags", "b,c"); }},
    {tags, "set_contains_all", "b, a", [](Node n) { return is(n, "attr.tags", "a,b"); }},
    {"${meta.zone}", "is_set", "", [](Node n) { return fact(n, "meta.zone").has_value(); }},
    {"${meta.zone}", "!=", "z1", [](Node n) { return !is(n, "meta.zone", "z1"); }},
    {"${attr.flag}", "is_not_set", "", [](Node n) { return !fact(n, "attr.flag"); }},
    {"${meta.rack}", ">", "r1",
     [](Node n) {
       return is_any(n, "meta.rack", {"r2", "r3"});
     }},
    {"${node.datacenter}", "=", "dc1", [](Node n) { return view(n.getDatacenter()) == "dc1"; }},
    {"${node.class}", "=", "big", [](Node n) { return view(n.getNodeClass()) == "big"; }},
    {"${attr.unique.hostname}", "!=", "host-0",
     [](Node n) { return !is(n, "attr.unique.hostname", "host-0"); }},
}};

}  // namespace

std::span<const Rule> rules() {
  return all;
}

bool holds(std::string_view left,
           std::string_view operand,
           std::string_view right,
           schema::Node::Reader node) {
  for (const auto& rule : all)
    if (left == rule.left && operand == rule.operand && right == rule.right)
      return rule.holds(node);
  throw std::logic_error{"a constraint without a rule: " + std::string{left}};
}

std::optional<std::string_view> fact(schema::Node::Reader node, std::string_view name) {
  const bool is_meta = name.starts_with("meta.");
  const auto entries = is_meta ? node.getMeta() : node.getAttributes();
  name.remove_prefix(5);
  for (const auto entry : entries)
    if (view(entry.getKey()) == name) return view(entry.getValue());
  return std::nullopt;
}

}  // namespace nomad::properties
