// WriteWorld: the small states, and the requests that are drawn.
#include "runtime/cluster/deployment_commands.hpp"
#include "runtime/cluster/drain/drain_commands.hpp"
#include "runtime/cluster/job_commands.hpp"
#include "runtime/cluster/jobs/version_tags.hpp"
#include "runtime/cluster/node_commands.hpp"
#include "runtime/cluster/scale_commands.hpp"
#include "runtime/cluster/service_commands.hpp"
#include "runtime/cluster/setting_commands.hpp"
#include "runtime/cluster/variable_commands.hpp"
#include "runtime/cluster/variables/lock_commands.hpp"
#include "test/properties/writes/lock_rules.hpp"
#include "test/properties/writes/write_pairs.hpp"
#include "test/support/anybody.hpp"

namespace nomad::properties {

using cluster::EvalSeed;
using state::JobSpec;
using state::Snapshot;

namespace {

constexpr std::int64_t now = 5'000'000'000;

access::Asking somebody_asks() {
  return nomad::test::anybody();
}

/// `decide(snapshot, seed)` with the same chance each time.
template <class Decide>
WriteRequest request(std::string name, std::uint64_t chance, Decide decide) {
  return {std::move(name),
          [chance, decide](const Snapshot& state) -> Result<Object<schema::Command>> {
            Random random{chance};
            const auto decision = decide(state, EvalSeed{now, &random});
            if (!decision) return decision.error();
            return decision->command;
          }};
}

}  // namespace

WriteWorld::WriteWorld(std::uint64_t seed) : random_{seed} {
  add_places();
  add_jobs();
  add_nodes();
  add_variables();
  for (auto steps = random_.below(6); steps > 0; --steps)
    run(draw());
}

void WriteWorld::add_places() {
  if (random_.chance(0.8))
    state_.run([](auto command) { command.initNamespaceUpsert().setName("side"); });
  if (random_.chance(0.8))
    state_.run([](auto command) { command.initNodePoolUpsert().setName("gpu"); });
  if (random_.chance(0.2))
    state_.run(
        [](auto command) { command.initSchedulerConfiguration().setRejectJobRegistration(true); });
}

void WriteWorld::add_jobs() {
  for (auto version = random_.chance(0.4) ? 0 : random_.below(4); version > 0; --version)
    state_.register_job({.stable = random_.chance(0.5),
                         .groups = {{"api", static_cast<std::int64_t>(version)}, {"cache", 1}}});
  if (random_.chance(0.7)) state_.register_job({.id = "cron", .periodic = true});
  if (random_.chance(0.7))
    state_.run([](auto command) {
      auto job = command.initJobRegister().initJob();
      fill(job, JobSpec{.id = "para", .type = "batch"});
      job.initParameterizedJob().setPayload("optional");
    });
  if (random_.chance(0.5))
    state_.run([this](auto command) {
      auto tagging = command.initJobVersionTagging();
      tagging.setNamespace("default");
      tagging.setJobId("web");
      tagging.setVersion(random_.below(3));
      tagging.initTag().setName("golden");
    });
  if (random_.chance(0.3)) state_.deregister("web", random_.chance(0.3));
}

void WriteWorld::add_nodes() {
  for (const auto* id : {"n1", "n2"})
    if (random_.chance(0.8)) state_.register_node({.id = id});
  if (!state().job("default", "web")) return;
  state_.put_eval({.id = "eval", .status = schema::EvalStatus::COMPLETE});
  if (random_.chance(0.5)) state_.deploy("deployment", 2);
  if (random_.chance(0.7))
    state_.place({{.id = "alloc", .node = "n1", .deployment = "deployment"}});
  if (random_.chance(0.5)) state_.report("alloc", schema::ClientStatus::FAILED);
  state_.run([](auto command) {
    auto service = command.initServiceUpsert().initServices(1)[0];
    service.setId("service");
    service.setNamespace("default");
    service.setServiceName("web");
    service.setAllocId("alloc");
    service.setNodeId("n1");
  });
}

void WriteWorld::add_variables() {
  state_.run([](auto command) {
    auto key = command.initRootKeyUpsert().initKey();
    key.setKeyId("key");
    key.setState(schema::RootKeyState::ACTIVE);
  });
  if (random_.chance(0.5)) run(draw_of_variables());
  if (random_.chance(0.5)) run(draw_of_locks(variable_namespaces[random_.below(2)]));
}

void WriteWorld::run(const WriteRequest& request) {
  const auto command = request.decide(state());
  if (!command || !*command) return;
  state_.store.apply(++state_.index, **command);
  state_.store.publish();
}

std::string WriteWorld::some_namespace() {
  return random_.chance(0.7) ? "default" : "side";
}

std::string WriteWorld::some_job() {
  const char* names[] = {"web", "web", "web", "cron", "para"};
  return names[random_.below(5)];
}

Object<schema::Job> WriteWorld::some_specification() {
  Draft<schema::Job> job;
  const auto id = some_job();
  fill(*job, JobSpec{.id = id,
                     .ns = some_namespace(),
                     .type = random_.chance(0.7) ? "service" : "batch",
                     .pool = random_.chance(0.7) ? "default" : "gpu",
                     .periodic = random_.chance(id == "cron" ? 0.8 : 0.2),
                     .groups = {{"api", random_.below(3)}, {"cache", 1}}});
  if (random_.chance(id == "para" ? 0.8 : 0.2)) job->initParameterizedJob().setPayload("optional");
  return job.freeze();
}

WriteRequest WriteWorld::draw() {
  subject_ = random_.below(8);
  return draw_of(subject_);
}

WriteRequest WriteWorld::draw_beside() {
  return random_.chance(0.5) ? draw_of(subject_) : draw();
}

WriteRequest WriteWorld::draw_of(std::uint64_t subject) {
  switch (subject) {
    case 0:
      return draw_of_children();
    case 1:
      return draw_of_deployments();
    case 2:
      return draw_of_nodes();
    case 3:
      return draw_of_places();
    case 4:
      return draw_of_variables();
    default:
      return draw_of_jobs();
  }
}

WriteRequest WriteWorld::draw_of_jobs() {
  const auto chance = random_.next();
  const auto ns = some_namespace();
  const auto id = some_job();
  const bool flag = random_.chance(0.5);
  const auto number = random_.below(3);
  switch (random_.below(8)) {
    case 0:
      return request("deregister", chance, [=](const Snapshot& state, const EvalSeed& seed) {
        return cluster::decide_deregister(state, somebody_asks(), ns, id, flag, 0, seed);
      });
    case 1:
      return request("evaluate", chance, [=](const Snapshot& state, const EvalSeed& seed) {
        return cluster::decide_evaluate(state, somebody_asks(), "default", id, flag, seed);
      });
    case 2:
      return request("revert", chance, [=](const Snapshot& state, const EvalSeed& seed) {
        const auto prior = flag ? std::optional{number + 1} : std::nullopt;
        return cluster::decide_revert(state, somebody_asks(), "default", id, number, prior, 0,
                                      seed);
      });
    case 3:
      return request("stability", chance, [=](const Snapshot& state, const EvalSeed&) {
        return cluster::decide_stability(state, somebody_asks(), "default", id, number, flag);
      });
    case 4:
      return request("scale", chance, [=](const Snapshot& state, const EvalSeed& seed) {
        const cluster::ScaleRequest wanted{.ns = "default",
                                           .job_id = id,
                                           .group = flag ? "api" : "cache",
                                           .count = static_cast<std::int64_t>(number)};
        return cluster::decide_scale(state, somebody_asks(), wanted, 0, seed);
      });
    case 5: {
      const std::string name = random_.chance(0.5) ? "golden" : "silver";
      if (flag)
        return request("untag", chance, [=](const Snapshot& state, const EvalSeed&) {
          return cluster::decide_untag_version(state, somebody_asks(), "default", id, name);
        });
      return request("tag", chance, [=](const Snapshot& state, const EvalSeed& seed) {
        const cluster::TagRequest wanted{
            .ns = "default", .job_id = id, .name = name, .version = number};
        return cluster::decide_tag_version(state, somebody_asks(), wanted, seed);
      });
    }
    default:
      break;
  }
  cluster::RegisterRequest wanted;
  wanted.job = some_specification();
  wanted.preserve_counts = random_.chance(0.3);
  wanted.enforce_index = random_.chance(0.3);
  if (const auto stored = state().job("default", id); stored && random_.chance(0.7))
    wanted.job_modify_index = stored->getJobModifyIndex();
  return request("register", chance, [=](const Snapshot& state, const EvalSeed& seed) {
    return cluster::decide_register(state, somebody_asks(), wanted, seed);
  });
}

WriteRequest WriteWorld::draw_of_children() {
  const auto chance = random_.next();
  if (random_.chance(0.3))
    return request("periodic force", chance, [](const Snapshot& state, const EvalSeed& seed) {
      return cluster::decide_periodic_launch(state, somebody_asks(), "default", "cron", seed);
    });
  cluster::DispatchRequest wanted;
  wanted.ns = "default";
  wanted.job_id = "para";
  if (random_.chance(0.7)) wanted.idempotency_token = random_.chance(0.7) ? "once" : "on";
  return request("dispatch", chance, [=](const Snapshot& state, const EvalSeed& seed) {
    return cluster::decide_dispatch(state, somebody_asks(), wanted, seed);
  });
}

WriteRequest WriteWorld::draw_of_deployments() {
  const auto chance = random_.next();
  const bool flag = random_.chance(0.5);
  switch (random_.below(4)) {
    case 0:
      return request("fail", chance, [=](const Snapshot& state, const EvalSeed& seed) {
        return cluster::decide_fail(state, somebody_asks(), "deployment", seed);
      });
    case 1:
      return request("pause", chance, [=](const Snapshot& state, const EvalSeed& seed) {
        return cluster::decide_pause(state, somebody_asks(), "deployment", flag, seed);
      });
    case 2:
      return request("promote", chance, [=](const Snapshot& state, const EvalSeed& seed) {
        return cluster::decide_promote(state, somebody_asks(), "deployment", true, {}, seed);
      });
    default:
      return request("health", chance, [=](const Snapshot& state, const EvalSeed& seed) {
        const std::vector<std::string> ids{"alloc"};
        const std::vector<std::string> none;
        return cluster::decide_alloc_health(state, somebody_asks(), "deployment", flag ? ids : none,
                                            flag ? none : ids, seed);
      });
  }
}

WriteRequest WriteWorld::draw_of_nodes() {
  const auto chance = random_.next();
  const std::string id = random_.chance(0.7) ? "n1" : "n2";
  const bool flag = random_.chance(0.5);
  switch (random_.below(6)) {
    case 0:
      return request("drain", chance, [=](const Snapshot& state, const EvalSeed& seed) {
        cluster::DrainRequest wanted;
        if (flag) wanted.spec = cluster::DrainSpec{};
        wanted.mark_eligible = !flag;
        return cluster::decide_drain(state, somebody_asks(), id, wanted, seed);
      });
    case 1:
      return request("eligibility", chance, [=](const Snapshot& state, const EvalSeed& seed) {
        return cluster::decide_eligibility(state, somebody_asks(), id, flag, seed);
      });
    case 2:
      return request("node evaluate", chance, [=](const Snapshot& state, const EvalSeed& seed) {
        return cluster::decide_node_evaluate(state, somebody_asks(), id, seed);
      });
    case 3:
      return request("purge", chance, [=](const Snapshot& state, const EvalSeed& seed) {
        return cluster::decide_node_purge(state, somebody_asks(), id, seed);
      });
    case 4:
      return request("alloc stop", chance, [=](const Snapshot& state, const EvalSeed& seed) {
        return cluster::decide_alloc_stop(state, somebody_asks(), "alloc", flag, seed);
      });
    default:
      return request("service delete", chance, [](const Snapshot& state, const EvalSeed&) {
        return cluster::decide_service_delete(state, somebody_asks(), "default", "web", "service");
      });
  }
}

WriteRequest WriteWorld::draw_of_places() {
  const auto chance = random_.next();
  const bool flag = random_.chance(0.5);
  switch (random_.below(6)) {
    case 0:
      return request("namespace", chance, [](const Snapshot& state, const EvalSeed&) {
        Draft<schema::Namespace> wanted;
        wanted->setName("side");
        return cluster::decide_namespace(state, somebody_asks(), wanted.reader());
      });
    case 1:
    case 2:
      return request("namespace delete", chance, [](const Snapshot& state, const EvalSeed&) {
        return cluster::decide_namespace_delete(state, somebody_asks(), "side", "global");
      });
    case 3:
      return request("pool delete", chance, [](const Snapshot& state, const EvalSeed&) {
        return cluster::decide_node_pool_delete(state, somebody_asks(), "gpu", "global");
      });
    case 4:
      return request("pool", chance, [](const Snapshot& state, const EvalSeed&) {
        Draft<schema::NodePool> wanted;
        wanted->setName("gpu");
        return cluster::decide_node_pool(state, somebody_asks(), wanted.reader());
      });
    default: {
      const auto index = state().scheduler_configuration()->getModifyIndex();
      const auto check = random_.chance(0.5) ? std::optional{index} : std::nullopt;
      return request("scheduler", chance, [=](const Snapshot& state, const EvalSeed&) {
        Draft<schema::SchedulerConfiguration> wanted;
        wanted->setRejectJobRegistration(flag);
        return cluster::decide_scheduler_configuration(state, somebody_asks(), wanted.freeze(),
                                                       check);
      });
    }
  }
}

Object<schema::Variable> WriteWorld::some_variable(const std::string& ns) {
  Draft<schema::Variable> variable;
  variable->setNamespace(text(ns));
  variable->setPath(variable_path);
  variable->setKeyId("key");
  const auto data = static_cast<capnp::byte>(random_.below(3));
  variable->setData({&data, 1});
  auto lock = variable->initLock();
  lock.setId(lock_ids[random_.below(2)]);
  lock.setTtl(static_cast<std::int64_t>(random_.below(2) + 1) * 10'000'000'000);
  return variable.freeze();
}

WriteRequest WriteWorld::draw_of_variables() {
  const std::string ns = variable_namespaces[random_.chance(0.4) ? 0 : 1];
  if (random_.chance(0.4)) return draw_of_locks(ns);
  const auto chance = random_.next();
  const auto stored = state().variable(ns, variable_path);
  const auto check = random_.chance(0.4)
                         ? std::optional{stored ? stored->getModifyIndex() : std::uint64_t{0}}
                         : std::nullopt;
  if (random_.chance(0.3))
    return request("variable delete", chance, [=](const Snapshot&, const EvalSeed&) {
      return cluster::decide_delete_variable(somebody_asks(), ns, variable_path, check);
    });
  const bool relies_on_lock = random_.chance(0.3);
  const auto wanted = some_variable(ns);
  return request(relies_on_lock ? "held variable" : "variable", chance,
                 [=](const Snapshot& state, const EvalSeed&) {
                   const auto lock = relies_on_lock ? view(wanted->getLock().getId()) : "";
                   return cluster::decide_set_variable(state, somebody_asks(), "global", wanted,
                                                       check, lock);
                 });
}

WriteRequest WriteWorld::draw_of_locks(const std::string& ns) {
  const auto chance = random_.next();
  const auto wanted = some_variable(ns);
  const bool keep_data = random_.chance(0.5);
  if (random_.chance(0.6))
    return request("lock", chance, [=](const Snapshot& state, const EvalSeed&) {
      return cluster::decide_lock_variable(state, somebody_asks(), "global", wanted, keep_data);
    });
  return request("release", chance, [=](const Snapshot&, const EvalSeed&) {
    return cluster::decide_release_lock(somebody_asks(), ns, variable_path,
                                        view(wanted->getLock().getId()), now);
  });
}

}  // namespace nomad::properties
