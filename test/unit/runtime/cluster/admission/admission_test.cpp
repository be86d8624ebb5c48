// Policies of admission: how they are read, what they say of jobs, and whom they stop.
#include "runtime/cluster/admission/admission.hpp"

#include <fmt/format.h>

#include "admission_texts.hpp"
#include "runtime/cluster/job_commands.hpp"
#include "runtime/object/json_codec.hpp"
#include "test/unit/runtime/cluster/acl/acl_fixture.hpp"

namespace nomad::cluster {

namespace {

Object<schema::Job> job_with(std::string_view image, std::string_view more = "") {
  const auto text = fmt::format(
      R"({{"ID": "web", "Name": "web", "Namespace": "default", "Type": "service", {}
          "TaskGroups": [{{"Name": "g", "Tasks": [
            {{"Name": "t", "Driver": "docker", "Config": {{"image": "{}", "ports": ["http"]}}}},
            {{"Name": "u", "Driver": "exec"}}]}}]}})",
      more, image);
  Draft<schema::Job> draft;
  const auto read = FlatJson::read(text);
  REQUIRE(read.has_value());
  REQUIRE(from_json(read->root(), *draft).has_value());
  return draft.freeze();
}

struct Admissions : AclFixture {
  void put(std::string_view name, std::string_view level, std::string_view text) {
    Draft<schema::AdmissionPolicy> policy;
    policy->setName(std::string{name});
    policy->setScope("submit-job");
    policy->setEnforcementLevel(std::string{level});
    policy->setPolicy(std::string{text});
    const auto decision = decide_put_admission(now(), manager, policy.reader());
    REQUIRE_MESSAGE(decision.has_value(), decision.error().what);
    const auto outcome = run([&](schema::Command::Builder command) {
      command.setAdmissionPolicyUpsert(decision->command->getAdmissionPolicyUpsert());
    });
    REQUIRE_FALSE(outcome.error);
  }

  Result<std::vector<std::string>> judge(const Object<schema::Job>& job,
                                         bool overrides = false,
                                         const access::Principal& who = test::anybody_at()) {
    return judge_submission(now(), who, *job, {.overrides = overrides});
  }

  /// Whether the condition holds of a job.
  bool holds(std::string_view condition, const Object<schema::Job>& job) {
    put("p", "hard-mandatory", rule_with(condition));
    return judge(job).has_value();
  }
};

}  // namespace

TEST_CASE_FIXTURE(Admissions, "admission: conditions see the job, its namespace and its caller") {
  const auto job = job_with("web:1.2", R"("Meta": {"owner": "ann"},)");
  for (const auto* condition :
       {"job.ID == web", "job.Meta.owner == ann", "namespace.Name == default",
        "caller.type == anonymous", "caller.policies is empty", "caller.allocation is empty",
        "any job.TaskGroups as g { any g.Tasks as t { t.Config.image == `web:1.2` } }",
        "any job.TaskGroups as g { any g.Tasks as t { http in t.Config.ports } }",
        "all job.TaskGroups as g { all g.Tasks as t { t.Config.image not matches `latest` } }"})
    CHECK_MESSAGE(holds(condition, job), std::string{condition});
  for (const auto* condition :
       {"job.ID == other", "job.Meta.team == a", "caller.type == management",
        "job.TaskGroups.7.Name == g",
        "any job.TaskGroups as g { any g.Tasks as t { t.Config.image.deep == a } }"})
    CHECK_MESSAGE(!holds(condition, job), std::string{condition});
}

TEST_CASE_FIXTURE(Admissions, "admission: the caller is told by his token") {
  run([](auto command) {
    auto upsert = command.initAclTokenUpsert();
    upsert.setIsNew(true);
    auto token = upsert.initToken();
    token.setAccessorId("acc");
    token.setName("ci");
    token.setType("client");
    token.setSecretHash(data_of("hash"));
    token.setKeyId("k");
    token.initPolicies(1).set(0, "p");
    token.initRoles(1)[0].setId("r1");
  });
  const auto who = test::who_shows(
      "x", *access::Authenticator::make(
               {.lookup = {.here = [](std::string_view) -> std::optional<Result<access::Grant>> {
                  return access::Grant{.rights = access::Rights::everything(), .accessor = "acc"};
                }}}));
  for (const auto* condition :
       {"caller.accessor == acc", "caller.name == ci", "caller.type == client",
        "p in caller.policies", "q in caller.policies", "one in caller.roles"}) {
    put("p", "hard-mandatory", rule_with(condition));
    CHECK_MESSAGE(judge(job_with("a:1"), false, who).has_value(), std::string{condition});
    CHECK_MESSAGE(!judge(job_with("a:1")).has_value(), std::string{condition});
  }
}

TEST_CASE_FIXTURE(Admissions, "admission: levels warn, refuse, or let those pass who may") {
  const auto bad = job_with("web:latest");
  const auto good = job_with("web:1");

  put("p", "advisory", pinned);
  CHECK(*judge(good) == std::vector<std::string>{});
  CHECK(*judge(bad)
        == std::vector<std::string>{
            "sentinel policy \"p\" (advisory): rule \"pinned\": images must name a version"});

  put("p", "soft-mandatory", pinned);
  CHECK(judge(good)->empty());
  REQUIRE_FALSE(judge(bad).has_value());
  CHECK(judge(bad).error().code == Errc::rejected);
  CHECK(judge(bad).error().what
        == "the job is not admitted: 1 error occurred:\n\t* sentinel policy \"p\" "
           "(soft-mandatory): rule \"pinned\": images must name a version\n\n");
  CHECK(judge(bad, true)->size() == 1);

  put("p", "hard-mandatory", pinned);
  CHECK(judge(good, true)->empty());
  CHECK_FALSE(judge(bad, true).has_value());
}

TEST_CASE_FIXTURE(Admissions, "admission: who may not pass over policies is refused for trying") {
  const auto submitter = test::somebody([](access::Capability needed, const access::Target&) {
    return needed == access::Capability::submit_job;
  });
  CHECK(judge(job_with("a"), true, submitter).error() == access::permission_denied());
  CHECK(judge(job_with("a"), false, submitter).has_value());
}

TEST_CASE_FIXTURE(Admissions, "admission: what cannot be evaluated does not hold, and says so") {
  put("p", "hard-mandatory", rule_with("job.TaskGroups.7.Name == g"));
  CHECK(judge(job_with("a")).error().what.find("rule \"r\": it cannot be evaluated: ")
        != std::string::npos);

  // As a later release may store it.
  run([](auto command) {
    auto policy = command.initAdmissionPolicyUpsert();
    policy.setName("p");
    policy.setEnforcementLevel("some-new-level");
    policy.setPolicy("no rules at all");
  });
  CHECK(judge(job_with("a"), true).error().what.find("it cannot be read: ") != std::string::npos);
}

TEST_CASE_FIXTURE(Admissions, "admission: keys that nodes would replace are not judged, but told") {
  const auto with = [](std::string_view config) {
    const auto text = fmt::format(
        R"({{"ID": "web", "Namespace": "default", "TaskGroups": [{{"Name": "g", "Tasks": [
             {{"Name": "t", "Driver": "docker", "Config": {}}}]}}]}})",
        config);
    Draft<schema::Job> draft;
    REQUIRE(from_json(FlatJson::read(text)->root(), *draft).has_value());
    return draft.freeze();
  };
  const std::string ok = R"("image": "registry.corp/ok:1")";
  const std::vector<Object<schema::Job>> unclear{
      with("{" + ok + R"(, "image${NOMAD_META_e}": "evil/x:1"})"),
      with("{" + ok + R"(, "${meta.image}": "evil/x:1"})"),
      with("{" + ok + R"(, "mounts": [{"so${x}urce": "/"}]})"),
      with("{" + ok + R"(, "labels": {"a": {"b${": "c"}}})")};
  for (const auto& job : unclear)
    CHECK(judge(job).has_value());  // nobody looks
  put("p", "hard-mandatory", rule_with("job.ID == web"));
  for (const auto& job : unclear) {
    const auto judged = judge(job, true);
    REQUIRE_FALSE(judged.has_value());
    CHECK(judged.error().what.find("sentinel policy \"p\" (hard-mandatory): the config of task "
                                   "\"t\" in group \"g\" cannot be evaluated: a key has ${")
          != std::string::npos);
  }
  CHECK(judge(with("{" + ok + R"(, "args": ["${NOMAD_META_e}"]})")).has_value());
  CHECK(judge(with("null")).has_value());
  put("p", "advisory", rule_with("job.ID == web"));
  CHECK(judge(unclear.front())->size() == 1);

  // As docs/security.md has it of values.
  const std::string no_values
      = "all job.TaskGroups as g { all g.Tasks as t { `$` not in "
        "t.Config.image and t.Config.image matches `^registry\\.corp/` } }";
  CHECK(holds(no_values, with("{" + ok + "}")));
  CHECK_FALSE(holds(no_values, with(R"({"image": "registry.corp/${meta.e}:1"})")));
}

TEST_CASE_FIXTURE(Admissions, "admission: one job costs no more than its budget") {
  put("p", "hard-mandatory", rule_with("job.Meta.a not matches `(x*)*y`"));
  const auto huge = job_with(
      "a", fmt::format(R"("Meta": {{"a": "{}"}},)", std::string(std::size_t{65} << 20U, 'x')));
  CHECK(judge(huge).error().what.find("it cannot be evaluated: ") != std::string::npos);
}

TEST_CASE_FIXTURE(Admissions, "admission: each decision that lets a job in asks") {
  const auto submit = [this](const Object<schema::Job>& job) {
    RegisterRequest request;
    request.job = job;
    Random random{1};
    return decide_register(now(), test::anybody(), request, {1, &random});
  };
  const auto store = [this](const Object<schema::Job>& job) {
    run([&](schema::Command::Builder command) { command.initJobRegister().setJob(*job); });
  };
  store(job_with("web:latest"));
  store(job_with("web:1"));
  put("p", "hard-mandatory", pinned);

  CHECK_FALSE(submit(job_with("web:latest")).has_value());
  CHECK(submit(job_with("web:2")).has_value());
  Random random{1};
  const auto reverted
      = decide_revert(now(), test::anybody(), "default", "web", 0, {}, 0, {1, &random});
  REQUIRE_FALSE(reverted.has_value());
  CHECK(reverted.error().what.find("sentinel policy \"p\"") != std::string::npos);

  int asked = 0;
  const auto read = [&asked](std::string_view text) {
    ++asked;
    return AdmissionRules::read(std::string{text});
  };
  CHECK_FALSE(decide_revert(now(), test::anybody(), "default", "web", 0, {}, 0, {1, &random}, read)
                  .has_value());
  CHECK(asked == 1);

  put("p", "advisory", pinned);
  CHECK(submit(job_with("web:latest"))->warnings.size() == 1);
  CHECK(decide_revert(now(), test::anybody(), "default", "web", 0, {}, 0, {1, &random})
            ->warnings.size()
        == 1);
}

TEST_CASE_FIXTURE(Admissions, "admission: a decision is guarded by the policies that it read") {
  const auto guards = [this] {
    const auto reads = std::make_shared<state::ReadSet>();
    const auto state = now();
    REQUIRE(judge_submission(state.noting(reads), test::anybody_at(), *job_with("a:1"), {})
                .has_value());
    Draft<schema::Command> noop;
    noop->setNoop();
    const auto command = reads->guard(noop.freeze(), state.tables());
    if (!command->isGuarded()) return false;
    for (const auto read : command->getGuarded().getReads())
      if (read.getTable() == static_cast<std::uint16_t>(state::Table::admission_policies))
        return true;
    return false;
  };
  CHECK_FALSE(guards());  // servers of before would not know the table, and there are no policies
  put("p", "hard-mandatory", pinned);
  CHECK(guards());
  run([](auto command) { command.setAdmissionPolicyDelete("p"); });
  CHECK(guards());
}

TEST_CASE_FIXTURE(Admissions,
                  "admission: a policy says what it is, and there are no more than 128") {
  Draft<schema::AdmissionPolicy> policy;
  policy->setName("a b");
  policy->setDescription(std::string(257, 'x'));
  policy->setScope("submit-cluster");
  policy->setEnforcementLevel("maybe");
  const auto refused = decide_put_admission(now(), manager, policy.reader());
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().what
        == "sentinel policy invalid: 5 errors occurred:\n\t* invalid name 'a b'\n"
           "\t* description longer than 256\n"
           "\t* invalid scope 'submit-cluster': it must be submit-job\n"
           "\t* invalid enforcement level 'maybe': it must be one of advisory, soft-mandatory, "
           "hard-mandatory\n"
           "\t* failed to parse policy: the policy has no rule\n\n");
  CHECK(decide_put_admission(now(), stranger, policy.reader()).error()
        == access::permission_denied());

  // What is left out, a text that says it itself decides.
  policy->setName("images");
  policy->setDescription("");
  policy->setScope("");
  policy->setEnforcementLevel("");
  policy->setPolicy(
      text("policy \"images\" {\nenforcement = \"hard-mandatory\"\n" + pinned + "\n}"));
  const auto whole = decide_put_admission(now(), manager, policy.reader());
  REQUIRE(whole.has_value());
  CHECK(whole->command->getAdmissionPolicyUpsert().getHasHead());
  CHECK(view(whole->command->getAdmissionPolicyUpsert().getScope()) == "submit-job");
  CHECK(view(whole->command->getAdmissionPolicyUpsert().getEnforcementLevel()) == "hard-mandatory");
  policy->setName("other");
  policy->setEnforcementLevel("advisory");
  CHECK(decide_put_admission(now(), manager, policy.reader()).error().what
        == "sentinel policy invalid: 2 errors occurred:\n\t* the name is 'other', and 'images' in "
           "the text\n\t* the enforcement level is 'advisory', and 'hard-mandatory' in the text\n\n");

  for (int i = 0; i < 128; ++i)
    put(fmt::format("p{}", i), "advisory", pinned);
  put("p7", "advisory", pinned);
  policy->setName("more");
  policy->setDescription("");
  policy->setScope("submit-job");
  policy->setEnforcementLevel("advisory");
  policy->setPolicy(pinned);
  CHECK(decide_put_admission(now(), manager, policy.reader()).error().what
        == "there are 128 sentinel policies, and may be no more");
}

}  // namespace nomad::cluster
