// Says what a task's templates wait for before their first rendering: "Missing: nomad.service(db),
// nomad.var.block(app/config@default.global)". Once `delay` after what is missing has changed, so
// that what comes soon is not said at all.
//
// Given the times; reads no clock.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <span>
#include <string>

namespace nomad::templates {

class MissingReport {
public:
  using Time = std::chrono::nanoseconds;

  explicit MissingReport(std::chrono::nanoseconds delay = std::chrono::seconds{3})
      : delay_{delay} {}

  /// What all templates together miss now.
  void update(std::set<std::string> missing, Time now);

  /// When to call `take`; nothing while there is nothing to say.
  std::optional<Time> due() const { return due_; }

  /// The text of the task event if it is time for one.
  std::optional<std::string> take(Time now);

private:
  std::chrono::nanoseconds delay_;
  std::set<std::string> missing_;
  std::optional<Time> due_;
};

/// Three names at most, then how many more there are.
std::string missing_text(const std::set<std::string>& missing);

}  // namespace nomad::templates
