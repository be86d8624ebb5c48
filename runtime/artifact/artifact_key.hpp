// The key of an artifact: what a node remembers of those that it has fetched.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace nomad::artifact {

/// An artifact as the job has it, before anything is interpolated.
struct Definition {
  std::string source;
  std::map<std::string, std::string> options;
  std::map<std::string, std::string> headers;
  std::string mode;
  std::string destination;
  bool insecure = false;
  bool chown = false;
};

/// 32 hexadecimal digits; those of different definitions differ.
std::string key_of(const Definition& definition);

}  // namespace nomad::artifact
