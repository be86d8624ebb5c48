// What kinds refuse, and what follows from their rows.
#include "runtime/state/kinds/kinds.hpp"

#include "../fixture.hpp"
#include "runtime/state/kinds/derive.hpp"

using namespace nomad;
using namespace nomad::state;

namespace {

template <class T>
Object<T> named(std::string_view name) {
  Draft<T> draft;
  draft->setName(text(name));
  return draft.freeze();
}

Object<schema::Evaluation> an_eval(schema::EvalStatus status) {
  Draft<schema::Evaluation> draft;
  fill(*draft, EvalSpec{.status = status});
  return draft.freeze();
}

}  // namespace

TEST_CASE("kinds: a place goes when nothing is left in it, and what is built in stays") {
  Tables tables;
  const auto pool = named<schema::NodePool>("gpu");
  const auto ns = named<schema::Namespace>("dev");
  CHECK_FALSE(kind::NodePools::may_remove(tables, *pool));
  CHECK_FALSE(kind::Namespaces::may_remove(tables, *ns));
  CHECK(kind::NodePools::may_remove(tables, *named<schema::NodePool>("all")));
  CHECK(kind::NodePools::may_put(tables, {}, *named<schema::NodePool>("all")));
  CHECK(kind::Namespaces::may_remove(tables, *named<schema::Namespace>("default")));

  Draft<schema::Job> job;
  fill(*job, JobSpec{.ns = "dev", .pool = "gpu"});
  job->setStatus("running");
  tables.jobs.insert_or_assign(kind::Jobs::key(job.reader()), job.freeze());
  CHECK(kind::NodePools::may_remove(tables, *pool)->code == Errc::conflict);
  CHECK(kind::Namespaces::may_remove(tables, *ns)->code == Errc::rejected);

  job->setStatus("dead");
  tables.jobs.insert_or_assign(kind::Jobs::key(job.reader()), job.freeze());
  CHECK_FALSE(kind::NodePools::may_remove(tables, *pool));
  CHECK_FALSE(kind::Namespaces::may_remove(tables, *ns));
}

TEST_CASE("kinds: a check-and-set holds for the stored index alone") {
  const Tables tables;
  Draft<schema::AutopilotConfiguration> draft;
  draft->setModifyIndex(7);
  const auto stored = draft.freeze();
  const auto refused = [&](bool check, Index index, const auto& known) {
    Draft<schema::AutopilotUpdate> update;
    update->setCheck(check);
    update->initConfiguration().setModifyIndex(index);
    return kind::AutopilotConfig::may_put(tables, known, update.reader()).has_value();
  };

  CHECK_FALSE(refused(true, 7, stored));
  CHECK(refused(true, 6, stored));
  CHECK_FALSE(refused(false, 6, stored));
  CHECK(refused(true, 7, Object<schema::AutopilotConfiguration>{}));
}

TEST_CASE("kinds: a row moves in its orders, and its going leaves nothing") {
  Tables tables;
  const auto pending = an_eval(schema::EvalStatus::PENDING);
  const auto complete = an_eval(schema::EvalStatus::COMPLETE);

  derive<kind::Evals>(tables, {}, pending, {});
  CHECK(tables.job_counts.find(key_of_job(*pending))->live_evals == 1);
  derive<kind::Evals>(tables, pending, complete, {});
  CHECK(tables.evals_by_job.size() == 1);
  CHECK(tables.evals_by_job.contains(kind::Evals::key_by_job(*complete)));
  CHECK(tables.job_counts.find(key_of_job(*pending))->live_evals == 0);
  derive<kind::Evals>(tables, complete, {}, {});

  CHECK(tables.evals_by_create.empty());
  CHECK(tables.evals_by_job.empty());
  CHECK(tables.job_counts.empty());
}

TEST_CASE("kinds: a row that has no place in an order is not in it") {
  Tables tables;
  Draft<schema::Node> draft;
  draft->setId("n");
  const auto node = draft.freeze();
  draft->initDrainStrategy();
  const auto draining = draft.freeze();

  derive<kind::Nodes>(tables, {}, draining, {});
  CHECK(tables.draining_nodes.contains("n"));
  derive<kind::Nodes>(tables, draining, node, {});

  CHECK(tables.draining_nodes.empty());
}
