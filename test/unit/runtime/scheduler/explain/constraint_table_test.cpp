#include "runtime/scheduler/explain/constraint_table.hpp"

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace nomad;
using namespace nomad::scheduler;
using namespace nomad::scheduler::explain;

namespace {

using Numbers = std::vector<std::uint32_t>;

Object<schema::Node> node_in(const char* rack, const char* id = "n") {
  Draft<schema::Node> node;
  node->setId(id);
  if (rack != nullptr) {
    auto meta = node->initMeta(1)[0];
    meta.setKey("rack");
    meta.setValue(rack);
  }
  return node.freeze();
}

void fill(schema::Constraint::Builder one,
          const char* left,
          const char* operand,
          const char* right) {
  one.setLTarget(left);
  one.setOperand(operand);
  one.setRTarget(right);
}

Object<schema::Job> job_with(unsigned count) {
  Draft<schema::Job> job;
  auto constraints = job->initConstraints(count);
  for (auto one : constraints)
    fill(one, "${meta.rack}", "=", "r1");
  auto group = job->initTaskGroups(1)[0];
  group.setName("g");
  fill(group.initConstraints(1)[0], "${node.unique.id}", "=", "n");
  return job.freeze();
}

Numbers failing(ConstraintTable& table, const Object<schema::Node>& node, std::uint64_t& work) {
  Numbers out;
  table.add_failing_of_class(*node, out, work);
  table.add_failing_of_node(*node, out, work);
  return out;
}

}  // namespace

TEST_CASE("constraint table: the job's constraints come before the group's, and all are judged") {
  const JobSpec job{job_with(2)};
  ConstraintTable table{job, job.groups()[0]};
  std::uint64_t work = 0;

  CHECK(table.size() == 3);
  CHECK(table.is_of_job(1));
  CHECK_FALSE(table.is_of_job(2));
  const auto fine = node_in("r1");
  const auto other = node_in("r2", "m");
  const auto bare = node_in(nullptr);
  CHECK(failing(table, fine, work).empty());
  CHECK(failing(table, other, work) == Numbers{0, 1, 2});
  CHECK(failing(table, bare, work) == Numbers{0, 1});
}

TEST_CASE("constraint table: a value is judged once, however many nodes have it") {
  const JobSpec job{job_with(30)};
  ConstraintTable table{job, job.groups()[0]};
  const auto first = node_in("r2");
  std::uint64_t work = 0;
  CHECK(failing(table, first, work).size() == 30);
  const auto before = work;

  CHECK(failing(table, first, work).size() == 30);

  CHECK(work - before == 2);  // one look-up, and the constraint on the node's own id
}

TEST_CASE("constraint table: no more are named than one can read") {
  const JobSpec job{job_with(1'000)};
  ConstraintTable table{job, job.groups()[0]};
  std::uint64_t work = 0;
  const auto node = node_in("r2");
  CHECK(failing(table, node, work).size() == most_constraints_named);
  CHECK(work < 100);
}
