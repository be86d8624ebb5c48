#include "runtime/access/policy/rules_reader.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "runtime/access/policy/policy_rights.hpp"
#include "runtime/access/policy/rule_items.hpp"
#include "runtime/base/similar_name.hpp"
#include "runtime/base/text.hpp"

namespace nomad::access {
namespace {

using Kind = RuleValue::Kind;

/// What is left of an item when the name that was asked for is taken off.
struct Match {
  std::span<const RuleName> names;
  const RuleValue* value;
  std::uint32_t at;  ///< Of the whole item.
};

bool is_same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return to_lower(x) == to_lower(y); });
}

/// The items of one object, by their first names.
class Members {
public:
  Members() = default;

  explicit Members(std::span<const RuleItem> items) {
    for (const auto& item : items)
      all_.push_back({item.names, &item.value, item.names.front().at});
  }

  explicit Members(std::vector<Match> all) : all_{std::move(all)} {}

  const std::vector<Match>& all() const { return all_; }

  /// Those with that name; with more names behind it first.
  std::vector<Match> find(std::string_view name) const {
    std::vector<Match> out;
    for (const auto& [names, value, at] : all_)
      if (!names.empty() && is_same_word(names.front().text, name))
        out.push_back({names.subspan(1), value, at});
    std::stable_partition(out.begin(), out.end(),
                          [](const Match& match) { return !match.names.empty(); });
    return out;
  }

private:
  std::vector<Match> all_;
};

struct Block {
  RuleScope scope;
  std::string_view keyword;
  std::string_view noun;  ///< In messages.
  std::vector<BlockRule> Rules::*rules;
};

constexpr std::array<Block, 3> blocks{{
    {RuleScope::namespaces, "namespace", "namespace", &Rules::namespaces},
    {RuleScope::node_pools, "node_pool", "node pool", &Rules::node_pools},
    {RuleScope::host_volumes, "host_volume", "host volume", &Rules::host_volumes},
}};

struct Level {
  std::string_view keyword;
  std::optional<LevelRule> Rules::*rule;
};

constexpr std::array<Level, 5> levels{{
    {"agent", &Rules::agent},
    {"node", &Rules::node},
    {"operator", &Rules::cluster},
    {"quota", &Rules::quota},
    {"plugin", &Rules::plugin},
}};

const std::vector<std::string_view> usual_levels{"deny", "read", "write", "scale"};
const std::vector<std::string_view> plugin_levels{"deny", "read", "list"};

/// What may stand in each kind of object.
const std::vector<std::string_view> rule_names{"namespace", "node_pool", "host_volume", "agent",
                                               "node",      "operator",  "quota",       "plugin"};
const std::vector<std::string_view> namespace_names{"policy", "capabilities", "variables"};
const std::vector<std::string_view> block_names{"policy", "capabilities"};
const std::vector<std::string_view> level_names{"policy"};
const std::vector<std::string_view> variables_names{"path"};
const std::vector<std::string_view> path_names{"capabilities"};

bool is_one_of(const std::vector<std::string_view>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

class RulesReader {
public:
  RulesReader(std::string_view text, std::size_t most, PolicyText kind)
      : text_{text}, most_{most}, is_strict_{kind == PolicyText::written} {
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] == '\n') breaks_.push_back(static_cast<std::uint32_t>(i));
  }

  Result<Rules> read(std::span<const RuleItem> items) {
    Rules rules;
    const Members members{items};
    bool is_empty = true;
    for (const auto& block : blocks) {
      NOMAD_TRY(read_blocks(block, members, rules.*block.rules));
      is_empty = is_empty && (rules.*block.rules).empty();
    }
    for (const auto& level : levels) {
      NOMAD_TRY(read_level(level, members, rules.*level.rule));
      is_empty = is_empty && !(rules.*level.rule);
    }
    if (is_empty) return nothing_said(items);
    NOMAD_TRY(check_names(members, rule_names));
    return rules;
  }

private:
  // -- messages

  std::uint32_t line_of(std::uint32_t at) const {
    return static_cast<std::uint32_t>(std::ranges::lower_bound(breaks_, at) - breaks_.begin() + 1);
  }

  Error wrong(std::string_view what,
              std::uint32_t at,
              std::string_view given = {},
              const std::vector<std::string_view>& known = {}) const {
    const auto line = line_of(at);
    const auto column = at - (line == 1 ? 0 : breaks_[line - 2] + 1) + 1;
    auto text = shorten(what) + " (line " + std::to_string(line) + ", column "
                + std::to_string(column) + ")";
    if (!known.empty()) {
      const auto near = closest_word(given, known);
      text += near.empty() ? ": it must be one of " + join(known, ", ")
                           : ". Did you mean " + quote(near) + "?";
    }
    return {Errc::invalid_argument, text};
  }

  Error mistyped(std::string_view name, std::string_view wanted, std::uint32_t at) const {
    return wrong(
        "Failed to parse ACL Policy: " + std::string{name} + " must be " + std::string{wanted}, at);
  }

  Error nothing_said(std::span<const RuleItem> items) const {
    const std::string what = "Invalid policy: " + std::string{text_.substr(0, 1'000)};
    if (items.empty()) return {Errc::invalid_argument, what};
    const auto& first = items.front().names.front();
    return wrong(what, first.at, first.text, rule_names);
  }

  Result<> count() {
    if (++count_ <= most_) return {};
    return Error{Errc::invalid_argument,
                 "Invalid policy: it has more than " + std::to_string(most_) + " rules"};
  }

  // -- settings

  /// A name that nobody knows is passed over as Nomad does, for it may be of another release; but
  /// not one that is a known name misspelt: what it says would be missing, a denial perhaps.
  Result<> check_names(const Members& members, const std::vector<std::string_view>& known) const {
    if (!is_strict_) return {};
    for (const auto& match : members.all()) {
      if (match.names.empty()) continue;
      const auto& name = match.names.front();
      const auto word = to_lower(name.text);
      if (is_one_of(known, word) || closest_word(word, known).empty()) continue;
      return wrong("Failed to parse ACL Policy: " + quote(name.text) + " is not known", name.at,
                   word, known);
    }
    return {};
  }

  Result<> check_once(const std::vector<Match>& found, std::string_view name) const {
    if (!is_strict_ || found.size() < 2) return {};
    return wrong("Failed to parse ACL Policy: " + std::string{name} + " is set twice", found[1].at);
  }

  /// Whether it is passed over because a later one has replaced it in a stored text.
  bool is_replaced(const std::vector<Match>& found, const Match& match) const {
    return !is_strict_ && &match != &found.back();
  }

  /// Of a stored text that has the setting several times the last one counts, but for a denial.
  Result<> read_text(const Members& members,
                     std::string_view name,
                     std::string& out,
                     std::uint32_t& at) {
    const auto found = members.find(name);
    for (const auto& match : found) {
      if (!match.names.empty() || match.value->kind != Kind::text) {
        if (is_replaced(found, match)) continue;
        return mistyped(name, "a text", match.at);
      }
      if (out == "deny") continue;
      out = match.value->text;
      at = match.value->at;
    }
    return check_once(found, name);
  }

  struct Word {
    std::string_view text;
    std::uint32_t at;
  };

  Result<std::vector<Word>> read_words(const Members& members, bool& is_there) {
    std::vector<Word> out;
    const auto found = members.find("capabilities");
    NOMAD_TRY(check_once(found, "capabilities"));
    for (const auto& match : found) {
      const auto& [names, value, at] = match;
      const bool is_list = value->kind == Kind::list;
      const bool is_empty = value->kind == Kind::object && value->items.empty();
      if (!names.empty() || !(is_list || is_empty)) {
        if (is_replaced(found, match)) continue;
        return mistyped("capabilities", "a list of texts", at);
      }
      is_there = true;
      for (const auto& element : value->elements) {
        if (element.kind != Kind::text)
          return mistyped("capabilities", "a list of texts", element.at);
        out.push_back({element.text, element.at});
      }
    }
    return out;
  }

  /// Reads `capabilities` into a rule. `what` and `of` go around the word in the message.
  template <class Rule>
  Result<> read_capabilities(const Members& members,
                             RuleScope scope,
                             std::string_view noun,
                             std::string_view of,
                             Rule& rule) {
    for (const auto& [word, at] : NOMAD_TRY(read_words(members, rule.is_listed))) {
      const auto given = given_by(scope, word);
      if (!given) {
        std::vector<std::string_view> known{"deny"};
        for (const auto& each : words_of(scope))
          known.push_back(each.word);
        return wrong("Invalid " + std::string{noun} + " capability '" + std::string{word} + "'"
                         + std::string{of},
                     at, word, known);
      }
      rule.capabilities.emplace_back(word);
      rule.given |= *given;
    }
    rule.written = rule.capabilities.size();
    return {};
  }

  // -- blocks

  /// What is in a block with a label, which is `names[0]`. With two names the second one is that of
  /// the only thing in it; of more names those behind the first say nothing.
  Result<Members> inside(const Match& block, std::string_view keyword) const {
    if (block.names.size() == 2)
      return Members{std::vector{Match{block.names.subspan(1), block.value, block.names[1].at}}};
    if (block.value->kind != Kind::object) return mistyped(keyword, "a block", block.at);
    return Members{block.value->items};
  }

  Result<> read_blocks(const Block& block, const Members& members, std::vector<BlockRule>& out) {
    for (const auto& match : members.find(block.keyword)) {
      if (match.value->kind != Kind::object && match.names.empty())
        return mistyped(block.keyword, "a block with a name", match.at);
      const auto name = match.names.empty() ? std::string{} : std::string{match.names[0].text};
      if (!is_name(name, block.scope == RuleScope::node_pools))
        return wrong("Invalid " + std::string{block.noun} + " name '" + name + "'"
                         + (name.empty() ? ": the block has none" : ""),
                     match.names.empty() ? match.at : match.names[0].at);
      NOMAD_TRY(count());
      out.push_back(NOMAD_TRY(read_block(block, name, line_of(match.names[0].at),
                                         NOMAD_TRY(inside(match, block.keyword)))));
    }
    return {};
  }

  static bool is_name(std::string_view name, bool with_underscores) {
    return !name.empty() && name.size() <= 128 && std::ranges::all_of(name, [&](char c) {
      return is_alphanumeric(c) || c == '-' || c == '*' || (c == '_' && with_underscores);
    });
  }

  Result<BlockRule> read_block(const Block& block,
                               const std::string& name,
                               std::uint32_t line,
                               const Members& members) {
    BlockRule rule{.name = name, .line = line};
    std::uint32_t at = 0;
    const bool has_variables = block.scope == RuleScope::namespaces;
    NOMAD_TRY(check_names(members, has_variables ? namespace_names : block_names));
    NOMAD_TRY(read_text(members, "policy", rule.level, at));
    const auto noun = std::string{block.noun};
    const bool is_of_pool = block.scope == RuleScope::node_pools;
    const auto of = is_of_pool ? " for '" + name + "'" : " in " + noun + " " + quote(name);
    if (!rule.level.empty() && !is_one_of(usual_levels, rule.level))
      return wrong("Invalid " + noun + " policy"
                       + (is_of_pool ? " '" + rule.level + "'" : ": " + quote(rule.level)) + of,
                   at, rule.level, usual_levels);
    NOMAD_TRY(read_capabilities(members, block.scope, block.noun, of, rule));
    for (const auto word : words_of_level(block.scope, rule.level)) {
      rule.capabilities.emplace_back(word);
      rule.given |= *given_by(block.scope, word);
    }
    if (has_variables) NOMAD_TRY(read_variables(members, rule));
    return rule;
  }

  Result<> read_variables(const Members& members, BlockRule& rule) {
    std::uint32_t at = 0;
    for (const auto& match : members.find("variables")) {
      if (match.value->kind != Kind::object) return mistyped("variables", "a block", match.at);
      if (!rule.variables) {
        at = match.at;
        rule.variables.emplace();
      }
      const auto inner
          = match.names.empty() ? Members{match.value->items} : Members{std::vector{match}};
      NOMAD_TRY(check_names(inner, variables_names));
      NOMAD_TRY(read_paths(inner, rule.name, *rule.variables));
    }
    if (!rule.variables || !rule.variables->empty()) return {};
    return wrong("Invalid variable policy: no variable paths in namespace " + rule.name, at);
  }

  Result<> read_paths(const Members& members, const std::string& ns, std::vector<PathRule>& out) {
    for (const auto& match : members.find("path")) {
      if (match.names.empty() || match.names[0].text.empty())
        return wrong("Invalid missing variable path in namespace " + ns, match.at);
      NOMAD_TRY(count());
      PathRule rule{.path = std::string{match.names[0].text}, .line = line_of(match.names[0].at)};
      const auto inner = NOMAD_TRY(inside(match, "path"));
      NOMAD_TRY(check_names(inner, path_names));
      NOMAD_TRY(
          read_capabilities(inner, RuleScope::variables, "variable", " in namespace " + ns, rule));
      expand(rule);
      out.push_back(std::move(rule));
    }
    return {};
  }

  /// Who reads may list; and "deny" is all that is left besides it.
  static void expand(PathRule& rule) {
    constexpr auto list = bit(Capability::variables_list);
    if ((rule.given & deny_bit) != 0) {
      rule.capabilities = {"deny"};
      rule.written = 1;
    } else if ((rule.given & bit(Capability::variables_read)) != 0 && (rule.given & list) == 0) {
      rule.capabilities.emplace_back("list");
      rule.given |= list;
    }
  }

  Error wrong_level(const Level& level, std::string_view word, std::uint32_t at) const {
    return wrong("Invalid " + std::string{level.keyword} + " policy: " + quote(word), at, word,
                 levels_of(level));
  }

  static const std::vector<std::string_view>& levels_of(const Level& level) {
    return level.keyword == "plugin" ? plugin_levels : usual_levels;
  }

  /// Repeated blocks give together what they would give in two policies. One that says nothing
  /// gives nothing.
  Result<> read_level(const Level& level, const Members& members, std::optional<LevelRule>& out) {
    std::uint32_t at = 0;
    for (const auto& match : members.find(level.keyword)) {
      if (match.value->kind != Kind::object) return mistyped(level.keyword, "a block", match.at);
      if (!out) out = LevelRule{.line = line_of(match.at)};
      at = match.at;
      const auto inner
          = match.names.empty() ? Members{match.value->items} : Members{std::vector{match}};
      NOMAD_TRY(check_names(inner, level_names));
      LevelRule rule{.line = line_of(match.at)};
      NOMAD_TRY(read_text(inner, "policy", rule.level, at));
      const bool is_known = is_one_of(levels_of(level), rule.level);
      if (!is_known && !rule.level.empty() && is_strict_) return wrong_level(level, rule.level, at);
      if (!is_known) continue;
      if (out->level.empty() || level_of(rule.level) > level_of(out->level)) *out = std::move(rule);
    }
    if (!out || !out->level.empty()) return {};
    return wrong_level(level, "", at);
  }

  std::string_view text_;
  std::size_t most_;
  bool is_strict_;
  std::size_t count_ = 0;
  std::vector<std::uint32_t> breaks_;  ///< Where lines end.
};

}  // namespace

Result<Rules> read_rules(std::string_view text, std::size_t most, PolicyText kind) {
  if (text.empty()) return Rules{};
  auto items = read_items(text);
  if (!items)
    return Error{Errc::invalid_argument, "Failed to parse ACL Policy: " + items.error().what};
  return RulesReader{text, most, kind}.read(items->items);
}

}  // namespace nomad::access
