// Specifications of variables, from files and stdin, as commands that write variables read them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad::cli {

/// As a specification has it; texts as they stand there.
struct LockSpecification {
  std::string ttl;
  std::string delay;
};

/// A variable on its way: what the specification and the arguments make of it.
struct VariableDraft {
  std::string ns;
  std::string path;
  std::uint64_t modify_index = 0;
  std::map<std::string, std::string> items;
  std::optional<LockSpecification> lock;
};

/// "@file".
bool is_file_reference(std::string_view argument);

/// Without what surrounds a path: slashes and blanks.
std::string trimmed_path(std::string path);

/// By the name of its file: "hcl", "json", or "".
std::string_view specification_format(std::string_view file);

/// What `text`, of that format, says; "" says nothing. Namespace and path of the command count
/// before those of the specification. The caller says what could not be parsed.
Result<VariableDraft> parse_variable(const std::string& text,
                                     std::string_view format,
                                     const std::string& ns,
                                     const std::string& path);

}  // namespace nomad::cli
