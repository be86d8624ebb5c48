// PreviousAllocs: who waits for the end of which allocation of a node, and whose directory must
// stay until its successor has taken over what it wants of it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace nomad::workload {

class PreviousAllocs {
public:
  /// `alloc_id` is waited for; with `for_whom`, its directory is kept as long as that wants it.
  void keep(const std::string& alloc_id, const std::string& for_whom);
  void await(const std::string& alloc_id, std::uint64_t ticket);

  /// It has ended: those who wait, each once.
  std::vector<std::uint64_t> ended(const std::string& alloc_id);

  /// Whether its directory has to stay. Then its collection is put off.
  bool put_off(const std::string& alloc_id);

  /// `for_whom` has what it wanted of others, or never will: whose collection was put off, and need
  /// not be any more.
  std::vector<std::string> release(const std::string& for_whom);

private:
  std::map<std::string, std::vector<std::uint64_t>> waiting_;  ///< By whom they wait for.
  std::map<std::string, std::set<std::string>> kept_;  ///< Successors, by whose directory it is.
  std::set<std::string> put_off_;
};

}  // namespace nomad::workload
