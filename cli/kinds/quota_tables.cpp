#include "cli/kinds/quota_tables.hpp"

#include <algorithm>
#include <array>
#include <iostream>

#include <fmt/format.h>

#include "cli/output/layout.hpp"

namespace nomad::cli {
namespace {

struct QuotaColumn {
  std::string_view title;
  std::string_view member;  ///< Of RegionLimit.
};

constexpr std::array quota_columns = std::to_array<QuotaColumn>({
    {"CPU Usage", "CPU"},
    {"Core Usage", "Cores"},
    {"Memory Usage", "MemoryMB"},
    {"Memory Max Usage", "MemoryMaxMB"},
    {"Allocation Usage", "Allocations"},
});

std::string limit_text(std::int64_t limit) {
  return limit == 0 ? "inf" : std::to_string(std::max<std::int64_t>(limit, 0));
}

/// "1500 / 2500"; "- / 2500" if the use is not known.
std::string use_text(const View& used, std::int64_t limit) {
  return fmt::format("{} / {}", used.is_null() ? "-" : used.text(), limit_text(limit));
}

/// What is in use of a limit; null if it is not known.
View used_of(const QuotaUsages& usages, const View& limit) {
  const auto region = usages.by_region.find(limit["Region"].text());
  if (region == usages.by_region.end()) return {};
  return View{region->second}["Used"][limit["Hash"].text()];
}

std::vector<View> sorted_limits(const View& quota) {
  auto limits = quota["Limits"].items();
  std::ranges::sort(limits, {}, [](const View& limit) { return limit["Region"].text(); });
  return limits;
}

}  // namespace

QuotaUsages read_quota_usages(Api& api, const View& quota) {
  QuotaUsages usages;
  for (const auto& limit : quota["Limits"].items()) {
    const auto region = limit["Region"].text();
    auto answer = api.get("/v1/quota/usage/" + segment(quota["Name"].text()), {{"region", region}});
    if (answer)
      usages.by_region.emplace(region, std::move(answer->body));
    else
      usages.failures.emplace(region, answer.error().what);
  }
  return usages;
}

int print_quota_limits(Api& api, const View& quota) {
  const auto usages = read_quota_usages(api, quota);
  Rows limits(1);
  limits.front().emplace_back("Region");
  for (const auto& column : quota_columns)
    limits.front().emplace_back(column.title);
  limits.front().emplace_back("Variables Usage");
  Rows devices{{"Region", "Device Name", "Device Usage"}};
  for (const auto& limit : sorted_limits(quota)) {
    const auto used = used_of(usages, limit);
    auto& row = limits.emplace_back();
    row.push_back(limit["Region"].text());
    for (const auto& column : quota_columns)
      row.push_back(use_text(used["RegionLimit"][column.member],
                             limit["RegionLimit"][column.member].number()));
    row.push_back(use_text(used["VariablesLimit"], limit["VariablesLimit"].number()));
    for (const auto& device : limit["RegionLimit"]["Devices"].items()) {
      View count;
      for (const auto& known : used["RegionLimit"]["Devices"].items())
        if (known["Name"].text() == device["Name"].text()) count = known["Count"];
      devices.push_back({limit["Region"].text(), device["Name"].text(),
                         use_text(count, device["Count"].number())});
    }
  }
  print_section("Quota Limits", table(limits));
  if (devices.size() > 1) print_section("Quota Device Limits", table(devices));
  if (usages.failures.empty()) return 0;
  std::cerr << '\n' << title("Lookup Failures") << '\n';
  for (const auto& [region, what] : usages.failures)
    std::cerr << fmt::format("  * Failed to retrieve quota usage for region \"{}\": {}\n", region,
                             what);
  return 1;
}

}  // namespace nomad::cli
