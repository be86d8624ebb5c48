// Random commands about few objects, for store_random_test.cpp.
#pragma once

#include <capnp/dynamic.h>

#include "fixture.hpp"
#include "random_volumes.hpp"
#include "runtime/base/random.hpp"

namespace nomad::state {

/// Draws commands about few objects, so that they meet; some are impossible.
class Drawer {
public:
  Drawer(std::uint64_t seed, const StateFixture& fixture) : random_{seed}, fixture_{fixture} {}

  /// As decided on the state as it is now, or was a while ago.
  Object<schema::Command> guarded(const Object<schema::Command>& command) {
    if (random_.chance(0.5)) seen_ = fixture_.now();
    const auto reads = std::make_shared<ReadSet>();
    const auto state = seen_.noting(reads);
    state.job("default", name("job", 4));
    state.node(name("node", 4));
    if (random_.chance(0.3)) state.latest_deployment("default", name("job", 4));
    return reads->guard(command, seen_.tables());
  }

  void draw(schema::Command::Builder command) {
    switch (random_.below(24)) {
      case 0:
      case 1:
      case 2:
        return draw_job(command);
      case 3:
        return fill_evals(command.initEvalUpdate().initEvaluations(2));
      case 4:
      case 5:
        return fill_client_update(command.initAllocClientUpdate());
      case 6: {
        auto entry = command.initAllocTransition().initEntries(1)[0];
        entry.setAllocId(text(name("alloc", 40)));
        entry.getTransition().getMigrate().setValue(random_.chance(0.5));
        return;
      }
      case 7:
      case 8:
      case 9:
        return fill_plans(command.initPlanResults().initPlans(2));
      case 10:
      case 11:
      case 12:
        return draw_deployment(command);
      case 13: {
        auto body = command.initReap();
        body.initAllocationIds(2).set(0, text(name("alloc", 40)));
        body.getAllocationIds().set(1, text(name("alloc", 40)));
        body.initEvaluationIds(1).set(0, text(name("eval", 12)));
        if (random_.chance(0.3)) body.initDeploymentIds(1).set(0, text(name("deployment", 5)));
        if (random_.chance(0.1)) body.initJobs(1)[0].setNamespace("default");
        if (body.hasJobs()) body.getJobs()[0].setId(text(name("job", 4)));
        return;
      }
      case 14:
        return fill_service(command.initServiceUpsert().initServices(1)[0]);
      case 15: {
        if (random_.chance(0.5)) return fill_node_services(command.initNodeServices());
        auto body = command.initServiceDelete();
        if (random_.chance(0.2)) return body.setNodeId(text(name("node", 4)));
        auto key = body.initKeys(1)[0];
        key.setNamespace("default");
        key.setId(text(name("service", 6)));
        return;
      }
      case 16:
        return draw_of_kind(command);
      case 17:
        return draw_position(command);
      case 18:
        return draw_secret(command);
      case 19:
        return draw_cleaning(command);
      case 20:
        return draw_job_extra(command);
      case 21:
        return draw_token(command);
      case 22:
        return draw_volume(command, random_);
      default:
        return draw_node(command);
    }
  }

private:
  std::string name(std::string_view kind, std::uint64_t count) {
    return std::string{kind} + std::to_string(random_.below(count));
  }

  void draw_job(schema::Command::Builder command) {
    switch (random_.below(4)) {
      case 0: {
        auto body = command.initJobRegister();
        fill_job(body.initJob());
        body.setKeepCounts(random_.chance(0.2));
        body.setEnforceIndex(random_.chance(0.1));
        if (random_.chance(0.7)) fill_eval(body.initEvaluation());
        return;
      }
      case 1: {
        auto body = command.initJobDeregister();
        body.setNamespace("default");
        body.setJobId(text(name("job", 4)));
        body.setPurge(random_.chance(0.5));
        if (random_.chance(0.7)) fill_eval(body.initEvaluation());
        return;
      }
      case 2: {
        auto body = command.initJobVersionTagging();
        body.setNamespace("default");
        body.setJobId(text(name("job", 4)));
        body.setVersion(random_.below(8));
        if (random_.chance(0.6)) body.initTag().setName(text(name("tag", 3)));
        return;
      }
      default: {
        auto body = command.initJobStability();
        body.setNamespace("default");
        body.setJobId(text(name("job", 4)));
        body.setVersion(random_.below(8));
        body.setStable(random_.chance(0.6));
        return;
      }
    }
  }

  void draw_deployment(schema::Command::Builder command) {
    switch (random_.below(3)) {
      case 0: {
        auto body = command.initDeploymentStatusUpdate();
        fill_deployment_update(body.initUpdate());
        if (random_.chance(0.3)) fill_job(body.initJob());
        return;
      }
      case 1: {
        auto body = command.initDeploymentPromotion();
        body.setDeploymentId(text(name("deployment", 5)));
        body.setAll(true);
        fill_eval(body.initEvaluation());
        body.getEvaluation().setModifyTime(5000);
        return;
      }
      default: {
        auto body = command.initDeploymentAllocHealth();
        body.setDeploymentId(text(name("deployment", 5)));
        body.initHealthyIds(1).set(0, text(name("alloc", 40)));
        if (random_.chance(0.3)) body.initUnhealthyIds(1).set(0, text(name("alloc", 40)));
        if (random_.chance(0.3)) fill_deployment_update(body.initUpdate());
        return;
      }
    }
  }

  void draw_node(schema::Command::Builder command) {
    const auto status = static_cast<schema::NodeStatus>(random_.below(4));
    switch (random_.below(6)) {
      case 0:
        fill(command.initNodeRegister().initNode(),
             NodeSpec{name("node", 4), name("pool", 2), status});
        if (random_.chance(0.5)) {
          auto plugin = command.getNodeRegister().getNode().initCsiNodePlugins(1)[0];
          plugin.setKey(text(name("plugin", 2)));
          plugin.initValue().setHealthy(random_.chance(0.5));
        }
        return;
      case 1: {
        auto body = command.initNodeStatusUpdate();
        body.setNodeId(text(name("node", 4)));
        body.setStatus(status);
        body.initEvent().setMessage("status");
        return;
      }
      case 2: {
        auto body = command.initNodeEligibilityUpdate();
        body.setNodeId(text(name("node", 4)));
        body.setEligibility(static_cast<schema::SchedulingEligibility>(random_.below(2)));
        return;
      }
      case 3: {
        auto body = command.initNodeDrainUpdate();
        body.setNodeId(text(name("node", 4)));
        if (random_.chance(0.5)) body.initDrainStrategy().setDeadline(1);
        body.setMarkEligible(random_.chance(0.5));
        if (random_.chance(0.3)) body.initOnlyOf().setDeadline(1);
        return;
      }
      case 4: {
        auto body = command.initNodeEventsUpsert();
        body.setNodeId(text(name("node", 4)));
        body.initEvents(1)[0].setMessage("a driver is back");
        return;
      }
      default:
        return command.initNodeDeregister().initNodeIds(1).set(0, text(name("node", 4)));
    }
  }

  /// A command that a descriptor brings, filled with whatever fits its fields.
  void draw_of_kind(schema::Command::Builder command) {
    std::vector<std::uint16_t> numbers;
    each_kind([&numbers]<class Kind>() {
      if constexpr (requires { Kind::put; }) numbers.push_back(Kind::put.which);
      if constexpr (requires { Kind::remove; }) numbers.push_back(Kind::remove.which);
    });
    capnp::DynamicStruct::Builder dynamic{command};
    const auto number = numbers.at(random_.below(numbers.size()));
    KJ_IF_MAYBE (field, dynamic.getSchema().getFieldByDiscriminant(number)) {
      fill_field(dynamic, *field);
    }
  }

  void fill_field(capnp::DynamicStruct::Builder to, capnp::StructSchema::Field field) {
    static constexpr const char* names[] = {"a", "b", "c", "all", "default"};
    const auto type = field.getType();
    if (type.isText()) to.set(field, names[random_.below(std::size(names))]);
    if (type.isBool()) to.set(field, random_.chance(0.3));
    if (type.isUInt64()) to.set(field, random_.below(2));
    if (!type.isStruct()) return;
    auto inner = to.init(field).as<capnp::DynamicStruct>();
    for (const auto part : inner.getSchema().getNonUnionFields())
      fill_field(inner, part);
  }

  /// The same of those that others refer to.
  void draw_position(schema::Command::Builder command) {
    switch (random_.below(6)) {
      case 3:
        return command.initQuotaUpsert().setName(text(name("quota", 2)));
      case 4:
      case 5: {
        auto body = command.initNamespaceUpsert();
        body.setName(text(random_.chance(0.7) ? "default" : "a"));
        if (random_.chance(0.7)) body.setQuota(text(name("quota", 2)));
        return;
      }
      case 0:
        return command.initNodePoolUpsert().setName(text(name("pool", 3)));
      case 1:
        return command.setNodePoolDelete(text(name("pool", 3)));
      default:
        return command.initSchedulerConfiguration().setPauseEvalBroker(random_.chance(0.7));
    }
  }

  void draw_secret(schema::Command::Builder command) {
    using Operation = schema::VariableOperation;
    switch (random_.below(6)) {
      case 0: {
        auto body = command.initRootKeyUpsert();
        body.initKey().setKeyId(text(name("key", 3)));
        if (random_.chance(0.6)) body.getKey().setState(schema::RootKeyState::ACTIVE);
        body.setRekey(random_.chance(0.2));
        return;
      }
      case 1:
        if (random_.chance(0.3)) return command.setRootKeyForcedDelete(text(name("key", 3)));
        return command.setRootKeyDelete(text(name("key", 3)));
      case 2: {
        auto body = command.initVariableLocking();
        body.setRelease(random_.chance(0.5));
        body.setKeepData(random_.chance(0.5));
        fill_variable(body.initVariable());
        return body.getVariable().initLock().setId(text(name("lock", 2)));
      }
      default: {
        auto body = command.initVariableApply();
        body.setOperation(static_cast<Operation>(random_.below(4)));
        if (random_.chance(0.2)) body.setLockId(text(name("lock", 2)));
        return fill_variable(body.initVariable());
      }
    }
  }

  void fill_variable(schema::Variable::Builder variable) {
    variable.setNamespace(text(random_.chance(0.7) ? "default" : "a"));
    variable.setPath(text(name("path", 4)));
    variable.setKeyId(text(name("key", 3)));
    variable.initData(static_cast<unsigned>(random_.below(4)));
  }

  void fill_token(schema::AclToken::Builder token) {
    const auto secret = name("secret", 4);
    token.setAccessorId(text(name("token", 4)));
    token.setSecretHash({reinterpret_cast<const unsigned char*>(secret.data()), secret.size()});
    token.setKeyId(text(name("key", 3)));
    token.setExpirationTime(static_cast<std::int64_t>(random_.below(20)));
  }

  /// Of tokens, whose secrets others may have, or of roles, whose names others may have.
  void draw_copies(schema::SharedRows::Builder body) {
    const bool of_tokens = random_.chance(0.5);
    body.setKind(of_tokens ? "acl_tokens" : "acl_roles");
    auto rows = body.initRows(static_cast<unsigned>(random_.below(3)));
    for (unsigned i = 0; i < rows.size(); ++i) {
      Draft<schema::AclToken> token;
      fill_token(*token);
      token->setGlobal(random_.chance(0.8));
      if (random_.chance(0.7)) token->setSealed({reinterpret_cast<const unsigned char*>("s"), 1});
      Draft<schema::AclRole> role;
      role->setId(text(name("role", 4)));
      role->setName(text(name("name", 3)));
      const auto of_token = token.freeze();
      const auto of_role = role.freeze();
      const auto bytes = of_tokens ? of_token.bytes() : of_role.bytes();
      rows.set(i, {reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()});
    }
    auto removed = body.initRemoved(1);
    removed.set(0, text(name(of_tokens ? "token" : "role", 4)));
  }

  void draw_token(schema::Command::Builder command) {
    switch (random_.below(9)) {
      case 7:
      case 8:
        return draw_copies(command.initSharedRows());
      case 0:
        return fill_token(command.initAclBootstrap().initToken());
      case 5: {
        auto body = command.initAclReseal().initTokens(1)[0];
        body.setName(text(name("token", 4)));
        return body.setKeyId(text(name("key", 3)));
      }
      case 1:
        return command.setAclTokenDelete(text(name("token", 4)));
      case 2:
        return command.initAclOneTimeTokenUpsert().setAccessorId(text(name("token", 4)));
      case 3:
        return command.initAclOneTimeTokenExchange().setAccessorId(text(name("token", 4)));
      case 4: {
        auto body = command.initAclExpire();
        body.setTokensBefore(static_cast<std::int64_t>(random_.below(20)));
        body.setOneTimeTokensBefore(1);
        return body.setLimit(2);
      }
      default: {
        auto body = command.initAclTokenUpsert();
        body.setIsNew(random_.chance(0.7));
        return fill_token(body.initToken());
      }
    }
  }

  void draw_cleaning(schema::Command::Builder command) {
    switch (random_.below(4)) {
      case 0:
        return command.setNoop();
      case 1: {
        auto body = command.initSummariesReconcile();
        body.initFirst().setNamespace("default");
        body.initLast().setNamespace("default");
        body.getLast().setId("k");
        return;
      }
      case 2: {
        auto job = command.initJobsReap().initJobs(1)[0];
        job.setNamespace("default");
        job.setId(text(name("job", 4)));
        return;
      }
      default: {
        auto body = command.initEvalDelete();
        body.initEvaluationIds(2).set(0, text(name("eval", 12)));
        body.getEvaluationIds().set(1, text(name("eval", 12)));
        return;
      }
    }
  }

  /// What comes with jobs besides their registration.
  void draw_job_extra(schema::Command::Builder command) {
    switch (random_.below(3)) {
      case 0: {
        auto body = command.initJobScale();
        if (random_.chance(0.3)) fill_job(body.initRegistration().initJob());
        body.setNamespace("default");
        body.setJobId(text(name("job", 4)));
        body.setTaskGroup("api");
        body.initEvent().setMessage("more");
        return;
      }
      case 1: {
        auto body = command.initPeriodicLaunchRegister();
        fill_job(body.initChild().initJob());
        auto launch = body.initLaunch();
        launch.setNamespace("default");
        launch.setJobId(text(name("job", 4)));
        launch.setTime(static_cast<std::int64_t>(random_.below(100)));
        return;
      }
      default: {
        auto body = command.initJobSubmission();
        body.setNamespace("default");
        body.setJobId(text(name("job", 4)));
        const auto job = fixture_.now().job("default", view(body.asReader().getJobId()));
        if (job) body.setJobModifyIndex(job->getJobModifyIndex());
        body.setSource("job {}");
        return;
      }
    }
  }

  void fill_job(schema::Job::Builder job) {
    JobSpec spec{.id = name("job", 4)};
    spec.type = random_.chance(0.8) ? "service" : "system";
    if (random_.chance(0.2)) spec.parent = name("job", 4);
    spec.stable = random_.chance(0.1);
    if (random_.chance(0.3)) spec.groups.emplace_back("db", 2);
    if (random_.chance(0.05)) spec.ns = "missing";
    fill(job, spec);
    if (random_.chance(0.3)) {
      auto policy = job.getTaskGroups()[0].initScaling();
      policy.setType("horizontal");
      policy.setMax(static_cast<std::int64_t>(random_.below(3)));
    }
  }

  void fill_eval(schema::Evaluation::Builder eval) {
    fill(eval, EvalSpec{.id = name("eval", 12),
                        .job = name("job", 4),
                        .ns = "default",
                        .status = static_cast<schema::EvalStatus>(random_.below(5)),
                        .queued = {{"api", static_cast<std::int64_t>(random_.below(4))}},
                        .failed_groups = random_.chance(0.3)});
  }

  void fill_evals(capnp::List<schema::Evaluation>::Builder evals) {
    for (auto eval : evals)
      fill_eval(eval);
  }

  void fill_client_update(schema::AllocClientUpdate::Builder body) {
    for (auto alloc : body.initAllocations(2)) {
      alloc.setId(text(name("alloc", 40)));
      alloc.setClientStatus(static_cast<schema::ClientStatus>(random_.below(6)));
      if (random_.chance(0.3))
        alloc.initDeploymentStatus().getHealthy().setValue(random_.chance(0.7));
    }
    if (random_.chance(0.3)) fill_evals(body.initEvaluations(1));
  }

  void fill_deployment_update(schema::DeploymentUpdate::Builder update) {
    update.setDeploymentId(text(name("deployment", 5)));
    update.setStatus(static_cast<schema::DeploymentState>(random_.below(9)));
  }

  void fill_plans(capnp::List<schema::PlanResult>::Builder plans) {
    for (auto plan : plans) {
      const std::string eval = name("eval", 12);
      plan.setEvalId(text(eval));
      plan.setModifyTime(100);
      for (auto alloc : plan.initPlaced(static_cast<unsigned>(random_.below(5)))) {
        AllocSpec spec{.id = name("alloc", 40), .job = name("job", 4)};
        spec.node = name("node", 4);
        spec.eval = eval;
        spec.cpu = static_cast<std::int64_t>(random_.below(3)) * 100;
        if (random_.chance(0.5)) spec.deployment = name("deployment", 5);
        if (random_.chance(0.3)) spec.previous = name("alloc", 40);
        spec.canary = random_.chance(0.2);
        for (auto ports = random_.below(3); ports > 0; --ports)
          spec.ports.push_back(static_cast<std::uint16_t>(20000 + random_.below(4)));
        spec.metric = static_cast<std::uint32_t>(random_.below(3));
        fixture_.fill(alloc, spec);
        if (random_.chance(0.2)) alloc.setJobVersion(random_.below(6));
      }
      plan.initMetrics(2)[1].setNodesFiltered(3);
      if (random_.chance(0.4)) plan.initStopped(1)[0].setId(text(name("alloc", 40)));
      if (random_.chance(0.2)) plan.initPreempted(1)[0].setId(text(name("alloc", 40)));
      if (plan.hasStopped() && random_.chance(0.5))
        plan.getStopped()[0].setClientStatus(schema::ClientStatus::LOST);
      if (random_.chance(0.3)) fill_deployment_update(plan.initDeploymentUpdates(1)[0]);
      if (random_.chance(0.3)) {
        auto deployment = plan.initDeployment();
        deployment.setId(text(name("deployment", 5)));
        deployment.setNamespace("default");
        deployment.setJobId(text(name("job", 4)));
        deployment.setJobVersion(random_.below(4));
        deployment.setStatus(schema::DeploymentState::RUNNING);
        auto group = deployment.initTaskGroups(1)[0];
        group.setKey("api");
        group.initValue().setDesiredCanaries(static_cast<std::int64_t>(random_.below(2)));
        group.getValue().setProgressDeadline(50);
      }
    }
  }

  void fill_service(schema::ServiceRegistration::Builder service) {
    service.setId(text(name("service", 6)));
    service.setNamespace("default");
    service.setServiceName(text(name("name", 2)));
    service.setNodeId(text(name("node", 4)));
    service.setAllocId(text(name("alloc", 4)));
    service.setPort(static_cast<std::int64_t>(random_.below(2)));
  }

  void fill_node_services(schema::NodeServices::Builder body) {
    auto gone = body.initGone(1)[0];
    gone.setNamespace("default");
    gone.setAllocId(text(name("alloc", 4)));
    if (random_.chance(0.7)) gone.initIds(1).set(0, text(name("service", 6)));
    auto registered = body.initRegistered(2);
    fill_service(registered[0]);
    fill_service(registered[1]);
  }

  Random random_;
  const StateFixture& fixture_;
  Snapshot seen_;  ///< An earlier state.
};

}  // namespace nomad::state
