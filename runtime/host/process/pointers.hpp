// Texts as execve(2) and posix_spawn(3) want them.
#pragma once

#include <string>
#include <vector>

namespace nomad::host {

/// Ends with a null pointer. Valid as long as the texts; who takes it changes nothing.
inline std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const auto& text : texts)
    list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

}  // namespace nomad::host
