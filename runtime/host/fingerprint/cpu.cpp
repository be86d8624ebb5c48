// Parsers for processors and distributions (see parse.hpp).
#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "runtime/base/text.hpp"
#include "runtime/base/whole_number.hpp"
#include "runtime/host/fingerprint/parse.hpp"

namespace nomad::host {

CpuInfo parse_cpuinfo(std::string_view text) {
  CpuInfo info;
  for (std::string_view line : split(text, '\n')) {
    std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view key = trim(line.substr(0, colon)), value = trim(line.substr(colon + 1));
    if (key == "processor" || key == "cpu number") ++info.cores;
    if (key == "model name" || key == "Model Name" || key == "cpu") info.model = value;
    if (key == "cpu MHz" || key == "clock" || key == "cpu MHz dynamic") {
      auto mhz = static_cast<std::uint64_t>(
          std::clamp(std::strtod(std::string{value}.c_str(), nullptr), 0.0, 1e6));
      info.mhz = std::max(info.mhz, mhz);
    }
  }
  return info;
}

std::uint64_t parse_max_frequency(std::string_view text) {
  text = trim(text);
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return 0;
  value /= 1000;
  return value > 9999 ? value / 1000 : value;
}

std::vector<std::uint16_t> parse_cpu_list(std::string_view text) {
  constexpr unsigned most = 4096;
  std::vector<std::uint16_t> cores;
  auto number = [](std::string_view digits, unsigned& value) {
    return read_whole_number(digits, value) && value < most;
  };
  for (std::string_view part : split(trim(text), ',')) {
    std::size_t dash = part.find('-');
    unsigned first = 0, last = 0;
    if (!number(part.substr(0, dash), first)) return {};
    last = first;
    if (dash != std::string_view::npos && !number(part.substr(dash + 1), last)) return {};
    for (unsigned core = first; core <= last; ++core)
      cores.push_back(static_cast<std::uint16_t>(core));
  }
  return cores;
}

std::string go_arch(std::string_view machine) {
  if (machine == "x86_64") return "amd64";
  if (machine == "aarch64") return "arm64";
  if (machine == "i386" || machine == "i686") return "386";
  if (machine.substr(0, 4) == "armv") return "arm";
  if (machine == "loongarch64") return "loong64";
  return std::string{machine};
}

std::string shell_value(std::string_view text, std::string_view name) {
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    if (line.size() <= name.size() || line.substr(0, name.size()) != name
        || line[name.size()] != '=')
      continue;
    line.remove_prefix(name.size() + 1);
    if (line.size() >= 2 && line.front() == '"' && line.back() == '"')
      line = line.substr(1, line.size() - 2);
    return std::string{line};
  }
  return {};
}

namespace {

// "CentOS Linux release 7.9.2009 (Core)" is centos 7.9.2009; Rawhide has no number.
OsName parse_redhat_release(std::string_view text) {
  std::string line = to_lower(split(text, '\n').front());
  OsName os;
  if (line.find("red hat") != std::string::npos) {
    os.name = "redhat";
  } else if (auto words = fields(line, file_space); !words.empty()) {
    os.name = words.front();
  }
  if (line.find("rawhide") != std::string::npos) {
    os.version = "rawhide";
  } else if (std::size_t at = line.find("release "); at != std::string::npos) {
    std::size_t begin = at + 8;
    os.version = line.substr(begin, line.find_first_not_of("0123456789.", begin) - begin);
  }
  return os;
}

}  // namespace

OsName parse_os(const std::map<std::string, std::string>& etc) {
  auto file = [&etc](const char* name) {
    auto found = etc.find(name);
    return found == etc.end() ? std::string_view{} : std::string_view{found->second};
  };
  std::string lsb_id = shell_value(file("lsb-release"), "DISTRIB_ID");
  std::string lsb_release = shell_value(file("lsb-release"), "DISTRIB_RELEASE");
  auto first_line
      = [](std::string_view text) { return std::string{trim(split(text, '\n').front())}; };
  for (const char* oracle : {"oracle-release", "enterprise-release"}) {
    if (!file(oracle).empty()) return {"oracle", parse_redhat_release(file(oracle)).version};
  }
  if (!file("debian_version").empty()) {
    for (auto [id, name] :
         {std::pair{"Ubuntu", "ubuntu"}, std::pair{"LinuxMint", "linuxmint"},
          std::pair{"Kylin", "Kylin"}, std::pair{"Cumulus Linux", "cumuluslinux"}}) {
      if (lsb_id == id) return {name, lsb_release};
    }
    return {"debian", first_line(file("debian_version"))};
  }
  for (const char* red_hat : {"neokylin-release", "redhat-release", "system-release"}) {
    if (!file(red_hat).empty()) return parse_redhat_release(file(red_hat));
  }
  if (!file("gentoo-release").empty())
    return {"gentoo", parse_redhat_release(file("gentoo-release")).version};
  if (etc.count("arch-release") != 0) return {"arch", lsb_release};
  if (!file("alpine-release").empty()) return {"alpine", first_line(file("alpine-release"))};
  if (std::string_view release = file("os-release"); !release.empty())
    return {shell_value(release, "ID"), shell_value(release, "VERSION_ID")};
  return {to_lower(lsb_id), lsb_release};
}

}  // namespace nomad::host
