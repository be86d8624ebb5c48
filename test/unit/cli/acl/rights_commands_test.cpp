// acl whoami and acl explain: what is asked and shown; and what a refusal says.
#include "cli/api.hpp"
#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

const std::string explained_no
    = R"({"Allowed":false,"Reason":"the rule for namespace \"prod\" does not give submit-job",)"
      R"("Rules":[{"Policy":"reader","Rule":"namespace \"prod\" { policy = \"read\" }","Line":3,)"
      R"("Note":"","Roles":[]}],"Close":[{"Policy":"writer","Line":1,"Note":"is less close",)"
      R"("Rule":"namespace \"*\" { policy = \"write\" }","Roles":["dev","ops"]}]})";

}  // namespace

TEST_CASE("acl whoami: shows who it is, and nothing that there is not") {
  test::FakeAgent agent;
  agent.answer(
      "GET /v1/acl/whoami",
      R"({"Type":"client","AccessorID":"acc","Name":"ci","Global":false,"ExpirationTime":null,)"
      R"("Policies":[{"ModifyIndex":7,"Name":"deploy","Role":"dev"}],)"
      R"("Roles":[{"ID":"id","Name":"dev"}],"NodeID":"","Server":false,"Workload":null,)"
      R"("Limits":null,"Remote":"127.0.0.1:4"})");
  CHECK(agent.run(run_acl_whoami, {}) == 0);
  CHECK(agent.out
        == "Type        = client\nAccessor ID = acc\nName        = ci\nGlobal      = false\n"
           "Expiry Time = <none>\nRemote      = 127.0.0.1:4\n\n"
           "Policies\nName    Role\ndeploy  dev\n\nRoles\nID  Name\nid  dev\n");
  CHECK(agent.run(run_acl_whoami, {"-t", "{{.Type}}"}) == 0);
  CHECK(agent.out == "client\n");

  agent.answer("GET /v1/acl/whoami",
               R"({"Type":"workload","AccessorID":"","Workload":{"Namespace":"prod","JobID":"web",)"
               R"("AllocID":"al","Task":"t"},"Limits":["read-job"],"Remote":""})");
  CHECK(agent.run(run_acl_whoami, {}) == 0);
  CHECK(agent.out
        == "Type = workload\n\nWorkload\nNamespace = prod\nJob ID    = web\nAlloc ID  = al\n"
           "Task      = t\n\nLimits\nKept to\nread-job\n");
}

TEST_CASE("acl explain: asks for what was named, and says which rules decided") {
  test::FakeAgent agent;
  agent.answer("GET /v1/acl/explain", explained_no);
  CHECK(agent.run(run_acl_explain, {"-namespace", "prod", "submit-job"}) == 2);
  CHECK(agent.asked.at(0) == "GET /v1/acl/explain?namespace=prod&capability=submit-job");
  CHECK(agent.out
        == "Capability = submit-job\nAllowed    = false\n"
           "Reason     = the rule for namespace \"prod\" does not give submit-job\n\n"
           "Decided by\nPolicy  Roles   Line  Rule                                  Note\n"
           "reader  <none>  3     namespace \"prod\" { policy = \"read\" }  <none>\n\n"
           "Came close\nPolicy  Roles    Line  Rule                                Note\n"
           "writer  dev,ops  1     namespace \"*\" { policy = \"write\" }  is less close\n");
  CHECK(agent.run(run_acl_explain, {"-json", "submit-job"}) == 2);
  CHECK(agent.run(run_acl_explain, {"-json", "submit-job", "-namespace", "prod"}) == 2);
  CHECK(agent.asked.at(0) == "GET /v1/acl/explain?namespace=prod&capability=submit-job");
  CHECK(agent.run(run_acl_explain, {"submit-job", "read-job"}) == 1);

  agent.answer("GET /v1/acl/explain",
               R"({"Allowed":true,"Reason":"a management token may do everything"})");
  CHECK(agent.run(run_acl_explain, {"-path", "a/b", "-node-pool", "gpu", "-plugin", "p",
                                    "-host-volume", "v", "variables-read"})
        == 0);
  CHECK(agent.asked.at(0)
        == "GET /v1/acl/explain?capability=variables-read&path=a%2Fb&node_pool=gpu&host_volume=v&plugin=p");
  CHECK(agent.out
        == "Capability = variables-read\nAllowed    = true\n"
           "Reason     = a management token may do everything\n");
}

TEST_CASE("acl explain: flags may follow the capability") {
  // What fails would be said where the output is captured, so nothing is checked there.
  const auto code_of = [](const std::vector<std::string>& arguments) {
    const test::Capture printed;
    return run_acl_explain(arguments).value();
  };
  CHECK(code_of({"submit-job", "-namespace", "prod", "-help"}) == 0);
  CHECK(code_of({"submit-job", "-no-such"}) == 1);
  CHECK(code_of({"submit-job", "read-job"}) == 1);
  CHECK(code_of({"-", "-", "-"}) == 1);
}

TEST_CASE("acl explain: a question that is none is an error, and no answer") {
  test::FakeAgent agent;
  agent.answer("GET /v1/acl/explain",
               "unknown capability \"sumbit-job\"; did you mean \"submit-job\"?", 400);
  CHECK(agent.run(run_acl_explain, {"sumbit-job"}) == 1);
  CHECK(agent.err
        == "Error explaining: Unexpected response code: 400 (unknown capability \"sumbit-job\"; did you "
           "mean \"submit-job\"?)");
}

TEST_CASE("fail: a missing right says what to do, in a line of its own") {
  const auto said = [](const Error& error) {
    const test::Capture printed;
    return std::to_string(fail(error)) + ' ' + printed.err();
  };
  const auto denied = refusal({403, {}, "Permission denied"}).within("Error listing ACL tokens");
  CHECK(said(denied)
        == "1 Error listing ACL tokens: Unexpected response code: 403 (Permission denied)\n"
           "Set NOMAD_TOKEN or -token to a token that may do this; `nomadctl acl explain -help` "
           "tells how to find the right that is missing.\n");
  CHECK(said(refusal({404, {}, "job not found"}))
        == "1 Unexpected response code: 404 (job not found)\n");
}
