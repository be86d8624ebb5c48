// Pages of docs/ that programs make: compared with what they should be, or written.
#pragma once

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

inline std::string read_page(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// The program's exit status: whether the page at `path` is `page`, which it is after `writes`.
inline int keep_page(const std::string& path, const std::string& page, bool writes) {
  if (writes) std::ofstream{path, std::ios::binary} << page;
  if (read_page(path) == page) return 0;
  std::cerr << path << " is not what the tables say: run ./dev docs\n";
  return 1;
}
