#include "cli/node/host_stats.hpp"

#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "cli/output/layout.hpp"

namespace nomad::cli {
namespace {

std::string percent(const View& value) {
  return fmt::format("{:.2f}%", value.real());
}

std::string shown_bytes(const View& value) {
  return bytes(static_cast<std::uint64_t>(value.number()));
}

/// One block for each item, with an empty line between.
template <class Show>
std::string blocks(const View& list, Show show) {
  std::string all;
  for (const auto& item : list.items())
    all += (all.empty() ? "" : "\n\n") + pairs(show(item));
  return all;
}

Pairs processor(const View& core) {
  return {{"CPU", core["CPU"].text()},
          {"User", percent(core["User"])},
          {"System", percent(core["System"])},
          {"Idle", percent(core["Idle"])}};
}

Pairs memory(const View& used) {
  return {{"Total", shown_bytes(used["Total"])},
          {"Available", shown_bytes(used["Available"])},
          {"Used", shown_bytes(used["Used"])},
          {"Free", shown_bytes(used["Free"])}};
}

Pairs disk(const View& used) {
  return {{"Device", used["Device"].text()},
          {"MountPoint", used["Mountpoint"].text()},
          {"Size", shown_bytes(used["Size"])},
          {"Used", shown_bytes(used["Used"])},
          {"Available", shown_bytes(used["Available"])},
          {"Used Percent", percent(used["UsedPercent"])},
          {"Inodes Percent", percent(used["InodesUsedPercent"])}};
}

}  // namespace

void print_host_stats(const View& stats) {
  if (stats.is_null()) return;
  print_section("CPU Stats", blocks(stats["CPU"], processor));
  print_section("Memory Stats", pairs(memory(stats["Memory"])));
  print_section("Disk Stats", blocks(stats["DiskStats"], disk));
}

}  // namespace nomad::cli
