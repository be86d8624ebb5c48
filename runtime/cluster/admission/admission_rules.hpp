// AdmissionRules: what a policy of admission says, in HCL or JSON: conditions in the language of
// filters (runtime/query), which must hold of each job that comes in.
//
//   rule "pinned" {
//     condition = "all job.TaskGroups as g { all g.Tasks as t { t.Config.image not matches
//     `:latest$` } }" message   = "images must name a version"
//   }
//
// Conditions see `job` and `namespace` as the API shows them, and `caller`
// (schema/admission.capnp). What cannot be evaluated does not hold.
//
// May depend on: runtime/base, access/policy, object, query. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/base/work.hpp"
#include "runtime/query/filter.hpp"
#include "schema/admission.capnp.h"
#include "schema/job.capnp.h"
#include "schema/node.capnp.h"

namespace nomad::access {
struct RuleItem;
}

namespace nomad::cluster {

inline constexpr std::size_t max_admission_bytes = std::size_t{64} << 10U;
inline constexpr std::size_t max_admission_rules = 100;

/// What one job may cost, in all policies together.
inline constexpr std::uint64_t admission_work = std::uint64_t{1} << 26U;

/// A job on its way in.
struct Submission {
  schema::Job::Reader job;
  schema::Namespace::Reader ns;
  schema::AdmissionRequest::Reader request;  ///< Who submits it.
};

/// What a text that is one block says of itself: `policy "name" { scope = …, enforcement = … }`.
struct AdmissionHead {
  std::string name;
  std::string scope;  ///< Empty: it does not say.
  std::string level;  ///< The same.
};

/// Immutable.
class AdmissionRules {
public:
  /// Of rules, or of one block `policy` that has them. There must be a rule. The error says where
  /// it is: "At 3:14: …", `rule "x": 1:5 (4): …`.
  static Result<std::shared_ptr<const AdmissionRules>> read(std::string text);

  /// What does not hold: one line a rule, its name and message, or why it cannot be evaluated.
  std::vector<std::string> broken_by(const Submission& job, Work& work) const;

  const std::string& text() const { return text_; }

  /// Nothing: the text is rules alone.
  const std::optional<AdmissionHead>& head() const { return head_; }

private:
  struct Rule {
    std::string name;
    std::string message;
    query::Filter condition;
  };

  explicit AdmissionRules(std::string text) : text_{std::move(text)} {}

  Result<> add_all(const std::vector<access::RuleItem>& items);
  Result<> add_block(const access::RuleItem& item);
  Result<> add_block_of_policy(const access::RuleItem& item);
  Result<> add(std::uint32_t at,
               std::string name,
               const std::optional<std::string>& condition,
               const std::optional<std::string>& message);

  std::string text_;
  std::optional<AdmissionHead> head_;
  std::vector<Rule> rules_;
};

using AdmissionRulesRef = std::shared_ptr<const AdmissionRules>;

/// Reads a policy, or says what was read of that text before. As `AdmissionRules::read`.
using ReadAdmission = std::function<Result<AdmissionRulesRef>(std::string_view text)>;

}  // namespace nomad::cluster
