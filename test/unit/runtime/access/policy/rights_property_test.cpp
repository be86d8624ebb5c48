// Properties of what several policies give together, by a second reading of the rules: sets of
// policies as lists of plain rules, and every question answered by going through all of them.
#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/access/policy/rights_cache.hpp"
#include "runtime/base/random.hpp"
#include "test/unit/runtime/access/policy/policies.hpp"

using namespace nomad;
using namespace nomad::access;

namespace {

/// One rule of a policy with one name or pattern. Of variables `path` is set.
struct PlainRule {
  std::string ns;
  std::optional<std::string> path;
  std::vector<std::string> words;
};

using PlainPolicy = std::vector<PlainRule>;

struct Question {
  std::string ns;
  std::optional<std::string> path;
  std::string word;
};

bool fits_slowly(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() == '*')
    return fits_slowly(pattern.substr(1), name)
           || (!name.empty() && fits_slowly(pattern, name.substr(1)));
  return !name.empty() && name.front() == pattern.front()
         && fits_slowly(pattern.substr(1), name.substr(1));
}

/// What the rule is for, in the way of the question; nothing: it is for another kind. The block of
/// a rule for variables is one for its namespace, too, which gives nothing.
std::optional<std::string> key_of_rule(const PlainRule& rule, const Question& question) {
  if (!question.path) return rule.ns;
  if (!rule.path) return {};
  return rule.ns + '\0' + *rule.path;
}

bool has_word(const PlainRule& rule, const Question& question, std::string_view word) {
  const bool speaks = rule.path.has_value() == question.path.has_value();
  return speaks && std::ranges::find(rule.words, word) != rule.words.end();
}

std::string key_of_question(const Question& question) {
  return question.path ? question.ns + '\0' + *question.path : question.ns;
}

/// "Exact name first; otherwise the closest matching glob = least difference between name length
/// and glob length without `*`s; never unions of several matches."
std::optional<std::string> deciding_key(const std::vector<PlainPolicy>& policies,
                                        const Question& question) {
  const auto name = key_of_question(question);
  std::optional<std::tuple<std::size_t, std::string>> best;
  for (const auto& policy : policies)
    for (const auto& rule : policy) {
      const auto key = key_of_rule(rule, question);
      if (key == name) return name;
      if (!key || key->find('*') == std::string::npos || !fits_slowly(*key, name)) continue;
      const auto stars = static_cast<std::size_t>(std::ranges::count(*key, '*'));
      std::tuple<std::size_t, std::string> closeness{key->size() - stars, *key};
      if (!best || *best < closeness) best = std::move(closeness);
    }
  if (!best) return {};
  return std::get<1>(*best);
}

bool allowed_slowly(const std::vector<PlainPolicy>& policies, const Question& question) {
  const auto key = deciding_key(policies, question);
  if (!key) return false;
  bool is_given = false;
  for (const auto& policy : policies)
    for (const auto& rule : policy) {
      if (key_of_rule(rule, question) != key) continue;
      if (has_word(rule, question, "deny")) return false;
      is_given = is_given || has_word(rule, question, question.word)
                 || (question.path && question.word == "list" && has_word(rule, question, "read"));
    }
  return is_given;
}

std::string text_of_policy(const PlainPolicy& policy) {
  std::string out;
  for (const auto& rule : policy) {
    std::string words;
    for (const auto& word : rule.words)
      words += (words.empty() ? "\"" : ", \"") + word + "\"";
    out += "namespace \"" + rule.ns + "\" {";
    if (rule.path)
      out += " variables { path \"" + *rule.path + "\" { capabilities = [" + words + "] } }";
    else
      out += " capabilities = [" + words + "]";
    out += " }\n";
  }
  return out;
}

RightsRef compiled(RightsCache& cache, const std::vector<PlainPolicy>& policies) {
  std::vector<NamedPolicy> all;
  for (const auto& policy : policies) {
    auto read = cache.read_policy(text_of_policy(policy));
    REQUIRE(read.has_value());
    all.push_back({"p" + std::to_string(all.size()), 1, *read});
  }
  return cache.rights_of(std::move(all));
}

bool allowed_by(const Rights& rights, const Question& question) {
  const auto word = question.path ? "variables-" + question.word : question.word;
  Target target{.ns = question.ns};
  if (question.path) target.path = *question.path;
  return rights.allow(capability_of(word).value(), target);
}

/// Draws rules and questions over few names, so that they often meet.
class Source {
public:
  explicit Source(std::uint64_t seed) : random_{seed} {}

  Random& random() { return random_; }

  std::string pattern() {
    auto out = name();
    for (auto stars = random_.below(4); stars > 1; --stars)
      out.insert(random_.below(out.size() + 1), "*");
    return random_.chance(0.1) ? "*" : out;
  }

  std::string name() {
    std::string out;
    for (auto size = random_.below(4) + 1; size > 0; --size)
      out += "ab-"[random_.below(3)];
    return out;
  }

  PlainRule rule() {
    PlainRule out{pattern(), {}, {}};
    const bool is_of_variables = random_.chance(0.5);
    if (is_of_variables) out.path = pattern();
    for (auto count = random_.below(3); count > 0; --count)
      out.words.push_back(word(is_of_variables));
    if (random_.chance(0.1)) out.words.emplace_back("deny");
    return out;
  }

  PlainPolicy policy() {
    PlainPolicy out;
    // Never empty: a text with no rule but in a comment is none.
    for (auto count = random_.below(4) + 1; count > 0; --count)
      out.push_back(rule());
    return out;
  }

  std::vector<PlainPolicy> policies() {
    std::vector<PlainPolicy> out;
    for (auto count = random_.below(4) + 1; count > 0; --count)
      out.push_back(policy());
    return out;
  }

  Question question() {
    Question out{name(), {}, {}};
    const bool is_of_variables = random_.chance(0.5);
    if (is_of_variables) out.path = name();
    out.word = word(is_of_variables);
    return out;
  }

private:
  std::string word(bool is_of_variables) {
    static const std::vector<std::string> of_variables{"list", "read", "write", "destroy"};
    static const std::vector<std::string> of_jobs{"read-job", "submit-job", "alloc-exec"};
    const auto& words = is_of_variables ? of_variables : of_jobs;
    return words[random_.below(words.size())];
  }

  Random random_;
};

constexpr std::uint64_t property_seed = 20261129;

}  // namespace

TEST_CASE("rights: a look-up is what going through all rules says") {
  CAPTURE(property_seed);
  Source source{property_seed};
  RightsCache cache;
  std::size_t allowed = 0;
  for (int round = 0; round < 1'500; ++round) {
    const auto policies = source.policies();
    const auto rights = compiled(cache, policies);
    for (int i = 0; i < 30; ++i) {
      const auto question = source.question();
      const bool expected = allowed_slowly(policies, question);
      allowed += expected ? 1 : 0;
      CAPTURE(round);
      REQUIRE(allowed_by(*rights, question) == expected);
    }
  }
  CHECK(allowed > 2'000);
}

TEST_CASE("rights: policies may come in any order, twice, together or apart") {
  CAPTURE(property_seed);
  Source source{property_seed + 1};
  RightsCache cache;
  for (int round = 0; round < 600; ++round) {
    const auto policies = source.policies();
    const auto rights = compiled(cache, policies);
    auto reversed = policies;
    std::ranges::reverse(reversed);
    auto twice = policies;
    twice.insert(twice.end(), reversed.begin(), reversed.end());
    PlainPolicy together;
    std::vector<PlainPolicy> apart;
    for (const auto& policy : policies)
      for (const auto& rule : policy) {
        together.insert(together.begin(), rule);
        apart.push_back({rule});
      }
    const std::vector others{compiled(cache, reversed), compiled(cache, twice),
                             compiled(cache, {together}), compiled(cache, apart)};
    for (int i = 0; i < 20; ++i) {
      const auto question = source.question();
      for (const auto& other : others) {
        CAPTURE(round);
        REQUIRE(allowed_by(*other, question) == allowed_by(*rights, question));
      }
    }
  }
}

TEST_CASE("rights: blocks repeated in one text give what they give in policies of their own") {
  using enum Capability;
  CAPTURE(property_seed);
  Random random{property_seed + 5};
  const std::vector<std::string> starts{"agent",           "node",
                                        "operator",        "quota",
                                        "plugin",          "namespace \"a\"",
                                        "node_pool \"a\"", "host_volume \"a\""};
  const std::vector<std::string> levels{"deny", "read", "write", "scale"};
  const std::vector<std::string> of_plugins{"deny", "read", "list"};
  const std::vector asked{agent_read,
                          agent_write,
                          node_read,
                          node_write,
                          operator_read,
                          operator_write,
                          quota_read,
                          quota_write,
                          plugin_list,
                          plugin_read,
                          read_job,
                          submit_job,
                          node_pool_read,
                          node_pool_write,
                          host_volume_mount_readonly,
                          host_volume_mount_readwrite};
  const Target target{.ns = "a", .node_pool = "a", .host_volume = "a"};
  for (int round = 0; round < 1'000; ++round) {
    std::string forwards;
    std::string backwards;
    std::vector<std::string> apart;
    for (auto count = random.below(12) + 1; count > 0; --count) {
      const auto& start = starts[random.below(starts.size())];
      const auto& words = start == "plugin" ? of_plugins : levels;
      const auto& level = words[random.below(words.size())];
      const auto block = start + " { policy = \"" + level + "\" }\n";
      forwards += block;
      backwards.insert(0, block);
      apart.push_back(block);
    }
    const auto expected = rights_from(apart);
    for (const auto& text : {forwards, backwards, forwards + backwards})
      for (const auto capability : asked) {
        CAPTURE(text);
        CAPTURE(capability);
        REQUIRE(rights_from({text})->allow(capability, target)
                == expected->allow(capability, target));
      }
  }
}

TEST_CASE("rights: fewer rules give more only where the missing one denied or was the closest") {
  CAPTURE(property_seed);
  Source source{property_seed + 2};
  RightsCache cache;
  std::size_t gained = 0;
  for (int round = 0; round < 1'500; ++round) {
    const auto policies = source.policies();
    auto fewer = policies;
    auto& from = fewer[source.random().below(fewer.size())];
    const auto position = static_cast<std::ptrdiff_t>(source.random().below(from.size()));
    const auto missing = from[static_cast<std::size_t>(position)];
    from.erase(from.begin() + position);
    const auto before = compiled(cache, policies);
    const auto after = compiled(cache, fewer);
    for (int i = 0; i < 30; ++i) {
      const auto question = source.question();
      if (allowed_by(*before, question) == allowed_by(*after, question)) continue;
      CAPTURE(round);
      REQUIRE((deciding_key(policies, question) == key_of_rule(missing, question)));
      if (!allowed_by(*after, question)) continue;
      ++gained;
      const bool was_last = deciding_key(fewer, question) != key_of_rule(missing, question);
      REQUIRE((has_word(missing, question, "deny") || was_last));
    }
  }
  CHECK(gained > 20);
}

TEST_CASE("rights: one more rule that denies what is asked for by its name leaves nothing") {
  CAPTURE(property_seed);
  Source source{property_seed + 3};
  RightsCache cache;
  for (int round = 0; round < 1'000; ++round) {
    auto policies = source.policies();
    const auto question = source.question();
    policies[source.random().below(policies.size())].push_back(
        {question.ns, question.path, {"deny"}});
    CAPTURE(round);
    REQUIRE_FALSE(allowed_by(*compiled(cache, policies), question));
  }
}

TEST_CASE("rights: no walk of changes and questions is allowed more than the rules of the moment") {
  CAPTURE(property_seed);
  Source source{property_seed + 4};
  RightsCache cache{{.text_bytes = 20'000, .rules = 300}};
  auto policies = source.policies();
  auto rights = compiled(cache, policies);
  for (int step = 0; step < 100'000; ++step) {
    if (source.random().chance(0.05)) {
      const auto position = source.random().below(policies.size());
      const auto kind = source.random().below(3);
      if (kind == 0 && policies.size() < 10) policies.push_back(source.policy());
      if (kind == 1) policies[position] = source.policy();
      if (kind == 2 && policies.size() > 1)
        policies.erase(policies.begin() + static_cast<std::ptrdiff_t>(position));
      rights = compiled(cache, policies);
    }
    const auto question = source.question();
    CAPTURE(step);
    REQUIRE(allowed_by(*rights, question) == allowed_slowly(policies, question));
  }
}
