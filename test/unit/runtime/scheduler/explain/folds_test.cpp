#include "runtime/scheduler/explain/folds.hpp"

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace nomad;
using namespace nomad::scheduler::explain;

namespace {

struct Nodes {
  std::vector<std::unique_ptr<Object<schema::Node>>> all;

  const Object<schema::Node>& next() {
    Draft<schema::Node> node;
    node->setId(text("n" + std::to_string(all.size())));
    all.push_back(std::make_unique<Object<schema::Node>>(node.freeze()));
    return *all.back();
  }
};

Verdict without_memory(std::int64_t free) {
  Amounts amounts;
  amounts.memory = {1'000, free};
  return {.against = {reason_id(Obstacle::memory)}, .amounts = amounts};
}

}  // namespace

TEST_CASE("folds: nodes against which there is the same are one, whatever the figures") {
  Nodes nodes;
  Folds folds;
  for (const auto free : {100, 900, 500})
    folds.add(nodes.next(), without_memory(free));
  folds.add(nodes.next(), {.against = {reason_id(Obstacle::driver, 1)}});
  folds.add(nodes.next(), {.against = {reason_id(Obstacle::driver, 0)}});

  const auto all = folds.ordered();

  CHECK(folds.nodes() == 5);
  REQUIRE(all.size() == 3);
  CHECK(all[0]->count == 3);  // as many reasons, more nodes
  CHECK(all[0]->least_free[amount_index(Obstacle::memory)] == 100);
  CHECK(all[0]->most_free[amount_index(Obstacle::memory)] == 900);
  CHECK(view((*all[0]->nearest.front().node)->getId()) == "n1");  // it lacks least
  CHECK(index_of(all[1]->against[0]) == 0);
}

TEST_CASE("folds: a fold keeps a bounded part of its nodes, those that lack least") {
  Nodes nodes;
  Folds folds;
  for (std::int64_t i = 0; i < 500; ++i)
    folds.add(nodes.next(), without_memory(i));

  const auto& fold = *folds.ordered().at(0);

  CHECK(fold.count == 500);
  CHECK(fold.examples.size() == most_examples);
  REQUIRE(fold.nearest.size() == most_tried_nodes);
  CHECK(fold.nearest.front().amounts->memory.free == 499);
  CHECK(fold.nearest.back().amounts->memory.free
        == 500 - static_cast<std::int64_t>(most_tried_nodes));
}
