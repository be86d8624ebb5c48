// Folds: refused nodes by what is against them, so that 10,000 nodes are a handful of lines. What
// a node has of an amount, or instead of what a constraint wants, does not part folds.
//
// (1) Each node is in exactly one fold: that of its reasons.
// (2) A fold keeps, of nodes that lack nothing but amounts, those that lack least; of others the
//     first: on these changes are tried.
//
// May depend on: runtime/state. One thread at a time; the nodes outlive it.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/scheduler/explain/node_judge.hpp"

namespace nomad::scheduler::explain {

/// A refused node.
struct Refused {
  const Object<schema::Node>* node = nullptr;
  std::optional<Amounts> amounts = {};
};

/// Nodes of a fold whose names and values are told.
inline constexpr std::size_t most_examples = 8;

/// Nodes of a fold on which changes are tried.
inline constexpr std::size_t most_tried_nodes = 64;

struct Fold {
  std::vector<ReasonId> against;
  std::size_t count = 0;
  std::vector<Refused> examples = {};  ///< At most `most_examples`.
  /// At most `most_tried_nodes`, with `lacks` beside them; those that lack least come first.
  std::vector<Refused> nearest = {};
  std::vector<double> lacks = {};
  /// Of cores, cpu, memory and disk, over all nodes of the fold whose room was judged.
  std::array<std::int64_t, 4> least_free = {};
  std::array<std::int64_t, 4> most_free = {};
  bool has_amounts = false;
};

/// Where an amount's figures are in a fold.
constexpr std::size_t amount_index(Obstacle what) {
  return static_cast<std::size_t>(what) - static_cast<std::size_t>(Obstacle::cores);
}

class Folds {
public:
  /// Takes a node that does not fit.
  void add(const Object<schema::Node>& node, Verdict verdict);

  std::size_t nodes() const { return nodes_; }

  /// Fewest reasons first, then most nodes.
  std::vector<const Fold*> ordered() const;

private:
  struct Hash {
    std::size_t operator()(const std::vector<ReasonId>& ids) const;
  };

  std::unordered_map<std::vector<ReasonId>, Fold, Hash> folds_;
  std::size_t nodes_ = 0;
};

}  // namespace nomad::scheduler::explain
