// Parsers for mounts and kernel modules (see parse.hpp).
#include "runtime/base/text.hpp"
#include "runtime/host/fingerprint/parse.hpp"

namespace nomad::host {

namespace {

// Whether a line of modules.builtin or modules.dep is for `name`: "kernel/.../name.ko[.xz][: ...]".
bool is_module_line(std::string_view line, const std::string& file) {
  std::size_t at = line.find(file);
  if (at == std::string_view::npos) return false;
  std::string_view rest = line.substr(at + file.size());
  std::size_t colon = line.find(':');
  if (colon != std::string_view::npos && colon < at) return false;  // a dependency of another one
  return rest.empty() || rest.front() == ':' || rest.substr(0, 1) == ".";
}

}  // namespace

bool has_module(std::string_view name,
                std::string_view modules,
                std::string_view builtin,
                std::string_view dep) {
  for (std::string_view line : split(modules, '\n')) {
    auto words = fields(line, file_space);
    if (!words.empty() && words.front() == name) return true;
  }
  std::string file = "/" + std::string{name} + ".ko";
  for (std::string_view list : {builtin, dep}) {
    for (std::string_view line : split(list, '\n')) {
      if (is_module_line(trim(line), file)) return true;
    }
  }
  return false;
}

std::string parse_volume(std::string_view mountinfo,
                         unsigned major,
                         unsigned minor,
                         std::string_view path) {
  std::string number = std::to_string(major) + ':' + std::to_string(minor);
  std::string by_path;
  std::size_t longest = 0;
  for (std::string_view line : split(mountinfo, '\n')) {
    std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    auto before = fields(line.substr(0, dash), file_space),
         after = fields(line.substr(dash + 3), file_space);
    if (before.size() < 5 || after.size() < 2) continue;
    if (before[2] == number) return std::string{after[1]};
    std::string_view mount = before[4];
    bool holds = mount == "/"
                 || (path.substr(0, mount.size()) == mount
                     && (path.size() == mount.size() || path[mount.size()] == '/'));
    if (holds && mount.size() >= longest) {
      longest = mount.size();
      by_path = after[1];
    }
  }
  return by_path;
}

}  // namespace nomad::host
