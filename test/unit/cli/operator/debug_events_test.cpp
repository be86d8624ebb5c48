#include "cli/operator/debug_events.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::cli;

TEST_CASE("debug events: the topics that are asked for") {
  using Topics = std::vector<std::string>;
  CHECK(*parse_event_topics("none") == Topics{});
  CHECK(*parse_event_topics("") == Topics{});
  CHECK(*parse_event_topics("all") == Topics{"*:*"});
  CHECK(*parse_event_topics("*:web") == Topics{"*:web"});
  CHECK(*parse_event_topics("Job,Allocation:web,Node:")
        == Topics{"Job:*", "Allocation:web", "Node:*"});
}

TEST_CASE("debug events: what is no topic is told") {
  CHECK(parse_event_topics("Jobs").error().what
        == "\"Jobs\" is no topic of events; expected \"none\", \"all\", \"*\" or one of "
           "ACLAuthMethod, ACLBindingRule, ACLPolicy, ACLRole, ACLToken, Allocation, Deployment, "
           "Evaluation, Job, Node, NodePool, Service");
  CHECK(parse_event_topics("Job:a:b").error().what
        == "\"Job:a:b\" has more than a topic and what is wanted of it");
  CHECK(parse_event_topics("Job,,Node").error().what.starts_with("\"\" is no topic of events"));
}

TEST_CASE("debug events: a line for each, without what may be secret") {
  const auto lines = event_lines(
      R"({"Index":4,"Events":[{"Topic":"Job","Payload":{"Job":{"ID":"web","Version":2,)"
      R"("TaskGroups":[{"Tasks":[{"Env":{"PASSWORD":"hidden"}}]}],"Meta":{"m":"hidden"}}}},)"
      R"({"Topic":"Allocation","Payload":{"Allocation":{"ID":"a","Job":{"ID":"web",)"
      R"("TaskGroups":[],"Payload":"hidden"},"SignedIdentities":{"t":"hidden"}}}},)"
      R"({"Topic":"ACLToken","Payload":{"ACLToken":{"AccessorID":"c","SecretID":"hidden"}}},)"
      R"({"Topic":"ACLAuthMethod","Payload":{"AuthMethod":{"Config":{"OIDCClientSecret":"hidden",)"
      R"("Scopes":[{"SecretID":"hidden"}]}}}}]})");

  CHECK(lines.value()
        == R"({"Topic":"Job","Payload":{"Job":{"ID":"web","Version":2}}})"
           "\n"
           R"({"Topic":"Allocation","Payload":{"Allocation":{"ID":"a","Job":{"ID":"web"}}}})"
           "\n"
           R"({"Topic":"ACLToken","Payload":{"ACLToken":{"AccessorID":"c"}}})"
           "\n"
           R"({"Topic":"ACLAuthMethod","Payload":{"AuthMethod":{"Config":{"Scopes":[{}]}}}})"
           "\n");
}

TEST_CASE("debug events: a deployment is kept, whose groups are counts") {
  const std::string deployment
      = R"({"Topic":"Deployment","Payload":{"Deployment":{"ID":"d","Status":"running",)"
        R"("TaskGroups":{"g":{"DesiredTotal":2,"HealthyAllocs":1}}}}})";
  CHECK(event_lines(R"({"Events":[)" + deployment + "]}").value() == deployment + "\n");
}

TEST_CASE("debug events: of a job that has no groups no more is kept") {
  CHECK(event_lines(R"({"Events":[{"Topic":"Job","Payload":{"Job":{"ID":"web","TaskGroups":null,)"
                    R"("Meta":{"m":"hidden"}}}}]})")
            .value()
        == R"({"Topic":"Job","Payload":{"Job":{"ID":"web"}}})"
           "\n");
}

TEST_CASE("debug events: heartbeats are no events, and half a line is an error") {
  CHECK(event_lines("{}").value().empty());
  CHECK(event_lines("[]").value().empty());
  CHECK(event_lines(R"({"Events":null})").value().empty());
  CHECK(event_lines(R"({"Events":[{})").error().what.starts_with("byte "));
}
