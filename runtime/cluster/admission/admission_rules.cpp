#include "runtime/cluster/admission/admission_rules.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "runtime/access/policy/rule_items.hpp"
#include "runtime/base/text.hpp"
#include "runtime/cluster/admission/condition_check.hpp"

namespace nomad::cluster {
namespace {

using access::RuleItem;
using access::RuleValue;

constexpr std::size_t longest_message = 1'024;

Error misread(std::string_view text, std::uint32_t at, std::string_view what) {
  return {Errc::invalid_argument, fmt::format("At {}: {}", access::place_of(text, at), what)};
}

/// A setting of a rule, which must be a text and there once.
Result<std::optional<std::string>> setting_of(std::string_view text,
                                              const std::vector<RuleItem>& items,
                                              std::string_view name) {
  std::optional<std::string> found;
  for (const auto& item : items) {
    if (item.names.front().text != name) continue;
    const auto at = item.names.front().at;
    if (item.names.size() != 1 || item.value.kind != RuleValue::Kind::text)
      return misread(text, at, fmt::format("{} must be a text", name));
    if (found) return misread(text, at, fmt::format("{} is there twice", name));
    found = item.value.text;
  }
  return found;
}

Result<> check_settings(std::string_view text, const std::vector<RuleItem>& items) {
  for (const auto& item : items) {
    const auto& name = item.names.front();
    if (name.text != "condition" && name.text != "message")
      return misread(text, name.at,
                     fmt::format("{} is no setting of a rule: it has condition and message",
                                 quote(shorten(name.text))));
  }
  return {};
}

}  // namespace

Result<AdmissionRulesRef> AdmissionRules::read(std::string source) {
  if (source.size() > max_admission_bytes)
    return Error{Errc::invalid_argument,
                 fmt::format("the policy has more than {} bytes", max_admission_bytes)};
  const auto parsed = NOMAD_TRY(access::read_items(source));
  auto out = std::shared_ptr<AdmissionRules>(new AdmissionRules{std::move(source)});
  const std::string_view text = out->text_;
  std::set<std::string, std::less<>> names;
  for (const auto& item : parsed.items) {
    const auto& word = item.names.front();
    if (word.text != "rule")
      return misread(text, word.at,
                     fmt::format("{} is not known here: a policy has rules, as "
                                 "rule \"name\" {{ condition = \"…\", message = \"…\" }}",
                                 quote(shorten(word.text))));
    if (item.names.size() != 2 || item.value.kind != RuleValue::Kind::object)
      return misread(text, word.at, "a rule is a block with a name");
    const auto name = std::string{item.names[1].text};
    if (name.empty() || name.size() > 128 || escape_controls(name) != name)
      return misread(text, item.names[1].at, "a rule's name has 1 to 128 bytes that can be shown");
    if (!names.insert(name).second)
      return misread(text, item.names[1].at, fmt::format("rule {} is there twice", quote(name)));
    if (names.size() > max_admission_rules)
      return misread(text, word.at,
                     fmt::format("the policy has more than {} rules", max_admission_rules));
    NOMAD_TRY(check_settings(text, item.value.items));
    const auto condition = NOMAD_TRY(setting_of(text, item.value.items, "condition"));
    const auto message = NOMAD_TRY(setting_of(text, item.value.items, "message"));
    if (!condition || trim(*condition).empty())
      return misread(text, word.at, fmt::format("rule {} has no condition", quote(name)));
    if (message && message->size() > longest_message)
      return misread(text, word.at,
                     fmt::format("the message of rule {} has more than {} bytes", quote(name),
                                 longest_message));
    const auto within = fmt::format("At {}: the condition of rule {}",
                                    access::place_of(text, word.at), quote(name));
    auto filter = query::Filter::compile(trim(*condition));
    if (!filter) return filter.error().within(within);
    if (const auto compiled = filter->check_patterns(); !compiled)
      return compiled.error().within(within);
    if (const auto known = check_condition(trim(*condition)); !known)
      return known.error().within(within);
    out->rules_.push_back({name, message.value_or(""), std::move(*filter)});
  }
  if (out->rules_.empty()) return Error{Errc::invalid_argument, "the policy has no rule"};
  return AdmissionRulesRef{std::move(out)};
}

std::vector<std::string> AdmissionRules::broken_by(const Submission& submitted, Work& work) const {
  std::vector<std::string> broken;
  const std::array<query::Filter::Extra, 2> extras{{
      {.name = "job", .object = submitted.job},
      {.name = "namespace", .object = submitted.ns},
  }};
  for (const auto& rule : rules_) {
    const auto holds = rule.condition.matches(submitted.request, extras, work);
    if (holds && *holds) continue;
    const auto& why = holds ? rule.message : "it cannot be evaluated: " + holds.error().what;
    broken.push_back(fmt::format("rule {}{}{}", quote(rule.name), why.empty() ? "" : ": ", why));
  }
  return broken;
}

}  // namespace nomad::cluster
