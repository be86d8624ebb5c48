// ServerRing: the servers that a client node knows, in an order of its own, and which of them it
// uses. Pure: an order by chance comes from the Random that it is given, so that the nodes of a
// cluster spread over its servers.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/base/random.hpp"

namespace nomad::workload {

class ServerRing {
public:
  ServerRing(std::vector<std::string> servers, Random random);

  bool empty() const { return servers_.empty(); }

  std::size_t size() const { return servers_.size(); }

  /// The one in use. Not to be asked of an empty ring.
  const std::string& current() const { return servers_[current_]; }

  /// `from` does not answer: the next one is in use. False if another one was in use already.
  bool move_on(const std::string& from);

  /// Takes over what the servers say of themselves; the one in use stays in use if it is still
  /// there. False when nothing is new. A ring that knew nobody, or is told of nobody, stays as it
  /// is.
  bool learn(std::vector<std::string> fresh);

  /// None of them answers: those that it began with are tried again as well. Who spoke last may
  /// have known himself alone. False when it has all of them.
  bool widen();

  /// Begins anew with these, whatever was known before.
  void replace(std::vector<std::string> servers);

  /// A new order by chance, so that servers that were away get their share of the nodes again.
  void shuffle();

  /// All of them, the one in use first.
  std::vector<std::string> in_order() const;

private:
  std::vector<std::string> first_;  ///< That it began with.
  std::vector<std::string> servers_;
  std::size_t current_ = 0;
  Random random_;
};

}  // namespace nomad::workload
