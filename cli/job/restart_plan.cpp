#include "cli/job/restart_plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/base/whole_number.hpp"

namespace nomad::cli {
namespace {

Error invalid_value(std::string_view flag, const std::string& text, std::string_view why) {
  return {Errc::invalid_argument, fmt::format("Invalid {} value \"{}\": {}", flag, text, why)};
}

Error not_interactive(std::string_view flag, const std::string& text) {
  return invalid_value(flag, text,
                       fmt::format("\"{}\" cannot be used when terminal is not interactive", text));
}

bool is_listed(const std::vector<std::string>& list, const std::string& one) {
  return std::ranges::find(list, one) != list.end();
}

}  // namespace

std::size_t BatchSize::of(std::size_t allocs) const {
  return is_percent ? (allocs * value + 99) / 100 : value;
}

Result<BatchSize> parse_batch_size(const std::string& text) {
  BatchSize size;
  std::string_view digits = text;
  if (digits.ends_with('%')) {
    size.is_percent = true;
    digits.remove_suffix(1);
  }
  const bool is_number = !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos;
  const auto number = is_number ? nomad::whole_number<std::uint32_t>(digits) : std::nullopt;
  if (!number)
    return invalid_value("-batch-size", text, "batch size must be an integer or a percentage");
  if (*number == 0)
    return invalid_value("-batch-size", text, "number value must be greater than zero");
  size.value = *number;
  return size;
}

Result<BatchWait> parse_batch_wait(const std::string& text, bool is_interactive) {
  if (to_lower(text) == "ask") {
    if (!is_interactive) return not_interactive("-batch-wait", text);
    return BatchWait{.time = {}, .asks = true};
  }
  const auto time = parse_duration(text);
  if (!time) return invalid_value("-batch-wait", text, time.error().what);
  return BatchWait{.time = *time};
}

Result<bool> parse_on_error(const std::string& text, bool is_interactive) {
  if (text == "fail") return false;
  if (text != "ask")
    return invalid_value("-on-error", text, "valid options are \"ask\" and \"fail\"");
  if (!is_interactive) return not_interactive("-on-error", text);
  return true;
}

Result<Proceed> parse_proceed(const std::string& answer, bool by_default, bool takes_wait) {
  const auto word = to_lower(answer);
  if (word.empty()) return Proceed{.goes_on = by_default};
  if (word == "y" || word == "yes") return Proceed{.goes_on = true};
  if (word == "n" || word == "no") return Proceed{};
  const auto wait = takes_wait ? parse_duration(answer) : Result<Nanoseconds>{Error{}};
  if (!wait) return Error{Errc::invalid_argument, fmt::format("Invalid answer \"{}\"", answer)};
  return Proceed{.goes_on = true, .sets_wait = true, .wait = *wait};
}

bool has_task(const View& alloc, const View& versions, std::string_view task) {
  for (const auto& [name, state] : alloc["TaskStates"].members())
    if (name == task) return true;
  for (const auto& job : versions.items()) {
    if (job["Version"].number() != alloc["JobVersion"].number()) continue;
    for (const auto& group : job["TaskGroups"].items())
      if (group["Name"].text() == alloc["TaskGroup"].text())
        return std::ranges::any_of(group["Tasks"].items(),
                                   [&](const View& each) { return each["Name"].text() == task; });
  }
  return false;
}

std::string skip_reason(const View& alloc,
                        const View& versions,
                        const RestartScope& scope,
                        const std::function<std::string(const std::string&)>& id) {
  const auto desired = alloc["DesiredStatus"].text();
  const auto client = alloc["ClientStatus"].text();
  if (client != "running" && desired != "run")
    return fmt::format("desired status is \"{}\" and client status is \"{}\"", desired, client);
  const auto next = alloc["NextAllocation"].text();
  if (!next.empty()) return fmt::format("it has already been replaced by \"{}\"", id(next));
  if (!scope.groups.empty() && !is_listed(scope.groups, alloc["TaskGroup"].text()))
    return "it doesn't have any of requested groups";
  const bool has_one = std::ranges::any_of(
      scope.tasks, [&](const auto& task) { return has_task(alloc, versions, task); });
  if (!scope.tasks.empty() && !has_one) return "it doesn't have any of requested tasks";
  return {};
}

std::string ordinal(std::size_t number) {
  const auto tens = number % 100;
  const auto ones = number % 10;
  const auto* ending = tens >= 11 && tens <= 13 ? "th"
                       : ones == 1              ? "st"
                       : ones == 2              ? "nd"
                       : ones == 3              ? "rd"
                                                : "th";
  return std::to_string(number) + ending;
}

}  // namespace nomad::cli
