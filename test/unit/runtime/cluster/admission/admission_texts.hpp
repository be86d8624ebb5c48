// Texts of policies of admission, and what is said of those that cannot be read.
#pragma once

#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/cluster/admission/admission_rules.hpp"

namespace nomad::cluster {

inline const std::string pinned = R"(
rule "pinned" {
  condition = "all job.TaskGroups as g { all g.Tasks as t { t.Config.image not matches `:latest$` } }"
  message   = "images must name a version"
})";

inline std::string rule_with(std::string_view condition) {
  return fmt::format("rule \"r\" {{\n condition = <<EOT\n{}\nEOT\n}}", condition);
}

inline std::string misreading(std::string_view text) {
  const auto rules = AdmissionRules::read(std::string{text});
  return rules ? std::string{} : rules.error().what;
}

struct Misread {
  std::string text;
  std::string why = {};  ///< A part of what is said; empty: it can be read.
};

inline void check_misread(const std::vector<Misread>& cases) {
  for (const auto& one : cases) {
    const auto told = misreading(one.text);
    const bool is_as_said
        = told.find(one.why) != std::string::npos && told.empty() == one.why.empty();
    CHECK_MESSAGE(is_as_said, one.text << " is told " << told);
  }
}

}  // namespace nomad::cluster
