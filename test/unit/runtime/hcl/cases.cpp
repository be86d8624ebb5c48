#include "test/unit/runtime/hcl/cases.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "runtime/base/text.hpp"
#include "runtime/hcl/functions/functions.hpp"
#include "runtime/hcl/syntax/parser.hpp"

namespace nomad::hcl {

namespace {

std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    out += c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : c;
  }
  return out;
}

Value text(const char* value) {
  return Value::string(value);
}

Value number(int value) {
  return Value::number(value);
}

}  // namespace

std::string load_data(std::string_view name) {
  std::ifstream file{std::string{HCL_TEST_DATA} + "/" + std::string{name}, std::ios::binary};
  REQUIRE_MESSAGE(file.good(), name);
  std::stringstream out;
  out << file.rdbuf();
  return out.str();
}

std::vector<Case> load_cases(std::string_view name) {
  std::vector<Case> out;
  std::istringstream lines{load_data(name)};
  std::string line;
  while (std::getline(lines, line)) {
    if (line.starts_with("> ") || line == ">") {
      // The blank line before an input separates the cases.
      if (!out.empty() && out.back().expected.ends_with('\n')) out.back().expected.pop_back();
      out.push_back({unescape(line.size() > 2 ? std::string_view{line}.substr(2) : ""), "", line});
    } else if (!out.empty()) {
      out.back().expected += line + "\n";
    }
  }
  REQUIRE(!out.empty());
  return out;
}

void check_cases(std::string_view name,
                 const std::function<std::string(const std::string&)>& shown) {
  const auto before = load_data(name);
  std::string now = before.substr(0, before.find("\n> ") + 1);  // what the table says of itself
  for (const Case& c : load_cases(name)) {
    CAPTURE(c.input);
    const auto given = shown(c.input);
    CHECK(given == c.expected);
    now += (now.ends_with("\n\n") ? "" : "\n") + c.line + '\n' + given;
  }
  if (std::getenv("NOMAD_REWRITE_TRANSCRIPTS") != nullptr)
    std::ofstream{std::string{HCL_TEST_DATA} + "/" + std::string{name}} << now;
}

std::string show(const Value& value) {
  if (value.is_unknown()) return "unknown(" + value.type().to_expression() + ")";
  if (value.is_null()) return "null(" + value.type().to_expression() + ")";
  if (value.is_string()) return quote(value.as_string());
  if (value.is_number()) return value.as_number().to_string();
  if (value.is_bool()) return value.as_bool() ? "true" : "false";
  std::string out;
  const auto add = [&out](const std::string& item) { out += (out.empty() ? "" : ", ") + item; };
  if (value.is_sequence()) {
    for (const Value& element : value.elements())
      add(show(element));
    out = "[" + out + "]";
  } else {
    for (const auto& [key, element] : value.entries())
      add(quote(key) + "=" + show(element));
    out = "{" + out + "}";
  }
  const bool structural = value.kind() == Type::Kind::tuple || value.kind() == Type::Kind::object;
  return structural ? out : value.type().to_expression() + out;
}

Scope::Scope()
    : functions{
        job_functions({nullptr, [](std::array<std::uint8_t, 16>& bytes) { bytes.fill(7); }})} {
  const Type strings = Type::string();
  const Type with_id = Type::object({{"id", Type::number()}});
  variables.emplace_back(
      "var",
      Value::object(
          {{"s", text("str")},
           {"n", number(7)},
           {"b", Value::boolean(true)},
           {"l", Value::list(strings, {text("x"), text("y")})},
           {"st", Value::set(strings, {text("q"), text("p")})},
           {"m", Value::map(strings, {{"k1", text("v1")}, {"k2", text("v2")}})},
           {"o", Value::object({{"a", number(1)},
                                {"b", text("two")},
                                {"c", Value::tuple({Value::boolean(true), Value::null()})}})},
           {"lo", Value::list(with_id, {Value::object({{"id", number(1)}}),
                                        Value::object({{"id", number(2)}})})},
           {"nul", Value::null(strings)},
           {"el", Value::list(Type::number(), {})}}));
  context.variables = &variables;
  context.functions = &functions;
}

std::string show_evaluated(const std::string& expression, const EvalContext* context) {
  std::string out;
  const auto complain = [&out](const Diagnostics& diagnostics) {
    for (const Diagnostic& diagnostic : diagnostics)
      out += "! " + diagnostic.to_string() + "\n";
  };
  const Parsed parsed = parse_expression("f.hcl", expression);
  complain(parsed.diagnostics);
  if (!parsed.ok()) return out;
  const Evaluated evaluated = evaluate(*parsed.file->expression(), context);
  out += "= " + show(evaluated.value) + "\n";
  complain(evaluated.diagnostics);
  return out;
}

}  // namespace nomad::hcl
