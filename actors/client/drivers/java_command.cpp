#include "actors/client/drivers/java_command.hpp"

#include <algorithm>

#include "runtime/base/text.hpp"

namespace nomad::client {

Result<std::vector<std::string>> java_arguments(const ConfigReader& config) {
  auto arguments = config.texts("jvm_options");
  const auto jar = config.text("jar_path");
  const auto name = config.text("class");
  if (jar.empty() && name.empty())
    return Error{Errc::invalid_argument, "jar_path or class must be specified"};
  if (const auto path = config.text("class_path"); !path.empty())
    arguments.insert(arguments.end(), {"-cp", path});
  if (!jar.empty()) arguments.insert(arguments.end(), {"-jar", jar});
  if (!name.empty()) arguments.push_back(name);
  std::ranges::copy(config.texts("args"), std::back_inserter(arguments));
  return arguments;
}

JavaVersion parse_java_version(std::string_view output) {
  auto lines = split(trim(output), '\n');
  std::erase_if(lines, [](std::string_view line) { return line.starts_with("Picked up "); });
  if (lines.size() < 3) return {};
  const auto is_version = [](char c) { return (c >= '0' && c <= '9') || c == '.' || c == '_'; };
  const auto first = trim(lines[0]);
  const auto begin = std::ranges::find_if(first, is_version);
  const auto end = std::find_if_not(begin, first.end(), is_version);
  return {.version = begin == end ? std::string{first} : std::string{begin, end},
          .runtime = std::string{trim(lines[1])},
          .machine = std::string{trim(lines[2])}};
}

}  // namespace nomad::client
