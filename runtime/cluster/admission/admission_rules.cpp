#include "runtime/cluster/admission/admission_rules.hpp"

#include <algorithm>
#include <array>
#include <optional>
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
  return {Errc::invalid_argument, fmt::format("At {}: {}", access::position_of(text, at), what)};
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

Result<> check_settings(std::string_view text,
                        const std::vector<RuleItem>& items,
                        const std::vector<std::string_view>& known,
                        std::string_view of) {
  for (const auto& item : items) {
    const auto& name = item.names.front();
    if (std::ranges::find(known, name.text) == known.end())
      return misread(text, name.at,
                     fmt::format("{} is no setting of {}", quote(shorten(name.text)), of));
  }
  return {};
}

bool is_rule(const RuleItem& item) {
  return item.names.front().text == "rule";
}

}  // namespace

Result<AdmissionRulesRef> AdmissionRules::read(std::string source) {
  if (source.size() > max_admission_bytes)
    return Error{Errc::invalid_argument,
                 fmt::format("the policy has more than {} bytes", max_admission_bytes)};
  const auto parsed = NOMAD_TRY(access::read_items(source));
  auto out = std::shared_ptr<AdmissionRules>(new AdmissionRules{std::move(source)});
  NOMAD_TRY(out->add_all(parsed.items));
  if (out->rules_.empty()) return Error{Errc::invalid_argument, "the policy has no rule"};
  return AdmissionRulesRef{std::move(out)};
}

Result<> AdmissionRules::add_all(const std::vector<RuleItem>& items) {
  for (const auto& item : items) {
    const auto& word = item.names.front();
    if (word.text == "policy" && items.size() == 1) return add_block_of_policy(item);
    if (word.text == "policy")
      return misread(text_, word.at, "a policy is one block, and nothing is beside it");
    if (!is_rule(item))
      return misread(text_, word.at,
                     fmt::format("{} is not known here: a policy has rules, as "
                                 "rule \"name\" {{ condition = \"…\", message = \"…\" }}",
                                 quote(shorten(word.text))));
    NOMAD_TRY(add_block(item));
  }
  return {};
}

/// `policy "name" { scope = …, enforcement = … }`, with blocks of rules, or with one `rule = "…"`.
Result<> AdmissionRules::add_block_of_policy(const RuleItem& item) {
  const auto at = item.names.front().at;
  if (item.names.size() != 2 || item.value.kind != RuleValue::Kind::object)
    return misread(text_, at, "a policy is a block with a name");
  const auto& inner = item.value.items;
  NOMAD_TRY(check_settings(text_, inner, {"scope", "enforcement", "rule", "message"},
                           "a policy: it has scope, enforcement and rules"));
  AdmissionHead head{.name = std::string{item.names[1].text}, .scope = {}, .level = {}};
  head.scope = NOMAD_TRY(setting_of(text_, inner, "scope")).value_or("submit-job");
  head.level = NOMAD_TRY(setting_of(text_, inner, "enforcement")).value_or("");
  head_ = std::move(head);
  const bool is_one_rule = std::ranges::any_of(
      inner, [](const RuleItem& each) { return is_rule(each) && each.names.size() == 1; });
  const auto message = NOMAD_TRY(setting_of(text_, inner, "message"));
  if (is_one_rule)
    return add(at, head_->name, NOMAD_TRY(setting_of(text_, inner, "rule")), message);
  if (message) return misread(text_, at, "a message is of a rule");
  for (const auto& each : inner)
    if (is_rule(each)) NOMAD_TRY(add_block(each));
  return {};
}

Result<> AdmissionRules::add_block(const RuleItem& item) {
  const std::string_view text = text_;
  const auto at = item.names.front().at;
  if (item.names.size() != 2 || item.value.kind != RuleValue::Kind::object)
    return misread(text, at, "a rule is a block with a name");
  const auto& name = item.names[1];
  if (name.text.empty() || name.text.size() > 128 || escape_controls(name.text) != name.text)
    return misread(text, name.at, "a rule's name has 1 to 128 bytes that can be shown");
  if (std::ranges::find(rules_, name.text, &Rule::name) != rules_.end())
    return misread(text, name.at, fmt::format("rule {} is there twice", quote(name.text)));
  if (rules_.size() == max_admission_rules)
    return misread(text, at, fmt::format("the policy has more than {} rules", max_admission_rules));
  const auto& settings = item.value.items;
  NOMAD_TRY(check_settings(text, settings, {"condition", "message"},
                           "a rule: it has condition and message"));
  return add(at, std::string{name.text}, NOMAD_TRY(setting_of(text, settings, "condition")),
             NOMAD_TRY(setting_of(text, settings, "message")));
}

Result<> AdmissionRules::add(std::uint32_t at,
                             std::string name,
                             const std::optional<std::string>& condition,
                             const std::optional<std::string>& message) {
  const std::string_view text = text_;
  if (!condition || trim(*condition).empty())
    return misread(text, at, fmt::format("rule {} has no condition", quote(name)));
  if (message && message->size() > longest_message)
    return misread(
        text, at,
        fmt::format("the message of rule {} has more than {} bytes", quote(name), longest_message));
  const auto within
      = fmt::format("At {}: the condition of rule {}", access::position_of(text, at), quote(name));
  auto filter = query::Filter::compile(trim(*condition));
  if (!filter) return filter.error().within(within);
  if (const auto compiled = filter->check_patterns(); !compiled)
    return compiled.error().within(within);
  if (const auto known = check_condition(trim(*condition)); !known)
    return known.error().within(within);
  rules_.push_back({std::move(name), message.value_or(""), std::move(*filter)});
  return {};
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
