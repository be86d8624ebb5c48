#include "runtime/scheduler/explain/explanation.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/base/sorting/sort_stably.hpp"
#include "runtime/base/text.hpp"

namespace nomad::scheduler::explain {
namespace {

/// Reasons that the first line names.
constexpr std::size_t most_in_summary = 2;

std::string in_plural(std::size_t count, std::string_view one, std::string_view several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

/// "memory, 990000 MiB asked: 7800 free on 3, driver "docker": missing on 1 node".
std::string main_reasons(const GroupAnswer& group, bool with_values) {
  auto classes = group.refused;
  sort_stably(classes, std::ranges::greater{}, &NodeClass::count);
  std::string text;
  for (std::size_t i = 0; i < classes.size() && i < most_in_summary; ++i) {
    std::vector<std::string> reasons;
    for (const auto& reason : classes[i].reasons)
      reasons.push_back(reason.text(with_values));
    if (reasons.size() > 2) {
      const auto more = reasons.size() - 2;
      reasons.resize(2);
      reasons.push_back(fmt::format("{} more", more));
    }
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", join(reasons, "; "),
                        in_plural(classes[i].count, "node", "nodes"));
  }
  if (classes.size() > most_in_summary || group.other_classes > 0) text += ", and others";
  return text;
}

}  // namespace

std::string Reason::text(bool with_values) const {
  if (!with_values) return subject;
  if (asked) {
    if (least_free == most_free) return fmt::format("{}: {} free", subject, most_free);
    return fmt::format("{}: {} to {} free", subject, least_free, most_free);
  }
  if (values.empty()) return subject;
  return fmt::format("{}: {}{}", subject, join(values, ", "), has_more ? ", ..." : "");
}

std::string GroupAnswer::summary(bool with_values) const {
  auto text = fmt::format("Group \"{}\": ", name);
  if (queued > 0)
    text += fmt::format("{} {} for a place; ",
                        in_plural(static_cast<std::size_t>(queued), "allocation", "allocations"),
                        queued == 1 ? "waits" : "wait");
  if (!quota.empty()) return text + "the namespace's quota has no room: " + join(quota, "; ");
  const auto looked = is_whole()
                          ? in_plural(nodes, "node", "nodes")
                          : fmt::format("{} of {} nodes that were looked at", looked_at, nodes);
  if (nodes == 0) return text + "the cluster has no nodes";
  if (fitting > 0)
    return text + fmt::format("{} of {} {}", fitting, looked, fitting == 1 ? "fits" : "fit");
  return text + fmt::format("none of {} fits: ", looked) + main_reasons(*this, with_values);
}

std::string Explanation::summary(bool with_values) const {
  for (const auto& group : groups)
    if (group.queued > 0) return group.summary(with_values);
  std::int64_t live = 0;
  for (const auto& group : groups)
    live += group.live;
  for (const auto& group : groups)
    if (!group.waits.empty())
      return fmt::format("Group \"{}\": {}", group.name, group.waits[0].text);
  return fmt::format("Nothing of the job waits for a place; {} {} not ended", live,
                     live == 1 ? "allocation has" : "allocations have");
}

}  // namespace nomad::scheduler::explain
