// AwaitedEnds: who waits for the end of which allocation of this node, and whose directory must
// stay until its successor has taken over what it wants of it. Part of the client; works in its
// turns.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "actors/client/runner.hpp"

namespace nomad::client {

class AwaitedEnds {
public:
  using Promise = actor::Promise<alloc_runner::Ended>;

  /// `alloc_id` is waited for; with `for_whom`, its directory is kept as long as that wants it.
  void keep(const std::string& alloc_id, const std::string& for_whom);
  void await(const std::string& alloc_id, Promise promise);

  /// It has ended: answers those who wait.
  void ended(const std::string& alloc_id);

  /// Whether its directory has to stay. Then its collection is put off.
  bool put_off(const std::string& alloc_id);

  /// `for_whom` has what it wanted of others, or never will: whose collection was put off, and need
  /// not be any more.
  std::vector<std::string> release(const std::string& for_whom);

private:
  std::map<std::string, std::vector<Promise>> waiting_;  ///< By whom they wait for.
  std::map<std::string, std::set<std::string>> kept_;    ///< Successors, by whose directory it is.
  std::set<std::string> put_off_;
};

}  // namespace nomad::client
