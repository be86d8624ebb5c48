// Facts about a job, put together for a test.
#pragma once

#include <string>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "cli/why/findings.hpp"
#include "runtime/base/text.hpp"

namespace nomad::test {

/// A service "web" of one group "g" with one task "t" of raw_exec, of which nothing runs.
inline cli::why::Facts facts_of_web() {
  cli::why::Facts facts;
  facts.now = 100'000'000'000;
  facts.job = boost::json::parse(
      R"({"ID":"web","Namespace":"default","Type":"service","Status":"running","Version":3,)"
      R"("Datacenters":["dc1"],"NodePool":"default","TaskGroups":[{"Name":"g","Count":2,)"
      R"("EphemeralDisk":{"SizeMB":300},"Tasks":[{"Name":"t","Driver":"raw_exec",)"
      R"("Resources":{"CPU":100,"MemoryMB":512}}]}]})");
  facts.evaluations = facts.allocations = facts.deployments = facts.nodes = boost::json::array{};
  return facts;
}

/// A stub; `more` are further members, each with a comma before it.
inline std::string alloc_stub(const std::string& id, const std::string& more) {
  return R"({"ID":")" + id
         + R"(-2222","TaskGroup":"g","JobVersion":3,"NodeID":"bbbbbbbb-1","NodeName":"node1",)"
           R"("DesiredStatus":"run","NextAllocation":"","CreateIndex":5,"CreateTime":1)"
         + more + "}";
}

/// The same with one task "t" that has gone through `events`, a list.
inline std::string failed_stub(const std::string& id,
                               const std::string& events,
                               const std::string& more = "",
                               const std::string& state = R"("State":"dead","Failed":true)") {
  return alloc_stub(id, R"(,"ClientStatus":"failed","TaskStates":{"t":{)" + state + R"(,"Events":)"
                            + events + "}}" + more);
}

/// The findings as the page has them: what, then details and commands, indented.
inline std::string told(const std::vector<cli::why::Finding>& findings) {
  std::string text;
  for (const auto& one : findings) {
    text += std::string{"!~."}.substr(static_cast<std::size_t>(one.weight), 1) + ' ' + one.what
            + '\n';
    for (const auto& line : one.details)
      text += "  " + line + '\n';
    for (const auto& command : one.commands)
      text += "  $ " + command + '\n';
  }
  return text;
}

}  // namespace nomad::test
